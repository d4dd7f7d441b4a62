/**
 * Judges the diagnostics of a node, and finds failures that are not resolved yet. Most failures count only if they are
 * recent, and some failures count only if they are repeated.
 */

import type { DiagnosticState } from '../node-client.ts';
import { activeDelegatesOf } from '../constants-answer.ts';
import { finding, type Finding } from './catalogue.ts';
import type { NodeAnswers } from './node-answers.ts';

/**
 * Length of the period that most checks examine, in milliseconds. Older diagnostics do not count. Some faults need
 * `TIMES_MIN` diagnostics in this period, because a single diagnostic of such a fault can be chance.
 */
const RECENT_MS = 15 * 60_000;
const TIMES_MIN = 3;
/**
 * Minimum length, in rounds, of the period in which the doctor counts missed slots. A delegate has only one slot in a
 * round, so a node with few delegates has too few slots in a short period.
 */
const RECENT_ROUNDS = 3;
const TIMES_MIN_PER_DELEGATE = 2;
/**
 * Codes of diagnostics about two kinds of slots: slots that passed while the node was busy or asleep, and slots that
 * the clock skipped when it was set forward. The doctor does not count these slots as missed, because the doctor
 * reports the causes as other faults (`MACHINE_TOO_SLOW`, `CLOCK_SET`).
 */
const UNSEEN: ReadonlySet<string> = new Set(['FORGING_SLOT_SLEPT', 'FORGING_SLOT_SKIPPED']);
/**
 * Codes of diagnostics about a delegate for which this node does not sign yet, because it is possible that another node
 * signs for the delegate.
 */
export const ELSEWHERE = new Set(['FORGING_ELSEWHERE', 'FORGING_MOVED']);
/** Codes of the sync diagnostics that report the progress of a download, not a failure. */
const SYNC_PROGRESSES: ReadonlySet<string> = new Set(['SYNC_STARTED', 'SYNC_ENDED', 'SYNC_PROGRESS']);
/**
 * Codes of write failures. A diagnostic about a write failure contains one of these codes, either as its own code or in
 * the field `cause`.
 */
const WRITE_FAILURES: ReadonlySet<unknown> = new Set(['STORE_WRITE_FAILED', 'JOURNAL_WRITE_FAILED']);
const TAKEN_OVER: ReadonlySet<unknown> = new Set(['STORE_TAKEN_OVER', 'JOURNAL_TAKEN_OVER']);
const STORE_RECOVERED = 'STORE_RECOVERED';
const DOUBLE_FORGING = 'BLOCK_DOUBLE_FORGING';
/**
 * If a receiver of notifications has failed for this number of milliseconds, the doctor reports a fault. A restart of a
 * receiver takes less time.
 */
const UNDELIVERED_MS_MIN = 60_000;

export function judgeDiagnostics(seen: NodeAnswers): readonly Finding[] {
  const { samples, diagnostics } = seen;
  const nowMs = samples.at(-1)?.currentTime ?? 0;
  const recent = diagnostics.filter(({ time }) => nowMs - Date.parse(time) < RECENT_MS);
  const of = (wanted: (diagnostic: DiagnosticState) => boolean): readonly DiagnosticState[] => recent.filter(wanted);
  const own = ownSlots(seen);
  const ownRecent = diagnostics.filter(({ time }) => nowMs - Date.parse(time) < own.recentMs);
  const findings: Finding[] = [];
  const addFinding = (code: Finding['code'], found: readonly DiagnosticState[], timesMin: number): void => {
    const [latest] = found;
    if (latest !== undefined && found.length >= timesMin)
      findings.push(finding(code, evidenceOf(latest, found.length)));
  };
  addFinding('FOLDER_TAKEN_OVER', of(isTakenOver), 1);
  const again = recent.find(({ code }) => code === STORE_RECOVERED);
  addFinding(
    'WRITES_FAIL',
    of((diagnostic) => isWriteFailure(diagnostic) && !isBeforeRecovery(diagnostic, again, seen.blockTimeS)),
    1,
  );
  addFinding('CLOCK_BEHIND_TIP', unresolved(diagnostics, 'CLOCK_BEHIND_TIP', 'CLOCK_REACHED_TIP'), 1);
  addFinding(
    'CLOCK_SET',
    of(({ code }) => code === 'CLOCK_SET'),
    1,
  );
  addFinding(
    'MACHINE_TOO_SLOW',
    ownRecent.filter(({ code }) => code === 'FORGING_SLOT_SLEPT'),
    own.timesMin,
  );
  const enabled = new Set(seen.forging.filter(({ forging }) => forging).map(({ publicKey }) => publicKey));
  addFinding(
    'DELEGATE_SIGNS_TWICE',
    of(({ code, fields }) => code === DOUBLE_FORGING && enabled.has(String(fields['delegate']))),
    1,
  );
  addFinding('SLOTS_MISSED', ownRecent.filter(isMissedSlot), own.timesMin);
  const downloaded = recent.find(isDownloaded)?.number ?? 0;
  addFinding(
    'SYNC_FAILS',
    of(isFailedDownload).filter(({ number }) => number > downloaded),
    TIMES_MIN,
  );
  const height = samples.at(-1)?.height ?? 0;
  const refused = of((diagnostic) => isRefusedBlock(diagnostic) && isInTheWay(diagnostic, { height, downloaded }));
  // The node marks a refusal with `isByClock` if one possible reason is that the clock of this machine is behind.
  const byClock = refused.filter(({ fields }) => fields['isByClock'] === true);
  addFinding('BLOCKS_OF_FUTURE', byClock, TIMES_MIN);
  addFinding(
    'BLOCKS_REFUSED',
    refused.filter((diagnostic) => !byClock.includes(diagnostic)),
    TIMES_MIN,
  );
  return findings;
}

/**
 * Returns the diagnostics that report the start of a condition, newest first. Returns only the diagnostics that are
 * newer than the latest report of the end of this condition. `begun` and `ended` are the codes of these reports.
 * `RECENT_MS` does not limit the age of the diagnostics: a condition can last for days, and it is possible that a node
 * reports the condition only once.
 */
function unresolved(diagnostics: readonly DiagnosticState[], begun: string, ended: string): readonly DiagnosticState[] {
  const end = diagnostics.find(({ code }) => code === ended)?.number ?? 0;
  return diagnostics.filter(({ code, number }) => code === begun && number > end);
}

/**
 * Returns a finding for each receiver of notifications to which all deliveries have failed for at least
 * `UNDELIVERED_MS_MIN`.
 */
export function judgeAlerts({ samples, diagnostics }: NodeAnswers): readonly Finding[] {
  const nowMs = samples.at(-1)?.currentTime ?? 0;
  const channels = new Set(
    diagnostics.filter(({ module }) => module === 'notify').map(({ fields }) => fields['channel']),
  );
  return [...channels].flatMap((channel) => {
    const ofChannel = diagnostics.filter(({ module, fields }) => module === 'notify' && fields['channel'] === channel);
    const [latest] = unresolved(ofChannel, 'NOTIFY_FAILED', 'NOTIFY_RECOVERED');
    if (latest === undefined) return [];
    const { waiting, reason, failingSince = latest.time, lastDelivered = 'none since the start' } = latest.fields;
    if (nowMs - Date.parse(String(failingSince)) < UNDELIVERED_MS_MIN) return [];
    const counted = `${String(waiting)} events waited at ${latest.time} (the node reports the number at most once an hour)`;
    const failing = `deliveries fail since ${String(failingSince)} (${String(reason)})`;
    const evidence = `${String(channel)}: ${counted}; ${failing}, last delivered: ${String(lastDelivered)}`;
    return [finding('ALERTS_UNDELIVERED', evidence)];
  });
}

/**
 * True when a diagnostic shows that a download brought blocks. If such a diagnostic exists, earlier failures of
 * downloads did no harm.
 */
function isDownloaded({ module, code, fields }: DiagnosticState): boolean {
  return module === 'sync' && code === 'SYNC_ENDED' && Number(fields['blocks']) > 0;
}

function isFailedDownload(diagnostic: DiagnosticState): boolean {
  const { module, code } = diagnostic;
  const isFailure = code === 'REQUEST_FAILED' || (code.startsWith('SYNC_') && !SYNC_PROGRESSES.has(code));
  return module === 'sync' && isFailure && !isUnwritten(diagnostic);
}

/** True for a diagnostic of a refused block. `BLOCK_DOUBLE_FORGING` is a report about a delegate, not a refusal. */
function isRefusedBlock({ module, code }: DiagnosticState): boolean {
  return (module === 'chain' || module === 'sync') && code.startsWith('BLOCK_') && code !== DOUBLE_FORGING;
}

/**
 * True when a refused block can prevent the node from applying further blocks. A block that the node refused during a
 * download does no harm if a later download added blocks to the chain. `downloaded` is the `number` of the latest
 * diagnostic of such a download; 0 if there is none. A refusal outside a download does no harm if the block is not
 * higher than the tip: the node does not need this block, and any peer can invent such a block.
 */
function isInTheWay(
  { module, number, fields }: DiagnosticState,
  { height, downloaded }: { readonly height: number; readonly downloaded: number },
): boolean {
  if (module === 'sync') return number > downloaded;
  return fields['height'] === undefined || Number(fields['height']) > height;
}

/**
 * Returns the length of the period in which the doctor counts the node's slots without a block (`recentMs`), and the
 * minimum number of such slots for a fault (`timesMin`). The length is `RECENT_MS`, or `RECENT_ROUNDS` rounds if these
 * rounds take longer. A node that forges for only one delegate has few slots, so `timesMin` is smaller for such a node.
 */
function ownSlots({ forging, active, blockTimeS, constants }: NodeAnswers) {
  const delegates = forging.filter((each) => each.forging && active.has(each.publicKey)).length;
  return {
    recentMs: Math.max(RECENT_MS, RECENT_ROUNDS * activeDelegatesOf(constants) * blockTimeS * 1000),
    timesMin: delegates === 0 ? TIMES_MIN : Math.min(TIMES_MIN, TIMES_MIN_PER_DELEGATE * delegates),
  };
}

function isMissedSlot(diagnostic: DiagnosticState): boolean {
  const { module, code, fields } = diagnostic;
  const isOwn = module === 'forge' && 'slot' in fields;
  return isOwn && !UNSEEN.has(code) && !ELSEWHERE.has(code) && !isUnwritten(diagnostic);
}

function isUnwritten(diagnostic: DiagnosticState): boolean {
  return isWriteFailure(diagnostic) || isTakenOver(diagnostic);
}

function isTakenOver({ code, fields }: DiagnosticState): boolean {
  return TAKEN_OVER.has(code) || TAKEN_OVER.has(fields['cause']);
}

function isWriteFailure({ code, fields }: DiagnosticState): boolean {
  return WRITE_FAILURES.has(code) || WRITE_FAILURES.has(fields['cause']);
}

/**
 * True when writes have succeeded since the write failure that the diagnostic reports. A node logs `FORGING_PAUSED`
 * only at the end of the delegate's slot, so a failure before the recovery can be logged up to one slot after the
 * recovery.
 *
 * @param again latest diagnostic that reports successful writes; undefined if there is none
 */
function isBeforeRecovery(
  { number, code, time }: DiagnosticState,
  again: DiagnosticState | undefined,
  blockTimeS: number,
): boolean {
  if (again === undefined) return false;
  const isLatePause = code === 'FORGING_PAUSED' && Date.parse(time) - Date.parse(again.time) <= blockTimeS * 1000;
  return number < again.number || isLatePause;
}

function evidenceOf({ time, code, message, fields }: DiagnosticState, times: number): string {
  const reason = fields['reason'] === undefined ? '' : ` (${String(fields['reason'])})`;
  const often = times > 1 ? `${times} times of late, last ` : '';
  return `${often}${time.slice(11, 19)} UTC ${code}: ${message}${reason}`;
}

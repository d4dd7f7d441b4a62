/** Checks the answers of a running node over HTTP. */

import { setTimeout as sleep } from 'node:timers/promises';
import { ProtocolError } from '../../primitives/errors.ts';
import { nodeAsker } from '../ask-node.ts';
import type { DiagnosticState, NodeState, PeerVerdictState } from '../node-client.ts';
import { finding, type FaultCode, type Finding } from './catalogue.ts';
import { activeDelegatesOf, type RoundConstants } from '../round-length.ts';
import { earlierHeight, standstillS, type BlockState, type RecentBlocks } from './standstill.ts';

export interface NodeRequest {
  readonly url: string;
  /** Pause, in milliseconds, between two reads of values that may be wrong only for a moment. */
  readonly lookAgainMs?: number;
}

export interface NodeReport {
  readonly isAnswering: boolean;
  /** Nethash of the node's network, if the node reported it. */
  readonly nethash?: string;
  readonly findings: readonly Finding[];
}

interface Constants extends RoundConstants {
  readonly nethash: string;
  readonly protocolVersion: string;
}

interface Look extends NodeState {
  readonly secondsSinceEpoch: number;
  /** Unix time in milliseconds. */
  readonly currentTime: number;
}

interface Seen {
  readonly constants: Constants;
  /**
   * Several answers, oldest first. A value that may be wrong for a moment is a fault only when it is wrong in all
   * answers.
   */
  readonly looks: readonly Look[];
  readonly blocks: RecentBlocks;
  readonly peers: readonly PeerVerdictState[];
  readonly diagnostics: readonly DiagnosticState[];
  readonly forging: readonly {
    readonly publicKey: string;
    readonly forging: boolean;
    readonly waiting?: { readonly code: string; readonly reason: string };
  }[];
  readonly active: ReadonlySet<string>;
  readonly blockTimeS: number;
}

const LOOKS = 3;
/**
 * Maximum number of reads of the status. The status is read again while it shows a value that may be wrong for a
 * moment, for example because peers have not announced a new block yet.
 */
const LOOKS_MAX = 9;
const LOOK_AGAIN_MS = 700;
const LAG_BLOCKS_MAX = 2;
/**
 * Number of rounds without finality above which finality lags. If all delegates forge, a block is final within two
 * further rounds. With few delegates, rounds are short, so `UNFINAL_BLOCKS_MIN` applies as well.
 */
const UNFINAL_ROUNDS_MAX = 4;
const UNFINAL_BLOCKS_MIN = 20;
const CONSENSUS_MIN = 51;
/**
 * Period for events. Only events within this period count. A fault needs several events, because a single event may be
 * chance.
 */
const RECENT_MS = 15 * 60_000;
const TIMES_MIN = 3;
/**
 * Minimum of the period for missed slots, in rounds. A delegate has only one slot in a round, so a node with few
 * delegates needs several rounds.
 */
const RECENT_ROUNDS = 3;
const TIMES_MIN_PER_DELEGATE = 2;
const CLOSE_OTHER_NETWORK = 4104;
/**
 * Codes of slots that passed without a check of the clock. The doctor does not count these slots as missed slots. It
 * reports the cause of such slots as a separate fault.
 */
const UNSEEN: ReadonlySet<string> = new Set(['FORGING_SLOT_SLEPT', 'FORGING_SLOT_SKIPPED']);
const ELSEWHERE = new Set(['FORGING_ELSEWHERE', 'FORGING_MOVED']);
/** Codes of a download that makes progress. */
const SYNC_PROGRESSES: ReadonlySet<string> = new Set(['SYNC_STARTED', 'SYNC_ENDED', 'SYNC_PROGRESS']);
/** Codes of write failures, in diagnostics or as their causes. */
const WRITE_FAILURES: ReadonlySet<unknown> = new Set(['STORE_WRITE_FAILED', 'JOURNAL_WRITE_FAILED']);
const LOST_CLAIMS: ReadonlySet<unknown> = new Set(['STORE_TAKEN_OVER', 'JOURNAL_TAKEN_OVER']);
const WRITES_AGAIN = 'STORE_WRITES_AGAIN';
/**
 * Time in milliseconds for which deliveries must fail before the doctor reports a fault. A receiver that restarts is
 * unreachable for a shorter time.
 */
const UNDELIVERED_MS_MIN = 60_000;
/** Faults that follow when a node cannot store blocks. */
const UNWRITTEN: readonly FaultCode[] = ['NODE_LAGS', 'CONSENSUS_LOW', 'NETWORK_STANDS_STILL', 'FINALITY_LAGS'];
/**
 * For each fault, its consequences. If the doctor reports a fault, it does not report the consequences, because they
 * would distract from the cause.
 */
const CONSEQUENCES: Partial<Record<FaultCode, readonly FaultCode[]>> = {
  // A node whose clock is slow refuses new blocks as future blocks.
  CLOCK_OFF: ['NODE_LAGS', 'CONSENSUS_LOW', 'BLOCKS_REFUSED', 'SYNC_FAILS', 'NETWORK_STANDS_STILL'],
  CLOCK_BEHIND_TIP: ['CLOCK_SET', 'NODE_LAGS', 'CONSENSUS_LOW', 'BLOCKS_REFUSED', 'SYNC_FAILS', 'NETWORK_STANDS_STILL'],
  FOLDER_TAKEN_OVER: UNWRITTEN,
  WRITES_FAIL: UNWRITTEN,
  BLOCKS_REFUSED: ['CONSENSUS_LOW', 'SYNC_FAILS'],
  NODE_LAGS: ['CONSENSUS_LOW'],
  // While the node was suspended, its peers stopped waiting for its answers.
  MACHINE_TOO_SLOW: ['NODE_LAGS', 'CONSENSUS_LOW', 'SYNC_FAILS'],
  PEERS_OF_OTHER_NETWORK: ['NO_PEERS', 'NETWORK_STANDS_STILL'],
  NO_PEERS: ['NETWORK_STANDS_STILL'],
};

export async function checkNode(request: NodeRequest): Promise<NodeReport> {
  let seen: Seen;
  try {
    seen = await look(request);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    if (error.code === 'NODE_UNREACHABLE') return { isAnswering: false, findings: [] };
    return { isAnswering: true, findings: [finding(faultOfAnswer(error), error.message)] };
  }
  const findings = [judgeChain, judgePeers, judgeDiagnostics, judgeForging, judgeAlerts, judgeReaders].flatMap(
    (judge) => judge(seen),
  );
  return { isAnswering: true, nethash: seen.constants.nethash, findings: withoutConsequences(findings) };
}

/** The fault that an unexpected answer shows. */
function faultOfAnswer({ code, data }: ProtocolError): FaultCode {
  if (code === 'NODE_ANSWER_MALFORMED') return 'NODE_ANSWERS_ODDLY';
  // The processes that answer HTTP live, and the process with the chain does not answer them.
  return data['reason'] === 'NODE_SILENT' ? 'NODE_SILENT' : 'NODE_REFUSES';
}

function withoutConsequences(findings: readonly Finding[]): readonly Finding[] {
  const explained = new Set(findings.flatMap(({ code }) => CONSEQUENCES[code] ?? []));
  return findings.filter(({ code }) => !explained.has(code));
}

async function look({ url, lookAgainMs = LOOK_AGAIN_MS }: NodeRequest): Promise<Seen> {
  const { ask } = nodeAsker(url, { isOwnKind: true });
  const [constants, first, peers, forging, forgers, blocks] = await Promise.all([
    ask<Constants>('node/constants'),
    ask<Look>('node/status'),
    ask<PeerVerdictState[]>('node/peers?limit=100'),
    ask<Seen['forging']>('node/status/forging'),
    ask<{ publicKey: string; nextSlot: number }[]>('delegates/forgers?limit=101'),
    ask<BlockState[]>('blocks?limit=1'),
  ]);
  const looks: Look[] = [first];
  while (looks.length < LOOKS || (looks.length < LOOKS_MAX && looks.every(isOddForNow))) {
    await sleep(lookAgainMs);
    looks.push(await ask<Look>('node/status'));
  }
  // The diagnostics are read last, so that they also cover the time of the other reads.
  const diagnostics = await ask<DiagnosticState[]>('node/diagnostics?limit=500');
  const nextSlot = forgers[0]?.nextSlot ?? 0;
  const [tip] = blocks;
  const [earlier] = tip === undefined ? [] : await ask<BlockState[]>(`blocks?height=${earlierHeight(tip.height)}`);
  return {
    constants,
    looks,
    blocks: { tip, earlier },
    peers,
    diagnostics,
    forging,
    active: new Set(forgers.map(({ publicKey }) => publicKey)),
    // Slots count from the epoch, so the length of a slot follows from the number of a slot.
    blockTimeS: nextSlot > 0 ? Math.max(1, Math.round(first.secondsSinceEpoch / nextSlot)) : 10,
  };
}

/** True when an answer shows a value that is a fault only if it lasts. */
function isOddForNow({ height, networkHeight, consensus, syncing, isAlone }: Look): boolean {
  if (syncing || isAlone === true) return false;
  return consensus < CONSENSUS_MIN || networkHeight - height > LAG_BLOCKS_MAX;
}

function judgeChain({ constants, looks, blocks, blockTimeS, forging }: Seen): readonly Finding[] {
  const findings: Finding[] = [];
  const state = looks.at(-1);
  if (state === undefined) return findings;
  const { height, networkHeight, chainMaxHeightFinalized: finalized, clockOffsetMs } = state;
  if (clockOffsetMs !== undefined) {
    const direction = clockOffsetMs > 0 ? 'ahead of' : 'behind';
    findings.push(finding('CLOCK_OFF', `peers are ${Math.abs(clockOffsetMs) / 1000} s ${direction} this node`));
  }
  const { clocksDiffer } = state;
  if (clocksDiffer !== undefined) {
    const { peer, offsetMs } = clocksDiffer;
    const direction = offsetMs > 0 ? 'ahead of' : 'behind';
    findings.push(finding('CLOCKS_DIFFER', `${peer} is ${Math.abs(offsetMs) / 1000} s ${direction} this node`));
  }
  const isBehind = looks.every((each) => each.networkHeight - each.height > LAG_BLOCKS_MAX);
  if (isBehind && looks.every(({ syncing }) => !syncing))
    findings.push(finding('NODE_LAGS', `height ${height}, most peers have ${networkHeight}`));
  // A node without peers that does not forge only serves its existing chain.
  const isArchive = state.isAlone === true && !forging.some((delegate) => delegate.forging);
  const ageS = standstillS(blocks, state, blockTimeS);
  if (ageS !== undefined && !isBehind && !isArchive)
    findings.push(finding('NETWORK_STANDS_STILL', `the last block, at height ${height}, is ${ageS} s old`));
  // Generation 2 has no finality, so this check is left out.
  const unfinalMax = Math.max(UNFINAL_BLOCKS_MIN, UNFINAL_ROUNDS_MAX * activeDelegatesOf(constants));
  if (constants.protocolVersion.startsWith('2') && height - finalized > unfinalMax)
    findings.push(finding('FINALITY_LAGS', `height ${height}, final up to ${finalized}`));
  return findings;
}

function judgePeers({ looks, peers }: Seen): readonly Finding[] {
  // A lone node needs no peers: the operator wants none, or the node is the whole network.
  if (looks[0]?.isAlone === true) return [];
  const others = peers.filter(({ code, reason }) => code === CLOSE_OTHER_NETWORK && /did not match/.test(reason ?? ''));
  const [other] = others;
  const findings: Finding[] = [];
  if (other !== undefined) {
    const evidence = `${other.ip}:${other.wsPort ?? '?'} said: ${other.reason}`;
    findings.push(finding('PEERS_OF_OTHER_NETWORK', evidence));
  }
  const connected = peers.filter(({ verdict }) => verdict === 'connected').length;
  if (connected === 0) findings.push(finding('NO_PEERS', evidenceOfNone(peers)));
  else if (looks.every(({ consensus, syncing }) => consensus < CONSENSUS_MIN && !syncing)) {
    const best = Math.max(...looks.map(({ consensus }) => consensus));
    findings.push(finding('CONSENSUS_LOW', `at most ${best} % of ${connected} peers have the tip`));
  }
  return findings;
}

function evidenceOfNone(peers: readonly PeerVerdictState[]): string {
  const none = `${peers.length} addresses are known, none is connected`;
  const failed = peers.find(({ reason }) => reason !== undefined && reason !== '');
  return failed === undefined ? none : `${none}; ${failed.ip}:${failed.wsPort ?? '?'}: ${failed.reason}`;
}

function judgeDiagnostics(seen: Seen): readonly Finding[] {
  const { looks, diagnostics } = seen;
  const nowMs = looks.at(-1)?.currentTime ?? 0;
  const recent = diagnostics.filter(({ time }) => nowMs - Date.parse(time) < RECENT_MS);
  const of = (wanted: (diagnostic: DiagnosticState) => boolean): readonly DiagnosticState[] => recent.filter(wanted);
  const own = ownSlots(seen);
  const ownRecent = diagnostics.filter(({ time }) => nowMs - Date.parse(time) < own.recentMs);
  const findings: Finding[] = [];
  const tell = (code: Finding['code'], found: readonly DiagnosticState[], timesMin: number): void => {
    const [latest] = found;
    if (latest !== undefined && found.length >= timesMin)
      findings.push(finding(code, evidenceOf(latest, found.length)));
  };
  tell('FOLDER_TAKEN_OVER', of(isTakenOver), 1);
  const again = recent.find(({ code }) => code === WRITES_AGAIN);
  tell(
    'WRITES_FAIL',
    of((diagnostic) => isWriteFailure(diagnostic) && !isBeforeRecovery(diagnostic, again, seen.blockTimeS)),
    1,
  );
  tell('CLOCK_BEHIND_TIP', standing(diagnostics, 'CLOCK_BEHIND_TIP', 'CLOCK_REACHED_TIP'), 1);
  tell(
    'CLOCK_SET',
    of(({ code }) => code === 'CLOCK_SET'),
    1,
  );
  tell(
    'MACHINE_TOO_SLOW',
    ownRecent.filter(({ code }) => code === 'FORGING_SLOT_SLEPT'),
    own.timesMin,
  );
  tell('SLOTS_MISSED', ownRecent.filter(isMissedSlot), own.timesMin);
  const downloaded = recent.find(isDownloaded)?.number ?? 0;
  tell(
    'SYNC_FAILS',
    of(isFailedDownload).filter(({ number }) => number > downloaded),
    TIMES_MIN,
  );
  const height = looks.at(-1)?.height ?? 0;
  tell(
    'BLOCKS_REFUSED',
    of((diagnostic) => isRefusedBlock(diagnostic) && isInTheWay(diagnostic, { height, downloaded })),
    TIMES_MIN,
  );
  return findings;
}

/**
 * The diagnostics of conditions that have begun and not ended, newest first. A node reports the beginning and the end
 * of a condition only once each, possibly long ago.
 */
function standing(diagnostics: readonly DiagnosticState[], begun: string, ended: string): readonly DiagnosticState[] {
  const end = diagnostics.find(({ code }) => code === ended)?.number ?? 0;
  return diagnostics.filter(({ code, number }) => code === begun && number > end);
}

/** Findings about receivers that have accepted no notification for some time. */
function judgeAlerts({ looks, diagnostics }: Seen): readonly Finding[] {
  const nowMs = looks.at(-1)?.currentTime ?? 0;
  const channels = new Set(
    diagnostics.filter(({ module }) => module === 'notify').map(({ fields }) => fields['channel']),
  );
  return [...channels].flatMap((channel) => {
    const ofChannel = diagnostics.filter(({ module, fields }) => module === 'notify' && fields['channel'] === channel);
    const [latest] = standing(ofChannel, 'NOTIFY_FAILED', 'NOTIFY_RECOVERED');
    if (latest === undefined) return [];
    const { waiting, reason, failingSince, lastDelivered = 'none since the start' } = latest.fields;
    if (nowMs - Date.parse(String(failingSince ?? latest.time)) < UNDELIVERED_MS_MIN) return [];
    const evidence = `${String(channel)}: ${String(waiting)} events wait since ${String(failingSince ?? latest.time)}, last delivered`;
    return [finding('ALERTS_UNDELIVERED', `${evidence}: ${String(lastDelivered)} (${String(reason)})`)];
  });
}

/** A reader that was replaced is missing at the first read, and up at the second. */
function judgeReaders({ looks }: Seen): readonly Finding[] {
  const missing = looks.map(({ readers }) => {
    const up = readers?.each.filter(({ state }) => state === 'up').length ?? 0;
    return (readers?.wanted ?? 0) - up;
  });
  if (missing.some((count) => count <= 0)) return [];
  const { wanted = 0, restarts = 0 } = looks.at(-1)?.readers ?? {};
  const evidence = `${wanted - (missing.at(-1) ?? 0)} of ${wanted} are up, ${restarts} were started in place of others`;
  return [finding('READERS_FAIL', evidence)];
}

/** True when a diagnostic shows that a download brought blocks. Failures before a successful download did no harm. */
function isDownloaded({ module, code, fields }: DiagnosticState): boolean {
  return module === 'sync' && code === 'SYNC_ENDED' && Number(fields['blocks']) > 0;
}

function isFailedDownload(diagnostic: DiagnosticState): boolean {
  const { module, code } = diagnostic;
  const isFailure = code === 'REQUEST_FAILED' || (code.startsWith('SYNC_') && !SYNC_PROGRESSES.has(code));
  return module === 'sync' && isFailure && !isUnwritten(diagnostic);
}

/** Codes of refused blocks. A node that is behind gets refused blocks when it downloads. */
function isRefusedBlock({ module, code }: DiagnosticState): boolean {
  return (module === 'chain' || module === 'sync') && code.startsWith('BLOCK_') && code !== 'BLOCK_DOUBLE_FORGING';
}

/**
 * True when a refused block may keep the node from continuing. Refused blocks below the tip do no harm, because any
 * peer can make up blocks.
 */
function isInTheWay(
  { module, number, fields }: DiagnosticState,
  { height, downloaded }: { readonly height: number; readonly downloaded: number },
): boolean {
  if (module === 'sync') return number > downloaded;
  return fields['height'] === undefined || Number(fields['height']) > height;
}

/**
 * The period in which missed slots count, and the number of missed slots that is a fault. The period has at least
 * `RECENT_ROUNDS` rounds. For a node with few delegates, fewer missed slots are a fault.
 */
function ownSlots({ forging, active, blockTimeS, constants }: Seen) {
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
  return LOST_CLAIMS.has(code) || LOST_CLAIMS.has(fields['cause']);
}

function isWriteFailure({ code, fields }: DiagnosticState): boolean {
  return WRITE_FAILURES.has(code) || WRITE_FAILURES.has(fields['cause']);
}

/**
 * True when writes have succeeded since a write failure. A node logs a pause of forging at the end of the slot, so a
 * pause may be logged up to one slot after the recovery.
 *
 * @param again last diagnostic that reports successful writes
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

function judgeForging(seen: Seen): readonly Finding[] {
  return [...judgeElsewhere(seen), ...judgeActive(seen)];
}

/**
 * Findings while a delegate waits because another node may sign for it. The delegate starts to sign by itself after one
 * of its slots has stayed empty.
 */
function judgeElsewhere({ forging }: Seen): readonly Finding[] {
  const held = forging.filter(({ waiting }) => waiting !== undefined && ELSEWHERE.has(waiting.code));
  const [first] = held;
  if (first?.waiting === undefined) return [];
  const { code, reason } = first.waiting;
  return [
    finding(
      'DELEGATE_ELSEWHERE',
      `${held.length} of ${forging.length}, among them ${first.publicKey}: ${reason} (${code})`,
    ),
  ];
}

function judgeActive({ forging, active, constants }: Seen): readonly Finding[] {
  if (forging.length === 0) return [];
  const on = forging.filter((delegate) => delegate.forging);
  // On a network with published passphrases, each node has all delegates in its configuration, and forges for none by
  // default.
  if (on.length === 0 && forging.length >= activeDelegatesOf(constants)) return [];
  if (on.length === 0) return [finding('FORGING_OFF', `${forging.length} configured, 0 on`)];
  const idle = on.filter(({ publicKey }) => !active.has(publicKey));
  const [first] = idle;
  return first === undefined
    ? []
    : [finding('DELEGATE_NOT_ACTIVE', `${idle.length} of ${on.length} that are on, among them ${first.publicKey}`)];
}

/** `bloomery forging enable`, `disable`, `status` and `schedule`: commands for the delegates of a running node. */

import { isCanonicalHex } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { ACTIVE_DELEGATES } from '../../protocol/params.ts';
import { slotConstants } from '../answer-shapes.ts';
import { nodeAsker, type NodeAsker } from '../ask-node.ts';
import type { ForgingStatusFlags, ForgingSwitchFlags } from '../flags.ts';
import { usageError } from '../error-lines.ts';
import { activeDelegatesOf, type SlotConstants } from '../constants-answer.ts';
import { durationText } from '../../primitives/duration.ts';
import { readSecret } from '../wallet/secrets.ts';
import { printJson, printLine, report } from '../output.ts';

interface ForgingState {
  readonly publicKey: string;
  readonly forging: boolean;
  readonly waiting?: { readonly code: string; readonly reason: string; readonly until?: string };
  readonly paused?: { readonly reason: string; readonly since: string };
}

interface ForgerState {
  readonly username: string;
  readonly publicKey: string;
  readonly nextSlot: number;
}

/**
 * Enables or disables forging for a delegate.
 *
 * @param publicKey key of the delegate; default: the only configured delegate
 * @param forging true to enable forging
 * @throws ProtocolError `USAGE` for an invalid key, or if `publicKey` is undefined and the node does not have exactly
 *   one configured delegate; errors of `readSecret`, `nodeAsker`, `NodeAsker.ask` and `NodeAsker.send`
 */
export async function forgingSwitch(
  publicKey: string | undefined,
  forging: boolean,
  flags: ForgingSwitchFlags,
): Promise<void> {
  const node = nodeAsker(flags.node, { isOwnKind: true });
  const chosen = await chosenKey(publicKey, node);
  const password = await readSecret({
    name: 'password',
    file: flags.passwordFile,
    flag: '--password-file',
    variable: 'BLOOMERY_PASSWORD',
  });
  await node.send('PUT', 'node/status/forging', { publicKey: chosen, password, forging });
  const [state] = await node.ask<ForgingState[]>(`node/status/forging?publicKey=${chosen}`);
  const shown = state ?? { publicKey: chosen, forging };
  report(`the delegate was switched ${forging ? 'on' : 'off'}`, () => {
    if (flags.json === true) printJson(shown);
    else printLine(lineOf(shown));
  });
}

export async function forgingStatus({ node, json }: ForgingStatusFlags): Promise<void> {
  const delegates = await configured(nodeAsker(node, { isOwnKind: true }));
  if (json === true) {
    printJson({ delegates });
    return;
  }
  if (delegates.length === 0) printLine('no delegate is configured on this node (forging.delegates)');
  for (const delegate of delegates) printLine(lineOf(delegate));
}

/**
 * Shows the next slots of the node's delegates, soonest first.
 *
 * @throws ProtocolError `FORGERS_UNKNOWN` when the node lists no forgers yet; errors of `nodeAsker` and `NodeAsker.ask`
 */
export async function forgingSchedule({ node: url, json }: ForgingStatusFlags): Promise<void> {
  const node = nodeAsker(url, { isOwnKind: true });
  const own = new Map((await configured(node)).map((delegate) => [delegate.publicKey, delegate]));
  const [forgers, { epoch, blockTime: blockTimeS, ...round }, status] = await Promise.all([
    node.ask<ForgerState[]>(`delegates/forgers?limit=${ACTIVE_DELEGATES}`),
    node.ask<SlotConstants>('node/constants', slotConstants),
    node.ask<{ height: number; currentTime: number }>('node/status'),
  ]);
  if (forgers.length === 0) throw new ProtocolError('FORGERS_UNKNOWN', {}, `${node.base} knows no forging order yet`);
  const activeDelegates = activeDelegatesOf(round);
  const blocksLeft = activeDelegates - (status.height % activeDelegates);
  const slots = forgers
    .map((forger, index) => ({ ...forger, isThisRound: index < blocksLeft }))
    .filter(({ publicKey }) => own.has(publicKey))
    .map(({ publicKey, username, nextSlot, isThisRound }) => {
      const startMs = Date.parse(epoch) + nextSlot * blockTimeS * 1000;
      const inS = Math.max(0, Math.round((startMs - status.currentTime) / 1000));
      const { forging = false, waiting, paused } = own.get(publicKey) ?? {};
      return {
        ...{ publicKey, username, slot: nextSlot, time: new Date(startMs).toISOString(), inS, isThisRound, forging },
        ...(waiting === undefined ? {} : { waiting }),
        ...(paused === undefined ? {} : { paused }),
      };
    });
  if (json === true) {
    printJson({ slots });
    return;
  }
  if (slots.length === 0) printLine('no delegate of this node is among those that forge in this round');
  for (const { time, inS, username, slot, isThisRound, forging, waiting, paused } of slots) {
    const notes = [
      ...(forging ? [] : ['forging is switched off']),
      ...(paused === undefined ? [] : [`paused: ${paused.reason}`]),
      ...(waiting === undefined ? [] : [`does not sign yet${untilText(waiting)}: ${waiting.code}`]),
      ...(isThisRound ? [] : ['the next round may order it otherwise']),
    ];
    const note = notes.length === 0 ? '' : `  (${notes.join('; ')})`;
    printLine(`${momentText(time)}  in ${durationText(inS)}  ${username}  slot ${slot}${note}`);
  }
}

function configured(node: NodeAsker): Promise<readonly ForgingState[]> {
  return node.ask<ForgingState[]>('node/status/forging');
}

async function chosenKey(publicKey: string | undefined, node: NodeAsker): Promise<string> {
  if (publicKey !== undefined) {
    if (isCanonicalHex(publicKey, 32)) return publicKey;
    throw usageError(`\`${publicKey}\` is not a public key: give 64 lower-case hexadecimal digits`);
  }
  const delegates = await configured(node);
  const [only, ...others] = delegates;
  if (only !== undefined && others.length === 0) return only.publicKey;
  throw usageError(`the node has ${delegates.length} configured delegates: name one by its public key`);
}

function lineOf({ publicKey, forging, waiting, paused }: ForgingState): string {
  if (!forging) return `${publicKey}  off`;
  const why: string[] = [];
  if (paused !== undefined) why.push(`paused: ${paused.reason}, since ${momentText(paused.since)}`);
  if (waiting !== undefined) why.push(`does not sign yet${untilText(waiting)}: ${waiting.reason} (${waiting.code})`);
  return [`${publicKey}  on`, ...why].join(', ');
}

function untilText({ until }: NonNullable<ForgingState['waiting']>): string {
  return until === undefined ? '' : `, until about ${momentText(until)}`;
}

/** @param moment a time in the format of ISO 8601 */
function momentText(moment: string): string {
  return `${moment.slice(0, 19).replace('T', ' ')} UTC`;
}

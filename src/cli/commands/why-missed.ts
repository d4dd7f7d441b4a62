/** `bloomery why missed`: shows the reason why a slot has no block. */

import { slotConstants } from '../answer-shapes.ts';
import { nodeAsker, type NodeAsker } from '../ask-node.ts';
import type { WhyMissedFlags } from '../flags.ts';
import { usageError } from '../error-lines.ts';
import { activeDelegatesOf, type SlotConstants } from '../constants-answer.ts';
import { printJson, printLine } from '../output.ts';

export interface MissedSlot {
  readonly slot: number;
  /** Start time of the slot, ISO 8601. */
  readonly time: string;
  /**
   * Name of the slot's forger, or the public key of a forger without a name. Undefined if the node does not know the
   * forger, for example for some slots of old rounds.
   */
  readonly delegate: string | undefined;
  /**
   * Present only if two conditions hold: the node's chain ends before the slot, and it is possible that a new round
   * began between the tip and the slot. In this case, `delegate` can be wrong, because `delegate` comes from the
   * forging order for the next block after the tip. The height of this block is `orderOfHeight`.
   */
  readonly orderOfHeight?: number;
  /** True when the delegate is configured on the queried node. */
  readonly isOwn: boolean;
  readonly reason: string;
}

interface Fact {
  /** Time at which the node recorded the event, ISO 8601. */
  readonly time: string;
  readonly module: string;
  readonly code: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

/** The answer of `node/slots`: what the node recorded about slots and about its own forging. */
interface Report {
  /** The records are complete from this time on; ISO 8601. */
  readonly since: string;
  readonly slots: readonly { readonly slot: number; readonly facts: readonly Fact[]; readonly forger?: SlotForger }[];
  readonly switches: readonly { readonly time: string; readonly delegate: string; readonly on: boolean }[];
  /**
   * Branches that the node left for a better branch. In the slots from `fromSlot` to `toSlot`, the node was still on
   * such a branch, and used the forging order of this branch. The answers of nodes of earlier versions lack `branches`,
   * `looks` and `oldOrders`.
   */
  readonly branches?: readonly {
    readonly time: string;
    readonly fromSlot: number;
    readonly toSlot: number;
    readonly forHeight?: number;
    readonly forBlockId?: string;
  }[];
  /** Ranges of slots in which the forging scheduler of the node ran. */
  readonly looks?: readonly { readonly fromSlot: number; readonly toSlot: number }[];
  /**
   * Ranges of slots during which the tip of the queried node stayed at the height `height - 1`. In these slots, the
   * node used the forging order of the round of `height`. It is possible that other nodes began a later round, which
   * has another forging order, in the last slot of such a range or earlier.
   */
  readonly oldOrders?: readonly { readonly fromSlot: number; readonly toSlot: number; readonly height: number }[];
}

/** Forger of a slot. Nodes of earlier versions do not report the forger. */
interface SlotForger {
  readonly publicKey: string;
  readonly username: string;
  readonly height: number;
  readonly isCertain: boolean;
}

interface Header {
  readonly height: number;
  readonly timestamp: number;
}

/**
 * @throws ProtocolError `USAGE` in four cases: the height is below 2, no slot was missed directly before the block at
 *   the height, the slot has a block, or the slot is not over; errors of `nodeAsker` and `NodeAsker.ask`
 */
export async function whyMissed(place: number, flags: WhyMissedFlags): Promise<void> {
  const slots = await missedSlots(place, nodeAsker(flags.node, { isOwnKind: true }));
  if (flags.json === true) {
    printJson({ slots });
    return;
  }
  for (const missed of slots) {
    const { slot, time, reason } = missed;
    printLine(`slot ${slot}, ${time.slice(0, 19).replace('T', ' ')} UTC, ${whoseText(missed)}: ${reason}`);
  }
}

function whoseText({ delegate, isOwn, orderOfHeight }: MissedSlot): string {
  if (delegate === undefined) return 'forger unknown';
  const name = `${delegate}${isOwn ? ' (forges on this node)' : ''}`;
  return orderOfHeight === undefined ? name : `perhaps ${name} by the order of height ${orderOfHeight}`;
}

/**
 * Returns missed slots with their reasons. If `place` is at most the height of the tip, the result contains the missed
 * slots directly before the block at the height `place`. The result contains at most as many slots as a round has. If
 * more slots were missed directly before this block, the result contains only the newest of these slots. If `place` is
 * above the height of the tip, the result contains only the slot with the number `place`.
 *
 * @throws ProtocolError in the same cases as `whyMissed`
 */
export async function missedSlots(place: number, { ask }: NodeAsker): Promise<readonly MissedSlot[]> {
  const [status, constants, configured] = await Promise.all([
    ask<{ height: number; secondsSinceEpoch: number }>('node/status'),
    ask<SlotConstants>('node/constants', slotConstants),
    ask<{ publicKey: string }[]>('node/status/forging'),
  ]);
  const epochMs = Date.parse(constants.epoch);
  const activeDelegates = activeDelegatesOf(constants);
  const { blockTime: blockTimeS } = constants;
  const isHeight = place <= status.height;
  const slots = isHeight
    ? await slotsBefore(place, blockTimeS, activeDelegates, ask)
    : [await slotAlone(place, blockTimeS, status, ask)];
  const [from = 0] = slots;
  const report = await ask<Report>(`node/slots?from=${from}&limit=${slots.length}`);
  const own = new Set(configured.map(({ publicKey }) => publicKey));
  return slots.map((slot) => {
    const forger = report.slots.find((each) => each.slot === slot)?.forger;
    const isOwn = forger !== undefined && own.has(forger.publicKey);
    const startMs = epochMs + slot * blockTimeS * 1000;
    const reason = reasonOf({ slot, startMs, forger, isOwn, tipHeight: status.height, report });
    const order = forger?.isCertain === false ? { orderOfHeight: forger.height } : {};
    return { slot, time: new Date(startMs).toISOString(), delegate: nameOf(forger), ...order, isOwn, reason };
  });
}

function nameOf(forger: SlotForger | undefined): string | undefined {
  return forger === undefined || forger.username !== '' ? forger?.username : forger.publicKey;
}

async function slotsBefore(
  height: number,
  blockTimeS: number,
  slotsMax: number,
  ask: NodeAsker['ask'],
): Promise<readonly number[]> {
  if (height < 2) throw usageError('the genesis block has no forger: give a height above 1');
  const [own, before] = await Promise.all([headerAt(height, ask), headerAt(height - 1, ask)]);
  const slotOf = ({ timestamp }: Header): number => Math.floor(timestamp / blockTimeS);
  // The slots between the genesis block and the first forged block are not missed slots, because a network can start
  // long after the time of its genesis block.
  const first = height === 2 ? slotOf(own) : slotOf(before) + 1;
  const slots = Array.from({ length: Math.min(slotOf(own) - first, slotsMax) }, (_, index) => slotOf(own) - 1 - index);
  if (slots.length === 0) throw usageError(`no slot was missed before the block at height ${height}`);
  return slots.reverse();
}

async function slotAlone(
  slot: number,
  blockTimeS: number,
  { secondsSinceEpoch }: { readonly secondsSinceEpoch: number },
  ask: NodeAsker['ask'],
): Promise<number> {
  if (slot >= Math.floor(secondsSinceEpoch / blockTimeS)) throw usageError(`slot ${slot} is not over yet`);
  const fromS = slot * blockTimeS;
  const inSlot = `blocks?fromTimestamp=${fromS}&toTimestamp=${fromS + blockTimeS - 1}&limit=1`;
  const [block] = await ask<Header[]>(inSlot);
  if (block !== undefined && block.height > 1)
    throw usageError(`slot ${slot} was not missed: it has block ${block.height}`);
  return slot;
}

async function headerAt(height: number, ask: NodeAsker['ask']): Promise<Header> {
  const [header] = await ask<Header[]>(`blocks?height=${height}`);
  if (header === undefined) throw usageError(`the node has no block at height ${height}`);
  return header;
}

interface Gap {
  readonly slot: number;
  readonly startMs: number;
  readonly forger: SlotForger | undefined;
  readonly isOwn: boolean;
  readonly tipHeight: number;
  readonly report: Report;
}

/**
 * Returns the reason why the slot has no block. If the node has recorded facts about the slot itself, the reason
 * consists of these facts. If there are no such facts, the function derives the reason from the forger of the slot,
 * from the state of the node in the slot, and from the chain of the node. The function ignores all other events near
 * the time of the slot, because these events are perhaps unrelated to the slot.
 */
function reasonOf(gap: Gap): string {
  const { slot, startMs, forger, isOwn, tipHeight, report } = gap;
  const facts = report.slots.find((each) => each.slot === slot)?.facts ?? [];
  if (facts.length > 0) return facts.map(textOf).join('; then ');
  const absence = absenceOf(gap);
  const isOthers = forger !== undefined && !isOwn && forger.height <= tipHeight;
  if (absence !== undefined)
    return isOthers ? `${absence}; the chain has no block of the slot: ask the delegate` : absence;
  if (Date.parse(report.since) > startMs)
    return `nothing is recorded: the records of the node begin at ${momentText(report.since)}`;
  if (forger === undefined) return 'no block arrived here, and the owner of the slot is no longer known';
  const end = `the chain of this node ends at height ${tipHeight}`;
  if (!forger.isCertain)
    return `no block arrived here, and ${end}: another round may have begun since, see other nodes`;
  if (!isOwn && forger.height > tipHeight)
    return `no block has arrived here, and ${end}: ask the delegate, see other nodes`;
  return isOwn ? ownReasonOf(forger, gap) : 'no block arrived here: ask the delegate';
}

/**
 * If the forging scheduler of the node did not run in the slot, returns the reason why the slot has no block. Returns
 * undefined if the scheduler ran in the slot. Also returns undefined if the node has an earlier version, which does not
 * report `looks`.
 */
function absenceOf({ slot, report: { looks } }: Gap): string | undefined {
  if (looks === undefined || looks.some(({ fromSlot, toSlot }) => fromSlot <= slot && slot <= toSlot)) return undefined;
  if (looks.length === 0) return 'nothing is recorded: the node has checked the clock in no slot yet';
  const first = Math.min(...looks.map(({ fromSlot }) => fromSlot));
  if (slot < first)
    return `nothing is recorded: the node was started later, in slot ${first}, and keeps no records of earlier runs`;
  return 'this node did nothing in the slot: the process or the machine was suspended, or the clock was set past the slot';
}

function ownReasonOf({ publicKey }: SlotForger, { slot, startMs, report }: Gap): string {
  const before = report.switches.filter(({ delegate, time }) => delegate === publicKey && Date.parse(time) <= startMs);
  if (before.at(-1)?.on !== true) return 'the delegate was switched off on this node';
  const isWithin = (range: { readonly fromSlot: number; readonly toSlot: number }): boolean =>
    range.fromSlot <= slot && slot <= range.toSlot;
  const left = report.branches?.find(isWithin);
  if (left !== undefined) {
    const { time, forHeight, forBlockId } = left;
    const forBlock = forHeight === undefined ? '' : ` for the branch of block ${forHeight} (${String(forBlockId)})`;
    const order = 'on that branch the slot belonged to another delegate';
    return printable(`the node was on a branch that it left at ${time.slice(11, 19)} UTC${forBlock}: ${order}`);
  }
  const old = report.oldOrders?.find(isWithin);
  if (old !== undefined) {
    const { height } = old;
    return `the node was behind, at height ${height - 1}: by the order of height ${height} the slot belonged to another delegate`;
  }
  return 'the delegate was switched on and nothing was recorded of the slot';
}

function textOf({ time, code, message, fields }: Fact): string {
  const { reason, until, writesFailSince } = fields;
  const parts = [
    writesFailSince === undefined ? '' : `, writes have failed since ${momentText(writesFailSince)}`,
    reason === undefined ? '' : `: ${String(reason)}`,
    until === undefined ? '' : `, until about ${momentText(until)}`,
  ];
  const height = fields['height'] === undefined ? '' : ` ${String(fields['height'])}`;
  const at = `${time.slice(11, 19)} UTC`;
  if (code === 'BLOCK_FORGED') return printable(`this node forged block${height} (${String(fields['blockId'])})`);
  if (code === 'BLOCK_REVERTED') {
    const forBlock =
      fields['forBlockId'] === undefined
        ? ''
        : ` for the branch of block ${String(fields['forHeight'])} (${String(fields['forBlockId'])})`;
    return printable(`block${height} (${String(fields['blockId'])}) was reverted at ${at}${forBlock}`);
  }
  if (code.startsWith('BLOCK_')) return printable(`a block arrived and was refused${parts.join('')} (${code})`);
  return printable(`${message}${parts.join('')} (${code})`);
}

function momentText(moment: string | number | boolean): string {
  return `${String(moment).slice(0, 19).replace('T', ' ')} UTC`;
}

function printable(text: string): string {
  return text.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?');
}

/** `bloomery why missed`: why no block came in a slot. */

import { nodeAsker, type NodeAsker } from '../ask-node.ts';
import type { WhyMissedFlags } from '../flags.ts';
import type { DecisionState } from '../node-client.ts';
import { usageError } from '../problems.ts';
import { activeDelegatesOf, type RoundConstants } from '../round-length.ts';
import { printJson, printLine } from '../output.ts';

interface MissedSlot {
  readonly slot: number;
  /** ISO 8601. */
  readonly time: string;
  /** Name of the forger; undefined for slots of rounds that are over. */
  readonly delegate: string | undefined;
  /** Whether it is configured on the node that was asked. */
  readonly isOwn: boolean;
  readonly reason: string;
}

interface Header {
  readonly height: number;
  readonly timestamp: number;
}

interface Forger {
  readonly username: string;
  readonly publicKey: string;
  readonly nextSlot: number;
}

/** @throws ProtocolError `USAGE` for a place that no gap is at, `NODE_UNREACHABLE` or `NODE_ANSWER_UNEXPECTED` */
export async function whyMissed(place: number, flags: WhyMissedFlags): Promise<void> {
  const slots = await missedSlots(place, nodeAsker(flags.node));
  if (flags.json === true) {
    printJson({ slots });
    return;
  }
  for (const { slot, time, delegate, isOwn, reason } of slots) {
    const whose = delegate === undefined ? 'forger unknown' : `${delegate}${isOwn ? ' (forges on this node)' : ''}`;
    printLine(`slot ${slot}, ${time.slice(0, 19).replace('T', ' ')} UTC, ${whose}: ${reason}`);
  }
}

async function missedSlots(place: number, { ask }: NodeAsker): Promise<readonly MissedSlot[]> {
  const [status, constants, forgers, configured, decisions] = await Promise.all([
    ask<{ height: number; secondsSinceEpoch: number }>('node/status'),
    ask<{ epoch: string } & RoundConstants>('node/constants'),
    ask<Forger[]>('delegates/forgers?limit=101'),
    ask<{ publicKey: string }[]>('node/status/forging'),
    ask<DecisionState[]>('node/decisions?limit=500'),
  ]);
  const epochMs = Date.parse(constants.epoch);
  const activeDelegates = activeDelegatesOf(constants);
  // Slots count from the epoch, so the length of one follows from their number.
  const blockTimeS = Math.max(1, Math.round(status.secondsSinceEpoch / (forgers[0]?.nextSlot ?? 1)));
  const isHeight = place <= status.height;
  const slots = isHeight
    ? await slotsBefore(place, blockTimeS, activeDelegates, ask)
    : [await slotAlone(place, blockTimeS, status, ask)];
  const firstOfRound = await firstSlotOfRound(status.height, blockTimeS, activeDelegates, ask);
  const own = new Set(configured.map(({ publicKey }) => publicKey));
  return slots.map((slot) => {
    const forger =
      slot < firstOfRound
        ? undefined
        : forgers.find(({ nextSlot }) => nextSlot % activeDelegates === slot % activeDelegates);
    const isOwn = forger !== undefined && own.has(forger.publicKey);
    const startMs = epochMs + slot * blockTimeS * 1000;
    const reason = reasonOf({ slot, startMs, endMs: startMs + blockTimeS * 1000, forger, isOwn, decisions });
    return { slot, time: new Date(startMs).toISOString(), delegate: forger?.username, isOwn, reason };
  });
}

async function slotsBefore(
  height: number,
  blockTimeS: number,
  slotsMax: number,
  ask: NodeAsker['ask'],
): Promise<readonly number[]> {
  if (height < 2) throw usageError('nobody forges the genesis block: give a height above 1');
  const [own, before] = await Promise.all([headerAt(height, ask), headerAt(height - 1, ask)]);
  const slotOf = ({ timestamp }: Header): number => Math.floor(timestamp / blockTimeS);
  // After genesis a network begins at any time.
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

async function firstSlotOfRound(
  height: number,
  blockTimeS: number,
  activeDelegates: number,
  ask: NodeAsker['ask'],
): Promise<number> {
  const before = Math.floor(height / activeDelegates) * activeDelegates;
  // The genesis block has no slot of its own.
  if (before <= 1) return 0;
  return Math.floor((await headerAt(before, ask)).timestamp / blockTimeS) + 1;
}

async function headerAt(height: number, ask: NodeAsker['ask']): Promise<Header> {
  const [header] = await ask<Header[]>(`blocks?height=${height}`);
  if (header === undefined) throw usageError(`the node has no block at height ${height}`);
  return header;
}

interface Gap {
  readonly slot: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly forger: Forger | undefined;
  readonly isOwn: boolean;
  readonly decisions: readonly DecisionState[];
}

function reasonOf({ slot, startMs, endMs, forger, isOwn, decisions }: Gap): string {
  const ofSlot = decisions.find(({ room, fields }) => room === 'forge' && fields['slot'] === slot);
  if (ofSlot !== undefined) return textOf(ofSlot);
  const refused = decisions.find(
    ({ room, time, fields }) =>
      room === 'chain' &&
      Date.parse(time) >= startMs &&
      Date.parse(time) < endMs + (endMs - startMs) &&
      (forger === undefined || fields['delegate'] === forger.publicKey),
  );
  if (refused !== undefined) return `a block came and was refused: ${textOf(refused)}`;
  const oldest = decisions.at(-1);
  if (oldest === undefined || Date.parse(oldest.time) > startMs)
    return isOwn
      ? 'the node keeps no record of that time: it was not running, or has decided too much since'
      : 'no block came here, and the node keeps no record of that time';
  return isOwn ? 'the delegate was switched off, or the node did not run' : 'no block came here: ask the delegate';
}

function textOf({ code, message, fields }: DecisionState): string {
  const reason = fields['reason'] === undefined ? '' : `: ${String(fields['reason'])}`;
  return `${message}${reason} (${code})`.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?');
}

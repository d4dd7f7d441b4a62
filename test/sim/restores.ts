/**
 * Runs random restore schedules. In each schedule, a node stops. Most schedules then restore an earlier state of its
 * data folder, or of a part of the folder. Some of these schedules first move the delegates of the node to another
 * machine. After its restart, the node reaches its peers immediately, late, or never. The worlds are small and short,
 * because many small worlds find more defects than one long world. Guarantee: no delegate ever signs two contradicting
 * headers.
 *
 * The schedules omit the restores that no node can detect. In such a restore, a whole machine returns to an earlier
 * state, with all files outside the data folder. Also, no peer has the blocks that the machine has signed since that
 * state: no peer received these blocks, or the peers returned to an earlier state, too.
 */

import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import { ACTIVE_DELEGATES, type Generation } from '../../src/protocol/params.ts';
import type { Verifier } from '../../src/ports/verifier.ts';
import { createInlineVerifier } from '../../src/workers/inline-verifier.ts';
import { publicKeyOf, type TestNetwork } from '../support/chain-maker.ts';
import { MemoryJournal, type FolderCopy, type SimNode } from './node.ts';
import { SeededRandom } from './seeded-random.ts';
import { World, type SimLine } from './world.ts';

/**
 * Number of slots of the common chain from which all schedules of a generation start. In generation 3 the common chain
 * has final blocks.
 */
const BASE_SLOTS = 170;
const BLOCK_TIME_S = 10;
const ANSWERS_MAX = 100_000;

/**
 * Indexes of the three nodes of a world: the node whose folder is restored, the node for the rest of the network, and
 * the other machine to which delegates may move.
 */
const NODE = 0;
const REST = 1;
const ELSEWHERE = 2;

export interface RestoreSchedule {
  readonly generation: Generation;
  /** The node forges for this number of delegates: the first delegates of the network. */
  readonly delegates: number;
  /**
   * The backup is made `beforeSlots + 1.5` slots after the start of the world. The node stops `afterSlots` slots later.
   */
  readonly beforeSlots: number;
  readonly afterSlots: number;
  /**
   * Number of slots at the end of `afterSlots` in which the node cannot reach the rest of the network. In generation 3,
   * the node forges alone in these slots.
   */
  readonly aloneSlots: number;
  /**
   * Number of slots for which the node is down. Only delegates that signed after the backup can contradict themselves.
   * In most schedules, the node is down until such delegates get their next slots.
   */
  readonly downSlots: number;
  /**
   * Number of slots at the end of `downSlots` in which the rest of the network runs (if `isWholeStopped` is false). In
   * the earlier slots of `downSlots`, the rest of the network is down, too.
   */
  readonly restSlots: number;
  /** Whether the rest of the network runs with `riskDoubleForging`. */
  readonly isRestBold: boolean;
  /**
   * The part of the data folder that the schedule restores. `backup` is a chain without a signing journal, as
   * `bloomery backup` makes it.
   */
  readonly restored: 'nothing' | 'folder' | 'journal' | 'chain' | 'backup';
  /**
   * The evidence of the restore that the node can find: a watermark outside the folder, the journal file itself, both,
   * or only what the peers report.
   */
  readonly evidence: 'watermark' | 'file' | 'both' | 'peers';
  /**
   * Number of slots from the restart of the node until the node can reach its peers. If the number is not below
   * `endSlots`, the node never reaches its peers.
   */
  readonly lateSlots: number;
  /** Whether the rest of the network stays down until the node restarts. */
  readonly isWholeStopped: boolean;
  /** Whether the schedule moves the delegates to another machine before the restore. */
  readonly isMoved: boolean;
  /**
   * Number of slots from the time at which the node can reach its peers until the end of the schedule. If the node
   * never reaches its peers, the schedule ends `2 * endSlots` slots after the restart.
   */
  readonly endSlots: number;
}

export interface RestoreResult {
  readonly seed: number;
  readonly schedule: RestoreSchedule;
  /** Number of headers that the node's delegates signed after the restore, on either machine. */
  readonly signedAfter: number;
  readonly contradiction?: { readonly text: string; readonly lines: readonly SimLine[] };
}

export function drawRestore(seed: number): RestoreSchedule {
  const random = new SeededRandom(`restore ${seed}`);
  const generation: Generation = random.chance(0.25) ? 2 : 3;
  const restored = random.pick(['nothing', 'folder', 'folder', 'folder', 'journal', 'chain', 'backup'] as const);
  const evidence = random.pick(['watermark', 'file', 'both', 'peers', 'peers'] as const);
  const isBlind = evidence === 'peers';
  const isMoved = !isBlind && evidence !== 'file' && restored !== 'nothing' && random.chance(0.2);
  const isWholeStopped = !isMoved && random.chance(0.2);
  const beforeSlots = random.below(4);
  const afterSlots = random.between(4, 14);
  const downSlots = random.chance(0.1) ? random.below(6) : ACTIVE_DELEGATES - afterSlots + random.between(-6, 1);
  return {
    generation,
    delegates: random.pick([34, 50, 67, 90]),
    beforeSlots,
    afterSlots,
    aloneSlots: isBlind || isMoved || random.chance(0.5) ? 0 : random.between(1, 14),
    downSlots,
    restSlots: Math.min(downSlots, random.pick([0, 1, 3, 6, random.chance(0.05) ? 100 : 2])),
    isRestBold: random.chance(0.7),
    restored,
    evidence,
    lateSlots: random.pick([0, 2, 4, 8, 8, 12, Infinity]),
    isWholeStopped,
    isMoved,
    endSlots: random.between(8, 16),
  };
}

interface Base {
  readonly network: TestNetwork;
  readonly folder: FolderCopy;
  readonly endS: number;
  readonly verifier: Verifier;
}

const bases = new Map<Generation, Promise<Base>>();

/** Returns the common chain of a generation, and one signing journal with the headers of all delegates. */
function baseOf(generation: Generation): Promise<Base> {
  const made = bases.get(generation) ?? makeBase(generation);
  bases.set(generation, made);
  return made;
}

async function makeBase(generation: Generation): Promise<Base> {
  const verifier = createInlineVerifier(selectEd25519(), ANSWERS_MAX);
  const delegateListRoundOffset = generation === 2 ? 0 : 2;
  const network = { generation, blockTimeS: BLOCK_TIME_S, delegateListRoundOffset };
  // The world has two nodes, because a node of generation 2 forges only if peers have the same tip.
  const world = new World({ seed: 1, nodes: 2, network, verifier });
  await world.startAll();
  await world.run(BASE_SLOTS * BLOCK_TIME_S);
  const folder = world.node(0).copyFolder();
  for (const [publicKey, lines] of world.node(1).journal.entries) folder.journal.entries.set(publicKey, lines);
  const endS = Math.floor((world.time.nowMs - world.params.epochMs) / 1000);
  await world.close();
  return { network: world.network, folder, endS, verifier };
}

export async function runRestore(seed: number, schedule = drawRestore(seed)): Promise<RestoreResult> {
  const { network, folder, endS, verifier } = await baseOf(schedule.generation);
  const { delegates, evidence } = schedule;
  const world = new World({
    seed,
    nodes: 3,
    made: network,
    verifier,
    startS: endS,
    forgersOf: (node, all) => (node === REST ? all.slice(delegates) : node === NODE ? all.slice(0, delegates) : []),
    riskDoubleForgingOf: (node) => node === REST && schedule.isRestBold,
    hasWatermarksOf: () => evidence === 'watermark' || evidence === 'both',
  });
  const onRejection = (reason: unknown): void => world.noteRejection(reason);
  process.on('unhandledRejection', onRejection);
  try {
    for (const node of world.nodes) node.restore(folder, false);
    const signedAfter = await live(world, schedule);
    const text = contradictionIn(world);
    return {
      seed,
      schedule,
      signedAfter,
      ...(text === undefined ? {} : { contradiction: { text, lines: [...world.lines] } }),
    };
  } finally {
    process.off('unhandledRejection', onRejection);
    await world.close();
  }
}

async function live(world: World, schedule: RestoreSchedule): Promise<number> {
  const slots = (count: number): Promise<void> => world.run(count * BLOCK_TIME_S);
  const [node, rest, elsewhere] = [world.node(NODE), world.node(REST), world.node(ELSEWHERE)];
  keepOwnLines(world);
  await node.start();
  await rest.start();
  // Backups happen in the middle of slots, after the block of the slot has reached all nodes.
  await slots(1.5 + schedule.beforeSlots);
  const backup = node.copyFolder();
  const alone = Math.min(schedule.aloneSlots, schedule.afterSlots);
  await slots(schedule.afterSlots - alone);
  if (alone > 0) world.partition([[NODE], [REST, ELSEWHERE]]);
  await slots(alone);
  node.crash();
  rest.crash();
  await slots(schedule.downSlots - schedule.restSlots);
  if (!schedule.isWholeStopped) await rest.start();
  if (schedule.isMoved) await move(world, node, elsewhere);
  await slots(schedule.restSlots);
  const { restored, evidence } = schedule;
  const isNoticed = evidence === 'file' || evidence === 'both';
  if (restored === 'folder') node.restore(backup, isNoticed);
  if (restored === 'journal') node.restore({ journal: backup.journal }, isNoticed);
  if (restored === 'backup') node.restore({ disk: backup.disk, journal: new MemoryJournal() }, false);
  if (restored === 'chain') node.restore({ disk: backup.disk }, isNoticed);
  const signedBefore = node.journal.signed.length + elsewhere.journal.signed.length;
  if (schedule.lateSlots > 0) world.partition([[NODE], [REST, ELSEWHERE]]);
  else world.wire.heal();
  await node.start();
  if (schedule.isWholeStopped) await rest.start();
  await slots(Math.min(schedule.lateSlots, schedule.endSlots));
  if (schedule.lateSlots < schedule.endSlots) world.wire.heal();
  await slots(schedule.endSlots);
  return node.journal.signed.length + elsewhere.journal.signed.length - signedBefore;
}

/**
 * Removes the headers of other nodes' delegates from the journal of each node, and writes the watermarks of the node's
 * own delegates.
 */
function keepOwnLines(world: World): void {
  for (const { keys, journal, watermarks } of world.nodes) {
    const own = new Set(keys.map(publicKeyOf));
    for (const publicKey of journal.delegates()) {
      const last = journal.last(publicKey);
      if (!own.has(publicKey)) journal.entries.delete(publicKey);
      else if (last !== undefined) watermarks.write(publicKey, { last });
    }
  }
}

/**
 * Moves the delegates as `forging export` and `forging import` do. The target machine then forges for the delegates.
 */
async function move(world: World, from: SimNode, to: SimNode): Promise<void> {
  const nowS = Math.floor(world.time.nowMs / 1000);
  for (const keyPair of from.keys) {
    const publicKey = publicKeyOf(keyPair);
    const last = from.journal.last(publicKey);
    if (last === undefined) continue;
    from.journal.move(publicKey, nowS);
    from.watermarks.write(publicKey, { last, movedAtS: nowS });
    to.journal.record(publicKey, last);
    to.journal.signed.pop();
  }
  await to.start();
  for (const keyPair of from.keys) to.engine.forging.enable(keyPair);
}

/** Returns the first pair of contradicting headers of one delegate. The headers may come from different nodes. */
export function contradictionIn(world: World): string | undefined {
  const byDelegate = new Map<
    string,
    { readonly node: number; readonly header: Parameters<World['rules']['contradiction']>[0] }[]
  >();
  for (const { index, journal } of world.nodes) {
    for (const { publicKey, header } of journal.signed) {
      const all = byDelegate.get(publicKey) ?? [];
      byDelegate.set(publicKey, all);
      all.push({ node: index, header });
    }
  }
  for (const [publicKey, all] of byDelegate) {
    all.sort((a, b) => a.header.timestamp - b.header.timestamp);
    for (const [at, later] of all.entries()) {
      for (const earlier of all.slice(0, at)) {
        const reason = world.rules.contradiction(earlier.header, later.header);
        if (reason !== undefined) return JSON.stringify({ reason, publicKey, earlier, later });
      }
    }
  }
  return undefined;
}

/**
 * Runs random restore schedules, each in a new simulated world. In each schedule, a node crashes and starts again
 * later. Before the restart, most schedules replace its data folder, or a part of this folder, by an earlier state.
 * Before they replace it, some of these schedules move the delegates of the node to another machine. After its restart,
 * the node reaches its peers immediately, late, or never. The test checks one guarantee: no delegate ever signs two
 * contradicting headers. The worlds are small and short, because many small worlds find more defects than one long
 * world.
 *
 * Some restores cannot be detected by any node, so the schedules do not contain them. In such a restore, two conditions
 * hold. A whole machine returns to an earlier state, including all files outside the data folder. No peer has the
 * blocks that the machine has signed since this state, because no peer received them, or because the peers also
 * returned to an earlier state.
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
 * All schedules of a generation start with the same chain, which a world makes in this number of slots. In generation
 * 3, this chain is long enough to contain final blocks.
 */
const BASE_SLOTS = 170;
const BLOCK_TIME_S = 10;
const ANSWERS_MAX = 100_000;

/**
 * Each world has three nodes. `NODE` is the node whose data folder is restored. `REST` is one node that stands for the
 * rest of the network. `ELSEWHERE` is the other machine to which the delegates may move.
 */
const NODE = 0;
const REST = 1;
const ELSEWHERE = 2;

export interface RestoreSchedule {
  readonly generation: Generation;
  /**
   * The node `NODE` forges with this number of delegates, which are the first delegates of the network. The node `REST`
   * forges with all others.
   */
  readonly delegates: number;
  /**
   * The schedule makes the backup `beforeSlots + 1.5` slots after the start of the world. `afterSlots` slots after the
   * backup, the node crashes.
   */
  readonly beforeSlots: number;
  readonly afterSlots: number;
  /**
   * For this number of slots before its crash, the node cannot reach the rest of the network. If the number is above
   * `afterSlots`, the node cannot reach the rest of the network from the backup until the crash. In generation 3, the
   * node forges alone in these slots.
   */
  readonly aloneSlots: number;
  /**
   * Number of slots for which the node is down. Only delegates that signed headers between the backup and the crash can
   * later sign contradicting headers. In most schedules, the node is therefore down for so long that such delegates get
   * their next slots soon after its restart.
   */
  readonly downSlots: number;
  /**
   * The rest of the network also goes down when the node crashes. If `isWholeStopped` is false, the rest of the network
   * starts again this number of slots before the node restarts.
   */
  readonly restSlots: number;
  /** Whether the node `REST` runs with the option `riskDoubleForging`. */
  readonly isRestBold: boolean;
  /**
   * The part of the data folder that the schedule restores. `backup` restores the chain and leaves the folder without a
   * signing journal, as a restore of a backup by `bloomery backup` does.
   */
  readonly restored: 'nothing' | 'folder' | 'journal' | 'chain' | 'backup';
  /**
   * How the node can detect the restore: from a watermark outside the data folder, from the file of the signing
   * journal, from both, or only from the reports of its peers.
   */
  readonly evidence: 'watermark' | 'file' | 'both' | 'peers';
  /**
   * After its restart, the node can reach its peers only after this number of slots. If the number is not below
   * `endSlots`, the node never reaches its peers.
   */
  readonly lateSlots: number;
  /**
   * Whether the rest of the network stays down until the restart of the node. If true, the rest of the network starts
   * directly after the node.
   */
  readonly isWholeStopped: boolean;
  /** Whether the schedule moves the delegates of the node to the machine `ELSEWHERE` before the restore. */
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
  /**
   * Number of headers that the delegates of the node signed after the restore, on the node itself and on the machine
   * `ELSEWHERE`.
   */
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

/**
 * Returns the chain with which all schedules of a generation start, and one signing journal with the headers of all
 * delegates of this chain. Makes both at the first call, and returns the same result later.
 */
function baseOf(generation: Generation): Promise<Base> {
  const made = bases.get(generation) ?? makeBase(generation);
  bases.set(generation, made);
  return made;
}

async function makeBase(generation: Generation): Promise<Base> {
  const verifier = createInlineVerifier(selectEd25519(), ANSWERS_MAX);
  const delegateListRoundOffset = generation === 2 ? 0 : 2;
  const network = { generation, blockTimeS: BLOCK_TIME_S, delegateListRoundOffset };
  // This world has two nodes, because a node of generation 2 forges only if enough of its peers have the same tip. One
  // node alone would not forge.
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
  // The schedule makes its backup in the middle of a slot, when the block of this slot has reached all nodes.
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
 * All nodes start with the same signing journal. From the journal of each node, removes the headers of delegates that
 * do not forge on this node. Also writes a watermark for each delegate that forges on the node.
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
 * Moves all delegates of the node `from` to the node `to`, as the commands `forging export` and `forging import` do.
 * Then starts `to`, which forges with these delegates.
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

/**
 * Searches for two contradicting headers that the same delegate has signed, on one node or on two different nodes.
 * Returns a text about the first such pair, or undefined if there is none.
 */
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

/**
 * A world of one to three machines. All machines together have at most four data folders. The nodes of all these
 * folders have the keys of one and the same delegate. All other delegates of the network are honest. The world runs the
 * nodes, and collects each header that any of these nodes signs for the delegate.
 */

import { journalFileOf, openJournal, type JournalFile } from '../../../src/node/journal-file.ts';
import { WatermarkFiles } from '../../../src/node/watermark-files.ts';
import { SILENT } from '../../../src/ports/observer.ts';
import type { Rules, SignedHeader } from '../../../src/protocol/rules.ts';
import { slotAtMs } from '../../../src/protocol/slots.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { SeededRandom } from '../seeded-random.ts';
import { BLOCK_TIME_S, chainUntil, OWN, ownerOf, rulesOf, signedHeaderOf, type HeaderChain } from './header-chain.ts';
import { ModelNode } from './node.ts';
import { mayStart, type Content, type RecordFile } from './promises.ts';
import type { Schedule } from './schedule.ts';

export const ROOT = '/signing-records';
export const RECORDS = `${ROOT}/records`;
const BASE_SLOTS = 40;
const STEP_MS = (BLOCK_TIME_S * 1000) / 2;
/** Half slots that a move of the delegate to another machine takes. */
const STEPS_OF_MOVE = 3;
/** A running node notices a step of the clock of at least this size (`clock-watch.ts`). */
const NOTICED_MS = 2000;
/**
 * An act is one step of a schedule, for example an export or an import. At the start of each act, the time of the world
 * advances by this number of milliseconds. The number exceeds one second, so two acts never start in the same second of
 * the world's time.
 */
const ACT_MS = 1100;

export const baseChain = chainUntil(BASE_SLOTS);

export interface Folder extends Content {
  readonly path: string;
  readonly machine: number;
  /**
   * A domain is a set of folders whose nodes share watermarks (newest signed headers, in files outside of the data
   * folders). If the machine of this folder keeps watermarks, the domain is the machine. Otherwise the folder is a
   * domain of its own.
   */
  readonly domain: string;
  /** The chain in the folder; undefined if the folder does not exist. */
  chain: HeaderChain | undefined;
  node: ModelNode | undefined;
  pausedSteps: number;
}

export interface Signed {
  readonly header: SignedHeader;
  readonly folder: number;
}

export class RecordsWorld {
  readonly files: MemoryFiles;
  readonly folders: readonly Folder[];
  readonly signed: Signed[] = [];
  readonly records: RecordFile[] = [];
  /**
   * The domain (a machine, or a single data folder; see `Folder.domain`) in which the delegate is allowed to sign at
   * present.
   */
  home: string;
  /**
   * Number of times that the delegate has moved to another domain (a machine, or a single data folder; see
   * `Folder.domain`).
   */
  era = 0;
  /**
   * All domains (machines or single data folders; see `Folder.domain`) in which the delegate was allowed to sign at any
   * time, including the present one (`home`).
   */
  readonly formerHomes = new Set<string>();
  /**
   * For each machine that keeps watermarks (newest signed headers, in files outside of the data folders), the number of
   * the act (step of the schedule) that last restored the folder of these files from a copy. This folder also contains
   * the notes about imports (`imported-records.ts`), so the act restored these notes, too. The keys of the map are
   * values of `Folder.domain`.
   */
  readonly notesSince = new Map<string, number>();
  /** Number of the present act (step of the schedule); 0 before the first act. */
  at = 0;
  /** The first two headers that contradict each other. */
  contradiction: string | undefined;
  readonly #schedule: Schedule;
  readonly rules: Rules;
  #skewMs: readonly number[];
  #nowMs: number;
  #network = baseChain;
  /**
   * Number of calls of `ModelNode.check` so far. If a call makes a header, the id of the header contains the number of
   * the call.
   */
  #made = 0;
  #networkSlot = BASE_SLOTS;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
    this.#skewMs = schedule.skewMs;
    this.rules = rulesOf(schedule.generation);
    this.#nowMs = this.rules.params.epochMs + BASE_SLOTS * BLOCK_TIME_S * 1000 + 4000;
    this.files = new MemoryFiles(ROOT, () => this.#nowMs);
    this.folders = schedule.machineOf.map((machine, index) => {
      const path = `${ROOT}/${machine}/folder${index}`;
      const domain = schedule.hasWatermarks[machine] === true ? `${ROOT}/${machine}` : path;
      return { path, machine, domain, era: 0, isExported: false, chain: undefined, node: undefined, pausedSteps: 0 };
    });
    this.home = this.folders[0]!.domain;
    this.formerHomes.add(this.home);
  }

  /** The chain of the network. */
  get network(): HeaderChain {
    return this.#network;
  }

  /** Writes the first folder: its node has signed the delegate's blocks of the chain so far. */
  begin(): void {
    this.files.put(RECORDS, new Map(), false);
    const folder = this.folders[0]!;
    let height = baseChain.tip.height;
    while (baseChain.state.header(height)?.generatorPublicKey !== OWN) height -= 1;
    const header = signedHeaderOf(baseChain.state.header(height)!);
    this.signed.push({ header, folder: 0 });
    folder.chain = baseChain;
    const journal = openJournal(journalFileOf(folder.path));
    journal.record(OWN, header);
    journal.recordFileIdentity();
    journal.close();
    this.watermarksOf(folder)?.write(OWN, { last: header });
  }

  /** Begins the next act (step of the schedule). */
  nextAct(): void {
    this.at += 1;
    this.#nowMs += ACT_MS;
  }

  start(folder: Folder, killAt = Infinity): void {
    const { chain } = folder;
    if (folder.node !== undefined || chain === undefined || !mayStart(this, folder)) return;
    const opened: JournalFile[] = [];
    const nowMs = (): number => this.#nowMs + (this.#skewMs[folder.machine] ?? 0);
    const options = {
      rules: this.rules,
      journalFile: journalFileOf(folder.path),
      watermarkFolder: this.watermarkFolderOf(folder),
      nowMs,
      chain,
    };
    const nodes: ModelNode[] = [];
    const isKilled = this.files.killedAt(killAt, () => {
      nodes.push(new ModelNode(options, (file) => opened.push(file)));
    });
    [folder.node] = nodes;
    folder.node?.hear(this.#network);
    if (!isKilled) return;
    for (const file of opened) file.close();
    folder.node = undefined;
  }

  /**
   * Sets the clock of a machine. The nodes that run on the machine notice a step forward of two seconds or more. They
   * do not notice a smaller step, or a step back.
   */
  setClock({ machine }: Folder, skewMs: number): void {
    const byMs = skewMs - (this.#skewMs[machine] ?? 0);
    this.#skewMs = this.#skewMs.map((before, index) => (index === machine ? skewMs : before));
    if (byMs < NOTICED_MS) return;
    for (const folder of this.folders) if (folder.machine === machine) folder.node?.clockSetForward(byMs);
  }

  stop(folder: Folder): void {
    folder.node?.stop();
    folder.node = undefined;
    folder.pausedSteps = 0;
  }

  /** Time passes. Blocks of the own delegate may be lost, and blocks of the network may be late. */
  wait(halfSlots: number, random: SeededRandom, killAt = Infinity): void {
    const [missed, reorganised] = random.chance(0.5) ? [0.07, 0.02] : [0.3, 0.1];
    for (let step = 0; step < halfSlots; step += 1) {
      this.#passStep(random.chance(missed));
      if (random.chance(reorganised)) this.#reorganise(random.between(1, 2));
      const running = this.folders.filter(({ node }) => node !== undefined);
      if (random.chance(0.5)) running.reverse();
      for (const folder of running) {
        if (folder.pausedSteps > 0) folder.pausedSteps -= 1;
        else this.#run(folder, { isLate: random.chance(0.3), isLost: random.chance(0.3), killAt });
      }
    }
  }

  /**
   * In generation 3, the network drops up to `blocks` of its newest blocks, and later continues with other blocks.
   * Nodes follow when fork choice prefers the new branch. As in a real network, `maxHeightPrevoted` of the network's
   * chain never falls. In generation 2, the method changes nothing, because no block becomes final: a node without the
   * signing record cannot find out the heights of dropped blocks of the delegate, and could sign a second block at such
   * a height.
   */
  #reorganise(blocks: number): void {
    if (!this.rules.hasFinality) return;
    for (let count = 0; count < blocks; count += 1) {
      const { parent, state } = this.#network;
      if (parent === undefined || this.rules.maxHeightPrevoted(parent.state) < this.rules.maxHeightPrevoted(state))
        return;
      this.#network = parent;
    }
  }

  /** Half a slot passes. An honest delegate makes a block in its slot, unless it misses the slot. */
  #passStep(isMissed: boolean): void {
    this.#nowMs += STEP_MS;
    const slot = slotAtMs(this.#nowMs, this.rules.params);
    if (slot === this.#networkSlot) return;
    this.#networkSlot = slot;
    if (ownerOf(slot) !== OWN && !isMissed) this.#network = this.#network.extend(slot);
  }

  #run(folder: Folder, { isLate, isLost, killAt }: { isLate: boolean; isLost: boolean; killAt: number }): void {
    const { node } = folder;
    if (node === undefined) return;
    if (node.isConnected) node.hear(this.#network);
    if (node.isConnected && !isLate) node.sync(this.#network);
    const before = node.chain;
    let sent: ReturnType<ModelNode['check']>;
    const isKilled = this.files.killedAt(killAt, () => {
      sent = node.check(`own ${(this.#made += 1)}`);
    });
    if (isKilled) {
      folder.chain = before;
      this.stop(folder);
      return;
    }
    folder.chain = node.chain;
    if (sent === undefined) return;
    this.#collect({ header: sent.header, folder: this.folders.indexOf(folder) });
    if (node.isConnected && !isLost && sent.chain.tip.previousBlockId === this.#network.tip.id)
      this.#network = sent.chain;
  }

  #collect(signed: Signed): void {
    for (const earlier of this.signed) {
      const isSameSlot = earlier.header.timestamp === signed.header.timestamp;
      const reason = this.rules.contradiction(earlier.header, signed.header) ?? (isSameSlot ? 'same slot' : undefined);
      if (reason !== undefined) this.contradiction ??= JSON.stringify({ reason, earlier, later: signed, act: this.at });
    }
    this.signed.push(signed);
  }

  /**
   * Moves the delegate to the domain of `folder` (a machine, or a single data folder; see `Folder.domain`), and stops
   * the nodes in all other domains. The move takes `STEPS_OF_MOVE` half slots. During this time, no node signs for the
   * delegate, and the other delegates miss no slot.
   */
  moveHome(folder: Folder): void {
    for (const each of this.folders) if (each.domain !== folder.domain) this.stop(each);
    for (let step = 0; step < STEPS_OF_MOVE; step += 1) this.#passStep(false);
    this.home = folder.domain;
    this.formerHomes.add(this.home);
    this.era += 1;
  }

  /**
   * Stops all nodes, and then starts only the node of `folder`. All clocks are right, and the network has no faults.
   * The method ends when the node has signed, or after `slots` slots.
   *
   * @returns the reason why the node did not sign; undefined if it has signed
   */
  runAlone(folder: Folder, slots: number): string | undefined {
    for (const each of this.folders) this.stop(each);
    this.#skewMs = this.#skewMs.map(() => 0);
    const { length } = this.signed;
    this.start(folder);
    const { node } = folder;
    for (let step = 0; step < 2 * slots && this.signed.length === length; step += 1) {
      this.#passStep(false);
      this.#run(folder, { isLate: false, isLost: false, killAt: Infinity });
    }
    return this.signed.length > length ? undefined : (node?.refusal ?? 'not started');
  }

  nowMsOf({ machine }: Folder): number {
    return this.#nowMs + (this.#skewMs[machine] ?? 0);
  }

  watermarkFolderOf({ machine }: Folder): string | undefined {
    return this.#schedule.hasWatermarks[machine] === true ? `${ROOT}/${machine}/signed` : undefined;
  }

  watermarksOf(folder: Folder): WatermarkFiles | undefined {
    const path = this.watermarkFolderOf(folder);
    return path === undefined ? undefined : new WatermarkFiles(path, this.rules.params.networkIdentifier, SILENT);
  }
}

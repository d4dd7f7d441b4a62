/**
 * A world of one or two machines with up to three data folders, which all have the keys of one delegate. The world
 * carries out the acts of a schedule (`schedule.ts`) that the guide permits (`promises.ts`), and collects each header
 * that the delegate signs anywhere.
 */

import type { JournalFile } from '../../../src/node/journal-file.ts';
import { journalFileOf, openJournal } from '../../../src/node/journal-file.ts';
import { prepareExport, writeRecord } from '../../../src/node/record-export.ts';
import { importRecord } from '../../../src/node/record-import.ts';
import { recordOfText } from '../../../src/node/signing-record.ts';
import { WatermarkFiles } from '../../../src/node/watermark-files.ts';
import { SILENT } from '../../../src/ports/observer.ts';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import type { Rules, SignedHeader } from '../../../src/protocol/rules.ts';
import { epochTimeS, slotAtMs } from '../../../src/protocol/slots.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { SeededRandom } from '../seeded-random.ts';
import {
  BLOCK_TIME_S,
  chainUntil,
  DELEGATES,
  OWN,
  ownerOf,
  rulesOf,
  signedHeaderOf,
  type HeaderChain,
} from './header-chain.ts';
import { ModelNode } from './node.ts';
import {
  foldersBesideRestoredWatermarks,
  mayExport,
  mayImport,
  mayRestore,
  mayStart,
  mayTakeOver,
  type Content,
  type RecordFile,
} from './promises.ts';
import type { Act, Schedule } from './schedule.ts';

const ROOT = '/signing-records';
const BASE_SLOTS = 40;
const STEP_MS = (BLOCK_TIME_S * 1000) / 2;
/** An act takes this time, so two commands never have the same second. */
const ACT_MS = 1100;

const baseChain = chainUntil(BASE_SLOTS);

export interface Folder extends Content {
  readonly path: string;
  readonly machine: number;
  /** The folder itself if its node has no watermarks, otherwise the machine: nodes of one domain share watermarks. */
  readonly domain: string;
  /** The chain in the folder; undefined if the folder does not exist. */
  chain: HeaderChain | undefined;
  node: ModelNode | undefined;
  pausedSteps: number;
}

interface FolderCopy extends Content {
  readonly domain: string;
  readonly chain: HeaderChain;
  readonly files: ReadonlyMap<string, Buffer>;
  readonly watermarks: ReadonlyMap<string, Buffer> | undefined;
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
  /** The domain in which the delegate may sign. */
  home: string;
  /** Number of times that the home has changed. */
  era = 0;
  /** Domains that have been the home at some time. */
  readonly formerHomes = new Set<string>();
  /** For each domain, the number of the act that last restored its folder of watermarks, and the notes in it. */
  readonly notesSince = new Map<string, number>();
  /** Number of the present act. */
  at = 0;
  /** The first two headers that contradict each other. */
  contradiction: string | undefined;
  readonly #schedule: Schedule;
  readonly #rules: Rules;
  readonly #copies: FolderCopy[] = [];
  #skewMs: readonly number[];
  #nowMs: number;
  #network = baseChain;
  #networkSlot = BASE_SLOTS;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
    this.#skewMs = schedule.skewMs;
    this.#rules = rulesOf(schedule.generation);
    this.#nowMs = this.#rules.params.epochMs + BASE_SLOTS * BLOCK_TIME_S * 1000 + 4000;
    this.files = new MemoryFiles(ROOT, () => this.#nowMs);
    this.folders = schedule.machineOf.map((machine, index) => {
      const path = `${ROOT}/${machine}/folder${index}`;
      const domain = schedule.hasWatermarks[machine] === true ? `${ROOT}/${machine}` : path;
      return { path, machine, domain, era: 0, isExported: false, chain: undefined, node: undefined, pausedSteps: 0 };
    });
    this.home = this.folders[0]!.domain;
    this.formerHomes.add(this.home);
  }

  /** Writes the first folder: its node has signed the delegate's blocks of the chain so far. */
  begin(): void {
    this.files.put(`${ROOT}/records`, new Map(), false);
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
    this.#watermarksOf(folder)?.write(OWN, { last: header });
  }

  act(act: Act): void {
    this.at += 1;
    this.#nowMs += ACT_MS;
    if (act.do === 'wait') this.#wait(act.halfSlots, new SeededRandom(act.seed), act.killAt);
    else if (act.do === 'copyFile') this.#copyFile(act.file);
    else this.#actOn(this.folders[act.folder]!, act);
  }

  #actOn(folder: Folder, act: Exclude<Act, { readonly do: 'wait' | 'copyFile' }>): void {
    if (act.do === 'start') this.start(folder, act.killAt);
    else if (act.do === 'stop') this.stop(folder);
    else if (act.do === 'pause') folder.pausedSteps = folder.node === undefined ? 0 : act.halfSlots;
    else if (act.do === 'connect') folder.node?.hear(act.isConnected ? this.#network : undefined);
    else if (act.do === 'copy') this.#copy(folder);
    else if (act.do === 'restore') this.#restore(folder, act);
    else if (act.do === 'bare') this.#bare(folder, this.folders[act.from]!);
    else if (act.do === 'export') this.#export(folder, act.isKept, act.killAt);
    else this.#import(folder, act.file, act.killAt);
  }

  start(folder: Folder, killAt = Infinity): void {
    const { chain } = folder;
    if (folder.node !== undefined || chain === undefined || !mayStart(this, folder)) return;
    const opened: JournalFile[] = [];
    const nowMs = (): number => this.#nowMs + (this.#skewMs[folder.machine] ?? 0);
    const options = {
      rules: this.#rules,
      journalFile: journalFileOf(folder.path),
      watermarkFolder: this.#watermarkFolderOf(folder),
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

  stop(folder: Folder): void {
    folder.node?.stop();
    folder.node = undefined;
    folder.pausedSteps = 0;
  }

  #wait(halfSlots: number, random: SeededRandom, killAt = Infinity): void {
    for (let step = 0; step < halfSlots; step += 1) {
      this.#passStep(random.chance(0.07));
      const running = this.folders.filter(({ node }) => node !== undefined);
      if (random.chance(0.5)) running.reverse();
      for (const folder of running) {
        if (folder.pausedSteps > 0) folder.pausedSteps -= 1;
        else this.#run(folder, { isLate: random.chance(0.3), isLost: random.chance(0.2), killAt });
      }
    }
  }

  /** Half a slot passes. An honest delegate makes a block in its slot, unless it misses the slot. */
  #passStep(isMissed: boolean): void {
    this.#nowMs += STEP_MS;
    const slot = slotAtMs(this.#nowMs, this.#rules.params);
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
      sent = node.check(`own ${this.signed.length}`);
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
      const reason = this.#rules.contradiction(earlier.header, signed.header) ?? (isSameSlot ? 'same slot' : undefined);
      if (reason !== undefined) this.contradiction ??= JSON.stringify({ reason, earlier, later: signed, act: this.at });
    }
    this.signed.push(signed);
  }

  #copy(folder: Folder): void {
    const { chain, domain, era, isExported } = folder;
    if (chain === undefined) return;
    const watermarkFolder = this.#watermarkFolderOf(folder);
    const watermarks = watermarkFolder === undefined ? undefined : this.files.copyOf(watermarkFolder);
    this.#copies.unshift({ chain, domain, era, isExported, files: this.files.copyOf(folder.path), watermarks });
  }

  #restore(folder: Folder, act: Extract<Act, { readonly do: 'restore' }>): void {
    const copy = this.#copies[act.copy % Math.max(1, this.#copies.length)];
    if (copy === undefined) return;
    const isHere = mayRestore(this, folder, copy);
    if (!isHere && !mayTakeOver(this, folder)) return;
    this.stop(folder);
    if (!isHere) this.moveHome(folder);
    this.files.put(folder.path, copy.files, act.isOver && isHere);
    Object.assign(folder, { chain: copy.chain, era: this.era, isExported: isHere && copy.isExported });
    const watermarkFolder = this.#watermarkFolderOf(folder);
    if (!act.hasWatermarks || watermarkFolder === undefined || copy.watermarks === undefined) return;
    this.files.put(watermarkFolder, copy.watermarks, act.isOver);
    this.notesSince.set(folder.domain, this.at);
    for (const each of foldersBesideRestoredWatermarks(this.folders, folder)) {
      this.stop(each);
      each.era = -1;
    }
  }

  #bare(folder: Folder, from: Folder): void {
    const chain = from.chain ?? baseChain;
    if (folder.domain !== this.home && !mayTakeOver(this, folder)) return;
    this.stop(folder);
    if (folder.domain !== this.home) this.moveHome(folder);
    this.files.put(folder.path, new Map(), false);
    Object.assign(folder, { chain, era: this.era, isExported: false });
  }

  #export(folder: Folder, isKept: boolean, killAt = Infinity): void {
    if (!mayExport(this, folder) || !this.files.copyOf(folder.path).has('forging-journal')) return;
    this.stop(folder);
    const path = `${ROOT}/records/${this.at}.json`;
    const isKilled = this.files.killedAt(killAt, () =>
      this.#withJournal(folder, (journal) => {
        const exportedAtS = Math.floor(this.#nowMsOf(folder) / 1000);
        const { params } = this.#rules;
        const watermarks = this.#watermarksOf(folder);
        const { record, endSigning } = prepareExport({ journal, params, watermarks, isKept, exportedAtS });
        if (record.delegates.length > 0) writeRecord(path, record, endSigning);
      }),
    );
    const isWhole = !isKilled && !isKept && !folder.isExported;
    this.records.unshift({
      path,
      at: this.at,
      era: this.era,
      isWhole,
      signed: this.signed.length,
      imports: [],
      isMarked: false,
    });
    if (!isKilled && !isKept) folder.isExported = true;
  }

  #import(folder: Folder, number: number, killAt = Infinity): void {
    const file = this.records[number % Math.max(1, this.records.length)];
    if (file === undefined || !this.files.copyOf(`${ROOT}/records`).has(file.path.split('/').pop()!)) return;
    if (!mayImport(this, folder, file)) return;
    this.stop(folder);
    if (folder.domain !== this.home) this.moveHome(folder);
    const text = this.files.copyOf(`${ROOT}/records`).get(file.path.split('/').pop()!)!.toString('utf8');
    let record: ReturnType<typeof recordOfText>;
    try {
      record = recordOfText(text, file.path);
    } catch (error) {
      // A killed export may have left a part of a file, which no command accepts.
      if (error instanceof ProtocolError && !file.isWhole) return;
      throw error;
    }
    const nowMs = this.#nowMsOf(folder);
    const isKilled = this.files.killedAt(killAt, () =>
      this.#withJournal(folder, (journal) =>
        importRecord({
          journal,
          record,
          file: file.path,
          into: folder.path,
          watermarkFolder: this.#watermarkFolderOf(folder),
          watermarks: this.#watermarksOf(folder),
          nowS: epochTimeS(nowMs, this.#rules.params),
          unixS: Math.floor(nowMs / 1000),
        }),
      ),
    );
    file.imports.push(folder.domain);
    file.isMarked ||= !isKilled;
    Object.assign(folder, { chain: folder.chain ?? baseChain, era: this.era, isExported: false });
  }

  #copyFile(number: number): void {
    const file = this.records[number % Math.max(1, this.records.length)];
    const name = file?.path.split('/').pop();
    const content = name === undefined ? undefined : this.files.copyOf(`${ROOT}/records`).get(name);
    if (file === undefined || content === undefined) return;
    const path = `${ROOT}/records/${this.at}-copy.json`;
    this.files.put(`${ROOT}/records`, new Map([[`${this.at}-copy.json`, content]]), true);
    // The copy has the same list of imports: it is the same record.
    this.records.unshift({ ...file, path });
  }

  /** The delegate moves to the domain of a folder. The nodes of the old domain are stopped. */
  moveHome(folder: Folder): void {
    for (const each of this.folders) if (each.domain !== folder.domain) this.stop(each);
    this.home = folder.domain;
    this.formerHomes.add(this.home);
    this.era += 1;
  }

  /**
   * Leaves one folder alone: its node runs with a right clock in a network without faults.
   *
   * @returns whether the node has signed, or why it did not
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

  #nowMsOf({ machine }: Folder): number {
    return this.#nowMs + (this.#skewMs[machine] ?? 0);
  }

  #watermarkFolderOf({ machine }: Folder): string | undefined {
    return this.#schedule.hasWatermarks[machine] === true ? `${ROOT}/${machine}/signed` : undefined;
  }

  #watermarksOf(folder: Folder): WatermarkFiles | undefined {
    const path = this.#watermarkFolderOf(folder);
    return path === undefined ? undefined : new WatermarkFiles(path, this.#rules.params.networkIdentifier, SILENT);
  }

  #withJournal(folder: Folder, work: (journal: JournalFile) => void): void {
    const journal = openJournal(journalFileOf(folder.path));
    try {
      work(journal);
    } finally {
      journal.close();
    }
  }
}

export const ROUND_SLOTS = DELEGATES;

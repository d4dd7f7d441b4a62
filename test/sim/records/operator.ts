/** Carries out the acts of a schedule (`schedule.ts`) that the guide permits (`promises.ts`), in a world. */

import { journalFileOf, openJournal, type JournalFile } from '../../../src/node/journal-file.ts';
import { prepareExport, writeRecord } from '../../../src/node/record-export.ts';
import { importRecord } from '../../../src/node/record-import.ts';
import { recordOfText } from '../../../src/node/signing-record.ts';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import { epochTimeS } from '../../../src/protocol/slots.ts';
import { SeededRandom } from '../seeded-random.ts';
import type { HeaderChain } from './header-chain.ts';
import {
  foldersBesideOldWatermarks,
  mayExport,
  mayImport,
  mayRestore,
  mayTakeOver,
  mustRepeatIfKilled,
  type Content,
} from './promises.ts';
import type { Act } from './schedule.ts';
import { baseChain, RECORDS, type Folder, type RecordsWorld } from './world.ts';

/**
 * Value of `Content.era` for a folder whose node the operator does not start again until an import into this folder.
 * There is one exception: the operator can start a node whose folder was exported, because this node refuses to sign.
 * All other values of `Content.era` are numbers of moves of the delegate.
 */
const NEVER = -1;

interface FolderCopy extends Content {
  readonly domain: string;
  readonly chain: HeaderChain;
  readonly files: ReadonlyMap<string, Buffer>;
  readonly watermarks: ReadonlyMap<string, Buffer> | undefined;
  /** Number of headers that were signed before the copy. */
  readonly signed: number;
}

export class Operator {
  readonly #world: RecordsWorld;
  /** Copies of data folders, the newest first. */
  readonly #copies: FolderCopy[] = [];

  constructor(world: RecordsWorld) {
    this.#world = world;
  }

  act(act: Act): void {
    this.#world.nextAct();
    if (act.do === 'wait') this.#world.wait(act.halfSlots, new SeededRandom(act.seed), act.killAt);
    else if (act.do === 'copyFile') this.#copyFile(act.file);
    else this.#actOn(this.#world.folders[act.folder]!, act);
  }

  #actOn(folder: Folder, act: Exclude<Act, { readonly do: 'wait' | 'copyFile' }>): void {
    if (act.do === 'start') this.#world.start(folder, act.killAt);
    else if (act.do === 'stop') this.#world.stop(folder);
    else if (act.do === 'pause') folder.pausedSteps = folder.node === undefined ? 0 : act.halfSlots;
    else if (act.do === 'connect') folder.node?.hear(act.isConnected ? this.#world.network : undefined);
    else if (act.do === 'clock') this.#world.setClock(folder, act.skewMs);
    else if (act.do === 'copy') this.#copy(folder);
    else if (act.do === 'restore') this.#restore(folder, act);
    else if (act.do === 'bare') this.#bare(folder, this.#world.folders[act.from]!);
    else if (act.do === 'export') this.#export(folder, act.isKept, act.killAt);
    else this.#import(folder, act.file, act.killAt);
  }

  #copy(folder: Folder): void {
    const world = this.#world;
    const { chain, domain, era, isExported } = folder;
    if (chain === undefined) return;
    const watermarkFolder = world.watermarkFolderOf(folder);
    const watermarks = watermarkFolder === undefined ? undefined : world.files.copyOf(watermarkFolder);
    const files = world.files.copyOf(folder.path);
    this.#copies.unshift({ chain, domain, era, isExported, files, watermarks, signed: world.signed.length });
  }

  #restore(folder: Folder, act: Extract<Act, { readonly do: 'restore' }>): void {
    const world = this.#world;
    const copy = this.#copies[act.copy % Math.max(1, this.#copies.length)];
    if (copy === undefined) return;
    const isHere = mayRestore(world, folder, copy);
    if (!isHere && !mayTakeOver(world, folder)) return;
    world.stop(folder);
    if (!isHere) world.moveHome(folder);
    world.files.put(folder.path, copy.files, act.isOver && isHere);
    // A folder that stays off does not start after a further restore either.
    const era = isHere && folder.era === NEVER ? NEVER : world.era;
    Object.assign(folder, { chain: copy.chain, era, isExported: isHere && copy.isExported });
    const watermarkFolder = world.watermarkFolderOf(folder);
    if (!act.hasWatermarks || watermarkFolder === undefined || copy.watermarks === undefined) return;
    world.files.put(watermarkFolder, copy.watermarks, act.isOver);
    world.notesSince.set(folder.domain, world.at);
    this.#leaveOff(foldersBesideOldWatermarks(world, folder, copy));
  }

  /** The operator stops the nodes of some folders, and starts them again only after an import. */
  #leaveOff(folders: readonly Folder[]): void {
    for (const each of folders) {
      this.#world.stop(each);
      each.era = NEVER;
    }
  }

  #bare(folder: Folder, from: Folder): void {
    const world = this.#world;
    const chain = from.chain ?? baseChain;
    if (folder.domain !== world.home && !mayTakeOver(world, folder)) return;
    const era = folder.domain === world.home && folder.era === NEVER ? NEVER : world.era;
    world.stop(folder);
    if (folder.domain !== world.home) world.moveHome(folder);
    world.files.put(folder.path, new Map(), false);
    Object.assign(folder, { chain, era, isExported: false });
  }

  #export(folder: Folder, isKept: boolean, killAt = Infinity): void {
    const world = this.#world;
    if (!mayExport(world, folder) || !world.files.copyOf(folder.path).has('forging-journal')) return;
    world.stop(folder);
    const path = `${RECORDS}/${world.at}.json`;
    let isEmpty = false;
    const isKilled = world.files.killedAt(killAt, () =>
      this.#withJournal(folder, (journal) => {
        const exportedAtS = Math.floor(world.nowMsOf(folder) / 1000);
        const { params } = world.rules;
        const watermarks = world.watermarksOf(folder);
        const { record, endSigning } = prepareExport({ journal, params, watermarks, isKept, exportedAtS });
        // If the journal contains no delegate, the command `bloomery forging export` refuses the export.
        isEmpty = record.delegates.length === 0;
        if (!isEmpty) writeRecord(path, record, endSigning);
      }),
    );
    if (isEmpty) return;
    const isWhole = !isKilled && !isKept && !folder.isExported;
    world.records.unshift({
      path,
      at: world.at,
      era: world.era,
      isWhole,
      signed: world.signed.length,
      imports: [],
    });
    if (!isKilled && !isKept) folder.isExported = true;
  }

  #import(folder: Folder, number: number, killAt = Infinity): void {
    const world = this.#world;
    const file = world.records[number % Math.max(1, world.records.length)];
    if (file === undefined) return;
    const name = file.path.slice(RECORDS.length + 1);
    const text = world.files.copyOf(RECORDS).get(name)?.toString('utf8');
    if (text === undefined) return;
    let record: ReturnType<typeof recordOfText>;
    try {
      record = recordOfText(text, file.path);
    } catch (error) {
      // A killed export may have left a part of a file, which no command accepts.
      if (error instanceof ProtocolError && !file.isWhole) return;
      throw error;
    }
    const watermarkFolder = world.watermarkFolderOf(folder);
    const { isCopy } = record;
    if (!mayImport(world, folder, file, { isCopy, hasWatermarks: watermarkFolder !== undefined })) return;
    world.stop(folder);
    const mustRepeat = mustRepeatIfKilled(world, folder);
    if (folder.domain !== world.home) world.moveHome(folder);
    const nowMs = world.nowMsOf(folder);
    const isKilled = world.files.killedAt(killAt, () =>
      this.#withJournal(folder, (journal) =>
        importRecord({
          journal,
          record,
          file: file.path,
          into: folder.path,
          watermarkFolder,
          watermarks: world.watermarksOf(folder),
          nowS: epochTimeS(nowMs, world.rules.params),
          unixS: Math.floor(nowMs / 1000),
        }),
      ),
    );
    file.imports.push(folder.domain);
    if (isKilled && mustRepeat) this.#leaveOff(world.folders.filter(({ domain }) => domain === folder.domain));
    const era = isKilled && mustRepeat ? NEVER : world.era;
    Object.assign(folder, { chain: folder.chain ?? baseChain, era, isExported: false });
  }

  #copyFile(number: number): void {
    const world = this.#world;
    const file = world.records[number % Math.max(1, world.records.length)];
    const content = file && world.files.copyOf(RECORDS).get(file.path.slice(RECORDS.length + 1));
    if (file === undefined || content === undefined) return;
    const path = `${RECORDS}/${world.at}-copy.json`;
    world.files.put(RECORDS, new Map([[`${world.at}-copy.json`, content]]), true);
    // The copy has the same list of imports: it is the same record.
    world.records.unshift({ ...file, path });
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

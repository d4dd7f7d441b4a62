/**
 * Stores the chain and the state of the chain in a database of ordered keys. A database transaction writes or removes
 * whole blocks. For each block, the same database transaction writes the state changes, the undo record, the index
 * entries and the counters. If indexing is deferred, a later database transaction writes the index entries of the
 * blocks' transactions. If a database transaction fails, the store clears its caches in memory.
 */

import { LruMap } from '../../primitives/bounded.ts';
import { isU64Decimal } from '../../primitives/bytes.ts';
import { assert, ProtocolError } from '../../primitives/errors.ts';
import { FINALIZED_NOTE, type NoteName } from '../../ports/notes.ts';
import type { BackfillLimits, ChainWriter, TransactionPlace } from '../../ports/store.ts';
import type { Codec } from '../../protocol/rules.ts';
import { StateOverlay, type Account, type Delegate, type StateWriter } from '../../protocol/state.ts';
import type {
  Address,
  Block,
  BlockHeader,
  BlockId,
  PublicKey,
  Transaction,
  TransactionId,
} from '../../protocol/types.ts';
import { BlockTables } from './block-tables.ts';
import type { CountedKeySets } from '../index/counted-key-sets.ts';
import type { KeyValueReader } from '../tables/key-value.ts';
import { TABLES } from '../tables/layout.ts';
import { FINALITY_CHANGED, finalizedIn, finalizedRecord } from './finalized-note.ts';
import { StoredStateChecksum, type StateCheck, type StateKeys } from './stored-checksum.ts';
import { storeDamaged } from '../disk/store-refusals.ts';
import { isU32 } from '../tables/ordered-bytes.ts';
import { stateDigestOf, StateTables } from './state-tables.ts';
import type { ChangeRecorder, StoredChain } from './stored-chain.ts';
import type { Overwritten } from './undo.ts';
import { undoChanged, UndoRecords } from './undo-records.ts';

export type { StoredChain } from './stored-chain.ts';

/**
 * Maximum number of cached headers. The consensus rules need fewer recent headers than this number, so the rules seldom
 * read headers from the disk.
 */
export const HEADERS_CACHED_MAX = 1024;

/** Callers use an object of this class as a `StoredChain`. Inside `transact`, the same object is the `ChainWriter`. */
export class KeyValueChainStore implements StoredChain, ChainWriter {
  readonly tables: KeyValueReader;
  readonly codec: Codec;
  readonly shortListMax: number;
  readonly #keyValue: CountedKeySets;
  readonly #state: StateTables;
  readonly #blocks: BlockTables;
  #openedChecksum: StoredStateChecksum | undefined;
  readonly #headers = new LruMap<number, BlockHeader>(HEADERS_CACHED_MAX);
  #tip: BlockHeader | undefined;
  /** State changes of the block that is being applied. */
  #overlay: StateOverlay | undefined;
  /** Writer of the running database transaction; undefined if no database transaction is running. */
  #keys: StateKeys | undefined;
  #recorder: ChangeRecorder | undefined;
  readonly #undo: UndoRecords;
  readonly #directory: string;
  readonly damaged: Promise<ProtocolError>;
  readonly #reportDamage: (error: ProtocolError) => void;

  /** @param directory folder of the store, for error messages about damage */
  constructor(keyValue: CountedKeySets, codec: Codec, shortListMax: number, directory: string) {
    this.#keyValue = keyValue;
    this.tables = keyValue;
    this.codec = codec;
    this.shortListMax = shortListMax;
    this.#state = new StateTables(keyValue, this);
    this.#blocks = new BlockTables(keyValue, codec, shortListMax);
    this.#undo = new UndoRecords(keyValue);
    this.#directory = directory;
    let report: (error: ProtocolError) => void = () => undefined;
    this.damaged = new Promise((resolve) => (report = resolve));
    this.#reportDamage = report;
    this.#tip = this.#lastHeader();
  }

  account(address: Address): Account | undefined {
    return (this.#overlay ?? this.#state).account(address);
  }

  delegate(publicKey: PublicKey): Delegate | undefined {
    return (this.#overlay ?? this.#state).delegate(publicKey);
  }

  delegateKeyByUsername(username: string): PublicKey | undefined {
    return (this.#overlay ?? this.#state).delegateKeyByUsername(username);
  }

  delegates(): Iterable<Delegate> {
    return (this.#overlay ?? this.#state).delegates();
  }

  roundList(index: number): readonly PublicKey[] | undefined {
    return (this.#overlay ?? this.#state).roundList(index);
  }

  bftState(): Uint8Array | undefined {
    return (this.#overlay ?? this.#state).bftState();
  }

  fact(name: string): string | undefined {
    return (this.#overlay ?? this.#state).fact(name);
  }

  tip(): BlockHeader | undefined {
    return this.#tip;
  }

  header(height: number): BlockHeader | undefined {
    if (height === this.#tip?.height) return this.#tip;
    const cached = this.#headers.get(height);
    if (cached !== undefined) return cached;
    const bytes = isU32(height) ? this.#keyValue.get(TABLES.headers.key(height)) : undefined;
    if (bytes === undefined) return undefined;
    const header = this.codec.decodeHeader(bytes);
    this.#headers.set(height, header);
    return header;
  }

  block(height: number): Block | undefined {
    const header = this.header(height);
    return header === undefined ? undefined : this.#blocks.block(header);
  }

  heightOf(id: BlockId): number | undefined {
    return isU64Decimal(id) ? this.#blocks.heightOf(id) : undefined;
  }

  hasTransaction(id: TransactionId): boolean {
    return this.transactionPlace(id) !== undefined;
  }

  transactionPlace(id: TransactionId): TransactionPlace | undefined {
    return isU64Decimal(id) ? this.#blocks.transactionPlace(id) : undefined;
  }

  transaction(place: TransactionPlace): Transaction | undefined {
    return this.#blocks.transaction(place);
  }

  transact<T>(work: (writer: ChainWriter) => T): T {
    const tip = this.#tip;
    const bftState = this.#state.bftState();
    const dropRecords = this.#recorder?.begin();
    try {
      const result = this.#keyValue.transact((plain) => {
        const writer = this.#checksum.begin(plain);
        this.#keys = writer;
        const done = work(this);
        assert(!isThenable(done), 'a transaction of the store is synchronous');
        // The checksum covers the state, so this code writes the state before the checksum. Blocks, index entries and
        // undo records are not part of the state.
        this.#state.write(writer);
        this.#checksum.write(plain);
        this.#blocks.write(writer);
        this.#undo.write(plain);
        return done;
      });
      this.#checksum.commit();
      return result;
    } catch (error) {
      this.#overlay = undefined;
      this.#tip = tip;
      this.#headers.clear();
      this.#state.rollback(bftState);
      this.#undo.rollback();
      this.#blocks.rollback();
      this.#openedChecksum?.rollback();
      dropRecords?.();
      throw error;
    } finally {
      this.#keys = undefined;
    }
  }

  recordWith(recorder: ChangeRecorder): void {
    this.#recorder = recorder;
  }

  /** @throws ProtocolError `STORE_DAMAGED` if the note of the finalized height does not match its checksum */
  note(name: NoteName): Uint8Array | undefined {
    const note = this.#keyValue.get(TABLES.notes.key(name));
    if (note === undefined || name !== FINALIZED_NOTE) return note;
    const content = finalizedIn(note);
    if (content === undefined) throw this.#damage(FINALITY_CHANGED);
    return content;
  }

  noteKeys(prefix: string): readonly string[] {
    const keys = this.#keyValue.keys(TABLES.notes.range(prefix as NoteName));
    return Array.from(keys, (key) => TABLES.notes.read(key)[0]);
  }

  stateDigest(): string {
    return stateDigestOf(this.#keyValue);
  }

  undoFloor(): number | undefined {
    return this.#undo.floor();
  }

  snapshot(): StoredChain {
    assert(this.#overlay === undefined, 'a snapshot has only committed data');
    return new KeyValueChainStore(this.#keyValue.snapshot(), this.codec, this.shortListMax, this.#directory);
  }

  get indexLag(): number {
    return this.#blocks.indexes.lag;
  }

  deferIndexing(): void {
    this.#blocks.indexes.defer();
  }

  resumeIndexing(): void {
    this.#blocks.indexes.resume();
  }

  backfill(limits?: BackfillLimits): Iterable<void> {
    return this.#blocks.indexes.backfill(this.#keyValue, limits);
  }

  checkState(): StateCheck {
    return this.#checksum.check();
  }

  recordDamage(recordsMax = Infinity): string | undefined {
    const height = this.#undo.firstDamaged(recordsMax);
    if (height !== undefined) return undoChanged(height);
    const note = this.#keyValue.get(TABLES.notes.key(FINALIZED_NOTE));
    return note === undefined || finalizedIn(note) !== undefined ? undefined : FINALITY_CHANGED;
  }

  close(): Promise<void> {
    return this.#keyValue.close();
  }

  setAccount(account: Account): void {
    this.#applied().setAccount(account);
  }

  setDelegate(delegate: Delegate): void {
    this.#applied().setDelegate(delegate);
  }

  setRoundList(index: number, list: readonly PublicKey[] | undefined): void {
    this.#applied().setRoundList(index, list);
  }

  setBftState(bftState: Uint8Array): void {
    this.#applied().setBftState(bftState);
  }

  setFact(name: string, value: string): void {
    this.#applied().setFact(name, value);
  }

  append(block: Block, apply: (state: StateWriter) => void): void {
    const keys = this.#written();
    assert(this.#overlay === undefined, 'blocks are appended one after the other');
    assert(block.height === (this.#tip?.height ?? 0) + 1, 'a block is appended right above the tip');
    assert(this.#tip === undefined || block.previousBlockId === this.#tip.id, 'a block is appended to its parent');
    const overlay = new StateOverlay(this.#state);
    this.#overlay = overlay;
    apply(overlay);
    this.#overlay = undefined;

    const overwritten = this.#state.save(keys, overlay.changes());
    const header = this.#blocks.append(keys, block);
    // The genesis block is never reverted, so it has no undo record.
    if (block.height > 1) this.#undo.add(block.height, overwritten);
    if (this.#tip !== undefined) this.#headers.set(this.#tip.height, this.#tip);
    this.#tip = header;
    this.#recorder?.record(this, 'applied', block);
  }

  revert(): Block {
    const keys = this.#written();
    assert(this.#overlay === undefined, 'nothing is reverted while a block is applied');
    const tip = this.#tip;
    if (tip === undefined || tip.height === 1) {
      throw new ProtocolError('GENESIS_NOT_REVERTIBLE', {}, 'The genesis block cannot be reverted.');
    }
    const overwritten = this.#overwrittenBy(tip.height);
    if (overwritten === undefined) {
      throw new ProtocolError(
        'UNDO_RECORD_MISSING',
        { height: tip.height, blockId: tip.id },
        `Block ${tip.id} at height ${tip.height} cannot be reverted: its undo record is no longer stored.`,
      );
    }
    const block = this.#blocks.block(tip);
    this.#state.restore(keys, overwritten);
    this.#blocks.removeLast(keys, block);
    this.#undo.remove(keys, tip.height);
    const parent = this.header(tip.height - 1);
    assert(parent !== undefined, 'the parent of a block above genesis is stored');
    this.#headers.delete(tip.height);
    this.#tip = parent;
    this.#recorder?.record(this, 'reverted', block);
    return block;
  }

  forgetUndo(upToHeight: number): void {
    this.#undo.forgetUpTo(this.#written(), upToHeight);
  }

  setNote(name: NoteName, value: Uint8Array | undefined): void {
    const keys = this.#written();
    const key = TABLES.notes.key(name);
    if (value === undefined) keys.remove(key);
    else keys.put(key, name === FINALIZED_NOTE ? finalizedRecord(value) : value);
  }

  /**
   * The checksum of the state. The store reads the checksum only at its first use, because a process that reads only
   * blocks needs no checksum. In a read-only view of a store of an earlier layout, this read can be slow: if the
   * checksum is missing, the view computes the checksum from the whole state.
   */
  get #checksum(): StoredStateChecksum {
    return (this.#openedChecksum ??= new StoredStateChecksum(this.#keyValue));
  }

  /** The writer of state for the block that is being appended. */
  #applied(): StateWriter {
    assert(this.#overlay !== undefined, 'state is written while a block is appended, so that it can be reverted');
    return this.#overlay;
  }

  #written(): StateKeys {
    assert(this.#keys !== undefined, 'the chain is written inside a transaction');
    return this.#keys;
  }

  /** @throws ProtocolError `STORE_DAMAGED` for an undo record that does not match its checksum */
  #overwrittenBy(height: number): readonly Overwritten[] | undefined {
    const undo = this.#undo.read(height);
    if (undo !== 'damaged') return undo;
    throw this.#damage(undoChanged(height));
  }

  #damage(why: string): ProtocolError {
    const error = storeDamaged(this.#directory, why);
    this.#reportDamage(error);
    return error;
  }

  #lastHeader(): BlockHeader | undefined {
    const range = { ...TABLES.headers.all, reverse: true, limit: 1 };
    const [last] = this.#keyValue.entries(range);
    return last === undefined ? undefined : this.codec.decodeHeader(last.value);
  }
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/**
 * Makes backups of a chain, and makes and restores snapshots. A backup is for the operator of the node. A snapshot is
 * for operators of other nodes, too, because these operators can verify the snapshot.
 */

import { once } from 'node:events';
import { createReadStream, createWriteStream, existsSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { checkRegularFile } from '../config/bounded-file.ts';
import type { Network } from '../config/network.ts';
import { codeOf, messageOf, ProtocolError } from '../primitives/errors.ts';
import type { StoredChain } from '../store/chain/stored-chain.ts';
import { flushStore } from '../store/disk/copy.ts';
import { DATA_FILE } from '../store/disk/data-file.ts';
import { dumpStore, restoreDump } from '../store/disk/dump.ts';
import { flush, flushNames } from '../store/disk/flush.ts';
import { makeFolder } from '../store/disk/folder.ts';
import { openLmdbSnapshot } from '../store/disk/lmdb.ts';
import { FIRST_LAYOUT_READ, isLayoutRead, storedLayout } from '../store/chain/upgrade.ts';
import { LAYOUT_VERSION } from '../store/tables/layout.ts';
import { refuseChangedState } from '../store/chain/open.ts';
import {
  chainDirectory,
  openIndexedSnapshot,
  openScratchChain,
  openSnapshot,
  type ChainLocation,
} from './chain-tool.ts';
import { withTemporaryPaths } from './temporary-paths.ts';
import { systemClock } from './system.ts';
import { verifyChain } from './verify-chain.ts';
import { copyWithProgress, sizeOf, type CopyProgress } from './copy-progress.ts';

/** Describes the chain in a backup or in a snapshot. */
export interface CopiedChain {
  readonly height: number;
  readonly blockId: string;
  /** SHA-256 of all consensus state, as hexadecimal text. */
  readonly digest: string;
}

/** The JSON object in the first line of a snapshot file. */
interface Manifest extends CopiedChain {
  readonly format: 'bloomery-snapshot-1';
  readonly network: string;
  readonly nethash: string;
  readonly layout: number;
}

const FORMAT = 'bloomery-snapshot-1';
const NO_SNAPSHOT = 'it is not a snapshot: it does not begin as a snapshot does';
/** Error message of zlib if a file is not compressed. */
const NO_GZIP = 'incorrect header check';
const MANIFEST_BYTES_MAX = 4_000;
const READ_BYTES = 256 * 1024;
/**
 * Maximum size of an unpacked snapshot, as a multiple of its compressed size. A compressed chain is always larger than
 * a tenth of the unpacked chain, even if all blocks are empty, because ids and signatures cannot be compressed.
 */
const UNPACKED_TIMES_MAX = 100;
/**
 * Every unpacked snapshot is allowed to have this size in bytes, even if its file is very small. A small file can
 * contain a genesis block with many similar accounts, which compress well.
 */
const UNPACKED_BYTES_ALWAYS = 256 * 1024 * 1024;

/**
 * Copies the chain into `<folder>/<network>/chain`, where a node with the option `--data-dir <folder>` finds it. A node
 * can use the chain during the copy. The copy does not contain the signing journal. An old copy of the journal lacks
 * the newest signed headers. A node that trusts the old copy could sign headers that contradict the missing headers. On
 * a node without a journal, the delegates wait before their first signature, as `double-forging-guard.ts` describes.
 *
 * @throws ProtocolError `BACKUP_EXISTS` when the folder already has data of the network, `STORE_DAMAGED` when the copy
 *   is damaged; errors of `copyStore`, of `withTemporaryPaths` (for example `OUTPUT_IN_USE`) and of the system. After
 *   an error, no files of the unfinished copy remain
 */
export async function backUp(
  location: ChainLocation,
  folder: string,
  onProgress: (progress: CopyProgress) => void = () => undefined,
): Promise<CopiedChain> {
  const target = join(folder, basename(location.dataDirectory));
  if (existsSync(target)) {
    throw new ProtocolError('BACKUP_EXISTS', { target }, `${target} already exists: choose another folder`);
  }
  const draft = join(folder, `.${basename(target)}.part`);
  return withTemporaryPaths([draft], async () => {
    const copy = { ...location, dataDirectory: draft };
    await copyWithProgress(chainDirectory(location), chainDirectory(copy), systemClock, onProgress);
    onProgress({ step: 'checking the copy' });
    const copied = await describeWhole(copy, location);
    const facts = join(draft, 'backup.json');
    writeFileSync(facts, `${JSON.stringify({ network: location.network.name, ...copied })}\n`);
    flush(facts);
    flushNames(draft);
    renameSync(draft, target);
    flushNames(folder);
    return copied;
  });
}

/**
 * Writes the chain and its state into one compressed file. A node can use the chain during this call.
 *
 * @throws ProtocolError `SNAPSHOT_UNWRITABLE`, with the file and the reason, when the file cannot be written;
 *   `STORE_DAMAGED` when the copied chain is damaged; `OUTPUT_IN_USE` in the same case as `withTemporaryPaths`; errors
 *   of `copyStore`. After an error, no files of the unfinished snapshot remain
 */
export async function createSnapshot(
  location: ChainLocation,
  file: string,
  onProgress: (progress: CopyProgress) => void = () => undefined,
): Promise<CopiedChain> {
  // The rename at the end would replace a device such as `/dev/null`, so an existing file at this path must be a
  // regular file.
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) {
    throw new ProtocolError('SNAPSHOT_UNWRITABLE', { file }, `${file}: is not a regular file: choose another file`);
  }
  const draft = `${file}.part`;
  const copyFolder = `${file}.copy`;
  return withTemporaryPaths([draft, copyFolder], async () => {
    // The snapshot is made from a copy of the chain. The manifest and the content of the snapshot therefore belong to
    // the same moment.
    const copy = { ...location, dataDirectory: copyFolder };
    await copyWithProgress(chainDirectory(location), chainDirectory(copy), systemClock, onProgress);
    onProgress({ step: 'checking the copy' });
    const copied = await describeWhole(copy, location);
    const wholeBytes = sizeOf(join(chainDirectory(copy), DATA_FILE)) ?? 0;
    let bytes = 0;
    const { name, params } = location.network;
    const manifest: Manifest = {
      format: FORMAT,
      network: name,
      nethash: params.nethash,
      layout: await layoutOfCopy(copy),
      ...copied,
    };
    const gzip = createGzip();
    const written = pipeline(gzip, createWriteStream(draft));
    written.catch(() => undefined);
    gzip.write(`${JSON.stringify(manifest)}\n`);
    for await (const chunk of dumpStore(chainDirectory(copy))) {
      bytes += chunk.length;
      onProgress({ step: 'writing the snapshot', fraction: Math.min(1, bytes / wholeBytes) });
      if (!gzip.write(chunk)) await Promise.race([once(gzip, 'drain'), written]);
    }
    gzip.end();
    await written;
    // Without the flushes, a power cut after the command could leave an empty or an incomplete file.
    flush(draft);
    renameSync(draft, file);
    flushNames(dirname(resolve(file)));
    return copied;
  }).catch((error: unknown) => {
    if (error instanceof ProtocolError) throw error;
    throw new ProtocolError('SNAPSHOT_UNWRITABLE', { file }, `${file}: cannot be written: ${messageOf(error)}`, {
      cause: error,
    });
  });
}

export interface RestoreOptions {
  /**
   * Digest of the state at the snapshot's tip. The operator got this digest from a node that the operator trusts. If
   * this option is present, the state in the file must have this digest, and the restore does not verify the blocks.
   */
  readonly trustedDigest?: string;
  /**
   * True to trust the snapshot file, for example for a devnet. The state in the file must have the digest that the
   * manifest states, but the restore does not verify the blocks.
   */
  readonly isTrusted?: boolean;
  readonly onProgress?: (height: number, tipHeight: number) => void;
}

/**
 * Restores a snapshot, after several checks. The height, the block id and the digest of the restored chain must be
 * equal to the values in the manifest. The options determine the other checks:
 * - By default, the function verifies every block and all data that are computed from the blocks.
 * - If the options contain a trusted digest, the function does not verify the blocks. It compares the digest of the
 *   state with the trusted digest.
 * - If the options mark the file as trusted and contain no trusted digest, the function does not verify the blocks.
 *
 * If the function does not verify the blocks, it compares the state, the undo records and the finalized height with
 * their checksums.
 *
 * @param location place of the restored chain; the data folder must not contain a chain yet
 * @throws ProtocolError `SNAPSHOT_UNREADABLE` if the snapshot file does not exist; `SNAPSHOT_REFUSED` with the file and
 *   the reason, if the snapshot is invalid or the restore fails; `RESTORE_EXISTS` if the data folder contains a chain;
 *   `OUTPUT_IN_USE` in the same case as `withTemporaryPaths`; errors of `makeFolder` if the data folder cannot be
 *   created. After an error, no files of the unfinished restore remain
 */
export async function restoreSnapshot(
  file: string,
  location: ChainLocation,
  options: RestoreOptions = {},
): Promise<CopiedChain> {
  const target = chainDirectory(location);
  if (existsSync(target)) {
    throw new ProtocolError('RESTORE_EXISTS', { target }, `${target}: there is a chain already: move it away first`);
  }
  if (!existsSync(file)) {
    const why = 'there is no such file: correct its path';
    throw new ProtocolError('SNAPSHOT_UNREADABLE', { file, why }, `${file} is refused: ${why}`);
  }
  makeFolder(location.dataDirectory);
  const draft = { ...location, dataDirectory: join(location.dataDirectory, '.restore') };
  return withTemporaryPaths([draft.dataDirectory], async () => {
    const manifest = await unpack(file, draft);
    const restored = await check(draft, manifest, options);
    // `restoreDump` writes the store without flushes, so the store is flushed here before the rename.
    flushStore(chainDirectory(draft));
    renameSync(chainDirectory(draft), target);
    flushNames(location.dataDirectory);
    return restored;
  }).catch((error: unknown) => {
    if (codeOf(error) === 'OUTPUT_IN_USE') throw error;
    const why = whyRefused(error);
    throw new ProtocolError('SNAPSHOT_REFUSED', { file, why }, `${file} is refused: ${why}`, { cause: error });
  });
}

/**
 * Reads the manifest of a snapshot.
 *
 * @throws ProtocolError `SNAPSHOT_REFUSED` for a file that is not a snapshot or cannot be read
 */
export async function readSnapshotManifest(file: string): Promise<{ readonly network: string }> {
  const unpacked = createGunzip({ chunkSize: MANIFEST_BYTES_MAX });
  const source = createReadStream(file, { highWaterMark: MANIFEST_BYTES_MAX });
  const read = pipeline(source, unpacked);
  read.catch(() => undefined);
  try {
    let head = '';
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      head += chunk.toString('latin1');
      if (head.includes('\n') || head.length > MANIFEST_BYTES_MAX) break;
    }
    const { network } = parsedManifest(head.split('\n', 1)[0] ?? '');
    if (typeof network !== 'string') throw new Error('it does not name its network');
    return { network };
  } catch (error) {
    const why = whyRefused(error);
    throw new ProtocolError('SNAPSHOT_REFUSED', { file, why }, `${file} is refused: ${why}`, { cause: error });
  } finally {
    source.destroy();
    unpacked.destroy();
  }
}

function whyRefused(error: unknown): string {
  const message = messageOf(error);
  return message === NO_GZIP ? NO_SNAPSHOT : message;
}

async function unpack(file: string, draft: ChainLocation): Promise<Manifest> {
  const bytesMax = Math.max(UNPACKED_BYTES_ALWAYS, checkRegularFile(file).bytes * UNPACKED_TIMES_MAX);
  const unpacked = createGunzip({ chunkSize: READ_BYTES });
  const read = pipeline(createReadStream(file, { highWaterMark: READ_BYTES }), unpacked);
  read.catch(() => undefined);
  const chunks = bounded(unpacked as AsyncIterable<Buffer>, bytesMax)[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (!head.includes('\n')) {
    const next = await chunks.next();
    if (next.done === true || head.length > MANIFEST_BYTES_MAX) throw new Error(NO_SNAPSHOT);
    head = Buffer.concat([head, next.value]);
  }
  const end = head.indexOf('\n');
  const manifest = manifestOf(head.subarray(0, end).toString('utf8'), draft.network);
  await restoreDump(rest(head.subarray(end + 1), chunks), chainDirectory(draft));
  await read;
  return manifest;
}

/**
 * Passes on up to `bytesMax` bytes, and throws an error if there are more. Without this limit, a malicious file could
 * fill the disk.
 */
async function* bounded(chunks: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error(`it unpacks to more than ${UNPACKED_TIMES_MAX} times its size`);
    yield chunk;
  }
}

async function* rest(first: Buffer, chunks: AsyncIterator<Buffer>): AsyncIterable<Buffer> {
  if (first.length > 0) yield first;
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
}

function parsedManifest(line: string): Partial<Manifest> {
  let manifest: Partial<Manifest> | null;
  try {
    manifest = JSON.parse(line) as Partial<Manifest> | null;
  } catch {
    manifest = null;
  }
  if (manifest?.format !== FORMAT) throw new Error(NO_SNAPSHOT);
  return manifest;
}

function manifestOf(line: string, network: Pick<Network, 'name' | 'params'>): Manifest {
  const manifest = parsedManifest(line);
  if (manifest.nethash !== network.params.nethash) throw new Error(`it is of another network (${manifest.network})`);
  if (manifest.layout === undefined || !isLayoutRead(manifest.layout)) {
    const layouts = `layouts ${FIRST_LAYOUT_READ} to ${LAYOUT_VERSION}`;
    throw new Error(`its layout is ${manifest.layout}, and this version of the node reads ${layouts}`);
  }
  return manifest as Manifest;
}

/** @throws Error with a message that says what is wrong with the snapshot */
async function check(draft: ChainLocation, manifest: Manifest, options: RestoreOptions): Promise<CopiedChain> {
  const { trustedDigest = options.isTrusted === true ? manifest.digest : undefined, onProgress } = options;
  const restored = await describe(draft);
  for (const member of ['height', 'blockId', 'digest'] as const) {
    if (restored[member] !== manifest[member])
      throw new Error(`its manifest has ${member} ${manifest[member]}, but its chain has ${restored[member]}`);
  }
  if (trustedDigest !== undefined) {
    if (trustedDigest === restored.digest) return describeWhole(draft, draft);
    throw new Error(`its state has the digest ${restored.digest}, not ${trustedDigest}`);
  }
  const { store } = await openIndexedSnapshot(draft);
  try {
    const scratch = await openScratchChain(draft);
    try {
      const onHeight = (height: number): void => onProgress?.(height, restored.height);
      const { deviation } = await verifyChain({ examined: store, scratch, onProgress: onHeight });
      if (deviation !== undefined) throw new Error(deviation);
    } finally {
      await scratch.close();
    }
  } finally {
    await store.close();
  }
  return restored;
}

/**
 * Compares the state, the undo records and the finalized height of a copy with their checksums, and describes the chain
 * of the copy. Without this check, a damaged copy could later replace an intact chain.
 *
 * @param original location of the chain that was copied; the error names its folder
 * @throws ProtocolError `STORE_DAMAGED` when a checksum does not match; errors of `openSnapshot`
 */
async function describeWhole(copy: ChainLocation, original: ChainLocation): Promise<CopiedChain> {
  return describe(copy, (store) => refuseChangedState(store, chainDirectory(original)));
}

/**
 * Returns the layout of a copied store. A copy has the same layout as the original store, which can be the layout of an
 * earlier version.
 */
async function layoutOfCopy(copy: ChainLocation): Promise<number> {
  const store = openLmdbSnapshot(chainDirectory(copy));
  try {
    return Number(storedLayout(store));
  } finally {
    await store.close();
  }
}

async function describe(
  location: ChainLocation,
  check: (store: StoredChain) => void = () => undefined,
): Promise<CopiedChain> {
  const { store } = await openSnapshot(location);
  try {
    check(store);
    const tip = store.tip();
    return { height: tip?.height ?? 0, blockId: tip?.id ?? '', digest: store.stateDigest() };
  } finally {
    await store.close();
  }
}

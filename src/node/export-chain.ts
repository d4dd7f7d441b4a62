/** Writes the blocks of a store to a file, in the form that `importChain` reads. */

import { once } from 'node:events';
import { createWriteStream, renameSync, statSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { dirname, resolve } from 'node:path';
import { createGzip } from 'node:zlib';
import { assert, messageOf, ProtocolError } from '../primitives/errors.ts';
import type { ChainReader } from '../ports/store.ts';
import { lineOfBlock } from '../protocol/block/block-line.ts';
import type { Codec } from '../protocol/rules.ts';
import { flush, flushNames } from '../store/disk/flush.ts';
import { withTemporaryPaths } from './temporary-paths.ts';

/** Minimum number of characters in one write to the stream, except in the last write. */
const WRITE_CHARACTERS = 256 * 1024;

export interface ExportOptions {
  /** The chain must not change during the export. */
  readonly chain: ChainReader;
  readonly codec: Codec;
  /**
   * Height of the first block to export. `to` is the height of the last block to export. The chain must contain both
   * blocks.
   */
  readonly from: number;
  readonly to: number;
  /**
   * Path of the file, or a function that receives the text. If the path ends in `.gz`, the export compresses the
   * text. The function must throw an error when it cannot write the text.
   */
  readonly file: string | ((text: string) => void);
  readonly onProgress?: (height: number) => void;
}

/**
 * Writes the blocks from height `from` to height `to`. A regular file appears at its path only when the file is
 * complete. If the path leads to a device or a pipe, the export writes directly to this device or pipe.
 *
 * @throws ProtocolError `CHAIN_FILE_UNWRITABLE`, with the file and the reason, when the file cannot be written;
 *   `OUTPUT_IN_USE` in the same case as `withTemporaryPaths`; errors of the function that receives the text
 */
export async function exportChain(options: ExportOptions): Promise<void> {
  const { file } = options;
  if (typeof file !== 'string') {
    await writeBlocks(options, { write: (text) => Promise.resolve(file(text)) });
    return;
  }
  // The rename at the end would replace a device such as `/dev/null`. Therefore the export writes and renames a draft
  // only if the path is a regular file or does not exist.
  const isReplaced = statSync(file, { throwIfNoEntry: false })?.isFile() ?? true;
  const draft = isReplaced ? `${file}.part` : file;
  try {
    await withTemporaryPaths(isReplaced ? [draft] : [], async () => {
      const disk = createWriteStream(draft);
      const sink = new Sink(disk, file.endsWith('.gz') ? createGzip() : undefined);
      await writeBlocks(options, sink);
      await sink.end();
      if (!isReplaced) return;
      // Without the flushes, a power cut after the command could leave an empty or an incomplete file.
      flush(draft);
      renameSync(draft, file);
      flushNames(dirname(resolve(file)));
    });
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    throw new ProtocolError('CHAIN_FILE_UNWRITABLE', { file }, `${file}: cannot be written: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

async function writeBlocks({ chain, codec, from, to, onProgress }: ExportOptions, sink: TextSink): Promise<void> {
  let text = '';
  for (let height = from; height <= to; height += 1) {
    const block = chain.block(height);
    assert(block !== undefined, 'every height up to the tip has a block');
    text += `${lineOfBlock(block, codec)}\n`;
    if (text.length < WRITE_CHARACTERS && height < to) continue;
    await sink.write(text);
    text = '';
    onProgress?.(height);
  }
}

interface TextSink {
  write(text: string): Promise<void>;
}

/** Writes text to a stream, with or without compression. A write waits while the stream's buffer is full. */
class Sink implements TextSink {
  readonly #disk: Writable;
  readonly #first: Writable;
  readonly #failed: Promise<never>;

  constructor(disk: Writable, compressor?: Writable & NodeJS.ReadableStream) {
    this.#disk = disk;
    this.#first = compressor ?? disk;
    compressor?.pipe(disk);
    this.#failed = new Promise((_, reject) => {
      disk.once('error', reject);
      compressor?.once('error', reject);
    });
    this.#failed.catch(() => undefined);
  }

  async write(text: string): Promise<void> {
    if (this.#first.write(text)) return;
    await Promise.race([once(this.#first, 'drain'), this.#failed]);
  }

  async end(): Promise<void> {
    const finished = once(this.#disk, 'finish');
    this.#first.end();
    await Promise.race([finished, this.#failed]);
  }
}

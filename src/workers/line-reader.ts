/**
 * Reads lines of a chain file (a text file with one block in each line) and validates the blocks, including their
 * signatures. A worker thread of the reader does this work for each call of `read` with more than `INLINE_LINES_MAX`
 * lines. The calling thread does the work for all other calls of `read`, and for a call that no worker thread answers.
 */

import { selectEd25519 } from '../crypto/ed25519.ts';
import { packParts, unpackBlock, unpackParts } from '../protocol/block/packed-block.ts';
import type { Rules } from '../protocol/rules.ts';
import type { Block } from '../protocol/types.ts';
import { JobThreads, programBeside } from './job-threads.ts';
import { readPackedLines } from './packed-lines.ts';

export interface LineReaderOptions {
  /**
   * Number of worker threads. The threads start with the first call of `read` for more than `INLINE_LINES_MAX` lines.
   * With 0, the calling thread reads all lines.
   */
  readonly threads: number;
  readonly rules: Rules;
  /** Blocks up to this height are not validated, because the node's chain already contains these blocks. */
  readonly knownHeight: number;
}

export interface LineReader {
  /**
   * Reads some lines. The returned iterable stores each block as bytes (see `packBlock`), and unpacks the block when
   * the caller takes it. Thousands of blocks can wait in the iterable. If these blocks were unpacked, the garbage
   * collector would have to move their objects again and again.
   *
   * @returns one item for each line. The item is usually the block of the line. The reader validates the block if its
   *   height is above `knownHeight`. If the line contains no valid block, or if a JSON member of the line contradicts
   *   the block (for example, a wrong `id`), the item is the line itself, so that the caller can read the line again
   *   and report the reason. For block 1, the item is always the line, because the caller compares block 1 with the
   *   genesis block of the network. The reader keeps no reference to a line that it does not return, because a line
   *   takes three times the memory of its packed block
   */
  read(lines: readonly Buffer[]): Promise<Iterable<Block | Buffer>>;
  close(): Promise<void>;
}

/**
 * A call of `read` with at most this number of lines reads the lines on the calling thread, because starting a thread
 * would take longer than reading so few lines.
 */
const INLINE_LINES_MAX = 4;
/** Any number of lines can wait for one thread, because the caller limits the number of lines in memory. */
const WAITING_MAX = Number.POSITIVE_INFINITY;

export function createLineReader({ threads, rules, knownHeight }: LineReaderOptions): LineReader {
  const pool = new JobThreads({
    threads,
    program: programBeside(import.meta.url, 'line-worker'),
    workerData: { params: rules.params, knownHeight },
    waitingMax: WAITING_MAX,
  });
  return {
    async read(lines) {
      const isSmall = lines.length <= INLINE_LINES_MAX;
      const answer = isSmall ? undefined : await pool.ask(packParts(lines), lines.length);
      const packed = answer ?? readPackedLines(packParts(lines), rules, selectEd25519(), knownHeight);
      const blocks = unpackParts(Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength));
      const refused = blocks.map((block, index) => (block.length === 0 ? lines[index] : undefined));
      return taken(blocks, refused, rules);
    },
    close: () => pool.close(),
  };
}

function* taken(
  blocks: readonly Buffer[],
  refused: readonly (Buffer | undefined)[],
  { codec }: Rules,
): Iterable<Block | Buffer> {
  for (const [index, block] of blocks.entries()) yield refused[index] ?? unpackBlock(block, codec);
}

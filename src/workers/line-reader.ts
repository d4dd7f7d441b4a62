/** Reads lines of a chain file and validates their blocks on worker threads, signatures included. */

import { selectEd25519 } from '../crypto/ed25519.ts';
import { packParts, unpackBlock, unpackParts } from '../protocol/block/packed-block.ts';
import type { Rules } from '../protocol/rules.ts';
import type { Block } from '../protocol/types.ts';
import { JobThreads, programBeside } from './job-threads.ts';
import { readPackedLines } from './packed-lines.ts';

export interface LineReaderOptions {
  /** Worker threads, started when the first large job comes; 0 for none. */
  readonly threads: number;
  readonly rules: Rules;
  /** Blocks up to here need not be validated, as the chain has them. */
  readonly knownHeight: number;
}

export interface LineReader {
  /**
   * Reads some lines. The blocks stay packed until they are taken one by one: thousands of them wait their turn, and as
   * objects they would be moved about in memory all that time.
   *
   * @returns for each line its block, valid by itself; the line where it is refused or is block 1. Other lines are not
   *   kept, as each takes three times the room of its block.
   */
  read(lines: readonly Buffer[]): Promise<Iterable<Block | Buffer>>;
  close(): Promise<void>;
}

/** As few as this are read before a thread would have started. */
const INLINE_LINES_MAX = 4;
/** Reading is what the threads are for: a job always waits for one of them. */
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

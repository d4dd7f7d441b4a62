/** Takes the blocks of a file into a store, each verified as if a peer had sent it. */

import { availableParallelism } from 'node:os';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { messageOf, ProtocolError } from '../primitives/errors.ts';
import type { Chain } from '../engine/chain.ts';
import { BranchRejected } from '../engine/commit.ts';
import { blockOfLine, claimedId, textOfLine, type ReadBlock } from '../protocol/block/block-line.ts';
import type { Block } from '../protocol/types.ts';
import { BlockRejected } from '../protocol/verdict.ts';
import { createLineReader, type LineReader } from '../workers/line-reader.ts';
import type { ChainFile, FileLine } from './chain-file.ts';
import { foreignGenesis, foreignText, type NetworkNames } from './foreign-chain.ts';
import { backfill, backfillWhenLagging, type IndexBackfill } from './index-backfill.ts';

/**
 * Blocks that are committed together. More than a running node would: nothing else waits here, and accounts, pages and undo
 * records that many of the blocks touch are written once.
 */
export const BLOCKS_PER_COMMIT = 510;
/** Groups that are being read, wait or are applied, each after the one before. */
const GROUPS_AHEAD_MAX = 3;
/** Lines that a thread reads at once: some ten milliseconds of work where blocks are full. */
const LINES_PER_JOB = 10;

export interface ImportProgress {
  readonly height: number;
  /** Blocks taken over so far. */
  readonly blocks: number;
  /** Transactions of these. */
  readonly transactions: number;
}

export interface ImportResult extends ImportProgress {
  /** Whether blocks of the file were left, because of the signal. */
  readonly wasStopped: boolean;
}

export interface ImportOptions {
  readonly chain: Chain;
  /** Those of the chain's store, which nobody may ask meanwhile. */
  readonly indexes: IndexBackfill;
  readonly genesis: Block;
  readonly file: ChainFile;
  /** Names networks in the refusal of a file of another one. */
  readonly networks?: NetworkNames;
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Ends the import after the blocks that are being applied. */
  readonly signal?: AbortSignal;
}

/** Lines that are being read together. */
interface ReadJob {
  readonly numbers: readonly number[];
  /** For each line its block, or the line again. */
  readonly blocks: Promise<Iterable<Block | Buffer>>;
}

/** A block that follows what was taken over before. */
interface TakenBlock {
  readonly lineNumber: number;
  readonly block: Block;
}

/** What a refusal tells of the block of a line, as far as it can be read. */
interface RefusedLine {
  readonly number: number;
  readonly id: string | undefined;
  readonly height: number | undefined;
}

/**
 * Applies the file's blocks to the tip. Blocks that the chain has already are passed over, so an import that was broken off
 * goes on where it ended; a genesis block is compared with the network's.
 *
 * @returns what was taken over
 * @throws ProtocolError `IMPORT_REFUSED` naming line, height, id and reason of the first block that is refused, or
 *   `CHAIN_FILE_UNREADABLE`; blocks before that are kept
 */
export async function importChain(options: ImportOptions): Promise<ImportResult> {
  const run = new ImportRun(options);
  let wasStopped = false;
  const reading = await failureOf(async () => {
    wasStopped = await readInto(run, options);
  });
  // Whatever ended the reading: what was read is taken over, and a refusal of it comes first.
  const takingOver = await failureOf(() => run.takeRest());
  const broken = isUnreadable(reading) ? withTip(reading, run.progress.height) : reading;
  const ending = await failureOf(() => run.end());
  throwInOrder([takingOver, broken, ending]);
  return { ...run.progress, wasStopped: wasStopped || run.wasStopped };
}

/** @returns whether it was stopped before the last line */
async function readInto(run: ImportRun, { file, signal }: ImportOptions): Promise<boolean> {
  for await (const lines of file.lines()) {
    for (const line of lines) {
      if (signal?.aborted === true) return true;
      await run.take(line);
    }
  }
  return false;
}

/** Undefined when there is none. */
async function failureOf(work: () => Promise<void>): Promise<Error | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function isUnreadable(error: Error | undefined): error is ProtocolError {
  return error instanceof ProtocolError && error.code === 'CHAIN_FILE_UNREADABLE';
}

/** The failure with how far the chain came. */
function withTip({ code, data, message, cause }: ProtocolError, height: number): ProtocolError {
  return new ProtocolError(code, data, `${message}; the chain ends at height ${height}`, { cause });
}

/** Throws the first failure, with the words of those that came of something else. */
function throwInOrder(outcomes: readonly (Error | undefined)[]): void {
  const failures = outcomes.filter((outcome) => outcome !== undefined);
  const [first] = failures;
  if (first === undefined) return;
  // What ends the blocks often ends their indexes too.
  const differing = failures.filter((failure, at) => at === failures.findIndex((each) => isAlike(each, failure)));
  if (differing.length === 1 || !(first instanceof ProtocolError)) throw first;
  throw new ProtocolError(first.code, first.data, differing.map(messageOf).join('; then: '), {
    cause: new AggregateError(differing),
  });
}

function isAlike(a: Error, b: Error): boolean {
  return a instanceof ProtocolError && b instanceof ProtocolError ? a.code === b.code : a === b;
}

class ImportRun {
  readonly #chain: Chain;
  readonly #options: ImportOptions;
  readonly #reader: LineReader;
  /** The block that the next line must follow. */
  #last: { readonly id: string; readonly height: number } = { id: '', height: 0 };
  #group: FileLine[] = [];
  /** Groups under way, oldest first; each resolves when it is on the disk. */
  readonly #underWay: Promise<void>[] = [];
  #wasStopped = false;
  #blocks = 0;
  #transactions = 0;

  constructor(options: ImportOptions) {
    this.#options = options;
    this.#chain = options.chain;
    options.indexes.deferIndexing();
    this.#reader = createLineReader({
      threads: availableParallelism(),
      rules: options.chain.rules,
      knownHeight: options.chain.tip.header.height,
    });
  }

  get progress(): ImportProgress {
    return { height: this.#chain.tip.header.height, blocks: this.#blocks, transactions: this.#transactions };
  }

  async take(line: FileLine): Promise<void> {
    this.#group.push(line);
    if (this.#group.length < BLOCKS_PER_COMMIT) return;
    this.#startGroup();
    if (this.#underWay.length >= GROUPS_AHEAD_MAX) await this.#underWay.shift();
  }

  /** Resolves when everything taken is on the disk. */
  async takeRest(): Promise<void> {
    this.#startGroup();
    for (const group of this.#underWay.splice(0)) await group;
  }

  /** Whether blocks that were read already were left. */
  get wasStopped(): boolean {
    return this.#wasStopped;
  }

  /** Comes after `takeRest`: groups that follow a refused one end by themselves, and nothing is appended any more. */
  async end(): Promise<void> {
    await this.#reader.close();
    await backfill(this.#options.indexes);
  }

  #startGroup(): void {
    const group = this.#group;
    if (group.length === 0) return;
    this.#group = [];
    const jobs: ReadJob[] = [];
    for (let from = 0; from < group.length; from += LINES_PER_JOB) {
      const lines = group.slice(from, from + LINES_PER_JOB);
      const blocks = this.#reader.read(lines.map(({ bytes }) => bytes));
      jobs.push({ numbers: lines.map(({ number }) => number), blocks });
    }
    const done = this.#takeOver(jobs, this.#underWay.at(-1) ?? Promise.resolve());
    // All are heard when the group is waited for.
    for (const { blocks } of jobs) blocks.catch(() => undefined);
    done.catch(() => undefined);
    this.#underWay.push(done);
  }

  /**
   * Applies a group, or nothing of it once the import is to end.
   *
   * @param before resolves when the group below is on the disk
   */
  async #takeOver(jobs: readonly ReadJob[], before: Promise<void>): Promise<void> {
    await before;
    // Applying keeps this thread to itself: what was read meanwhile goes to the other threads first.
    await yieldToEventLoop();
    if (this.#options.signal?.aborted === true) {
      this.#wasStopped = true;
      return;
    }
    const group: TakenBlock[] = [];
    for (const job of jobs) {
      const blocks = await job.blocks;
      let index = 0;
      for (const read of blocks) {
        const lineNumber = job.numbers[index] as number;
        index += 1;
        let height = this.#expectedHeight;
        try {
          const { block, fault } = Buffer.isBuffer(read) ? this.#look(read) : { block: read, fault: undefined };
          height ??= block.height;
          if (fault !== undefined) await this.#refuseChanged(block, fault);
          this.#refuseUnlinked(block);
          if (block === read) this.#chain.validator.markValidated(block);
          if (!this.#isKnown(block)) group.push({ lineNumber, block });
          this.#last = block;
        } catch (error) {
          if (!(error instanceof BlockRejected)) throw error;
          // A block before this one may be refused too, and the first counts.
          await this.#append(group);
          if (lineNumber === 1) this.#refuseForeign(read);
          const id = Buffer.isBuffer(read) ? claimedId(textOfLine(read)) : read.id;
          throw this.#refusal({ number: lineNumber, id, height }, error);
        }
      }
    }
    await this.#append(group);
  }

  /** Reads a line that a thread made nothing of. */
  #look(line: Buffer): ReadBlock {
    return blockOfLine(textOfLine(line), this.#chain.rules.codec);
  }

  /** @throws BlockRejected for a block whose line says something else than its bytes */
  async #refuseChanged(block: Block, fault: string): Promise<never> {
    // What the rules say of a changed block tells more than that it contradicts itself.
    if (block.height > 1) await this.#chain.validator.validateDetached(block);
    throw new BlockRejected('BLOCK_MALFORMED', fault, { height: block.height });
  }

  /** @throws ProtocolError `IMPORT_REFUSED` for the first line of a chain of another network */
  #refuseForeign(first: Block | Buffer): void {
    const { genesis, file, networks } = this.#options;
    const foreign = networks && foreignGenesis(first, genesis);
    if (networks === undefined || foreign === undefined) return;
    const data = { line: 1, height: 1, blockId: foreign.id, reason: 'NETWORK_DIFFERS' };
    throw new ProtocolError('IMPORT_REFUSED', data, `${file.name} ${foreignText(foreign, networks)}`);
  }

  /** Height that the next line should have. */
  get #expectedHeight(): number | undefined {
    return this.#last.height === 0 ? undefined : this.#last.height + 1;
  }

  #refuseUnlinked(block: Block): void {
    const { genesis } = this.#options;
    const unlinked = (message: string): BlockRejected => new BlockRejected('BLOCK_PREVIOUS_INVALID', message);
    if (block.height < 1) throw unlinked('a chain begins at height 1');
    if (block.height === 1) {
      if (block.id === genesis.id && block.payloadHash === genesis.payloadHash) return;
      throw unlinked(`it is not the network's genesis block ${genesis.id}`);
    }
    const tip = this.#chain.tip.header;
    const expected = this.#expectedHeight;
    if (expected === undefined && block.height > tip.height + 1) {
      throw unlinked(`a file for this chain begins at height ${tip.height + 1} or below`);
    }
    if (expected !== undefined && block.height !== expected) throw unlinked(`it should have height ${expected}`);
    const parent = expected === undefined ? this.#chain.state.header(block.height - 1) : this.#last;
    if (block.previousBlockId !== parent?.id) throw unlinked(`it does not follow block ${parent?.id}`);
    const stored = this.#chain.state.header(block.height);
    if (stored !== undefined && stored.id !== block.id) {
      throw unlinked(`the chain has block ${stored.id} at this height`);
    }
  }

  #isKnown(block: Block): boolean {
    return block.height <= this.#chain.tip.header.height;
  }

  async #append(group: readonly TakenBlock[]): Promise<void> {
    const blocks = group.map(({ block }) => block);
    try {
      await this.#chain.append(blocks, BLOCKS_PER_COMMIT);
      await backfillWhenLagging(this.#options.indexes);
      this.#count(blocks);
    } catch (error) {
      if (!(error instanceof BranchRejected)) throw error;
      const refused = group.find(({ block }) => block === error.block);
      this.#count(blocks.slice(0, blocks.indexOf(error.block)));
      if (refused === undefined) throw error;
      const { lineNumber: number, block } = refused;
      throw this.#refusal({ number, id: block.id, height: block.height }, error.rejection);
    }
  }

  #count(blocks: readonly Block[]): void {
    this.#blocks += blocks.length;
    this.#transactions += blocks.reduce((sum, { numberOfTransactions }) => sum + numberOfTransactions, 0);
    this.#options.onProgress?.(this.progress);
  }

  #refusal({ number, id, height }: RefusedLine, rejection: BlockRejected): ProtocolError {
    const { height: tipHeight } = this.#chain.tip.header;
    const which = `block${id === undefined ? '' : ` ${id}`}${height === undefined ? '' : ` at height ${height}`}`;
    const about = `${this.#options.file.name}, line ${number}: ${which} is refused: ${rejection.message}`;
    return new ProtocolError(
      'IMPORT_REFUSED',
      { line: number, height, blockId: id, reason: rejection.code },
      `${about} (${rejection.code}); the chain ends at height ${tipHeight}`,
      { cause: rejection },
    );
  }
}

/**
 * Imports the blocks of a file into a store. The import verifies each new block in the same way as a block from a peer.
 */

import { availableParallelism } from 'node:os';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { messageOf, ProtocolError } from '../primitives/errors.ts';
import type { Chain } from '../engine/chain.ts';
import { BranchRejected } from '../engine/commit.ts';
import { blockOfLine, unverifiedId, textOfLine, type ReadBlock } from '../protocol/block/block-line.ts';
import type { Block } from '../protocol/types.ts';
import { BlockRejected, isByClock } from '../protocol/verdict.ts';
import { createLineReader, type LineReader } from '../workers/line-reader.ts';
import type { ChainFile, FileLine } from './chain-file.ts';
import { foreignGenesis, foreignText, type NetworkNames } from './foreign-chain.ts';
import { backfill, backfillWhenLagging, type IndexBackfill } from './index-backfill.ts';

/**
 * Maximum number of blocks in one commit. This maximum is larger than in a running node, because no other work waits
 * during an import. Larger commits write less. If several blocks of one commit change the same account or database
 * page, the commit writes it only once. A commit writes no undo records for blocks that are already final at the end of
 * the commit. With larger commits, more of the imported blocks are already final at the end of their commit. Larger
 * commits therefore reduce the total number of undo records that the import writes.
 */
export const BLOCKS_PER_COMMIT = 510;
/**
 * Maximum number of groups of lines in memory. A group contains the lines of `BLOCKS_PER_COMMIT` blocks. While the main
 * thread applies one group, worker threads read the next groups.
 */
const GROUPS_AHEAD_MAX = 3;
/** Number of lines in one job of a thread. With full blocks, a job takes about ten milliseconds. */
const LINES_PER_JOB = 10;
/**
 * Last part of the message about a refused block. The import adds this part if it is possible that the block was
 * refused because the clock of this machine is wrong (`isByClock`).
 */
const AHEAD =
  ": the block is ahead of this machine's clock: correct the clock, or import the file when the block's time has come";

export interface ImportProgress {
  readonly height: number;
  /** Number of blocks that this import has added to the chain. */
  readonly blocks: number;
  /** Number of transactions in the blocks that this import has added. */
  readonly transactions: number;
}

export interface ImportResult extends ImportProgress {
  /** True when `ImportOptions.signal` stopped the import before the end of the file. */
  readonly wasStopped: boolean;
}

export interface ImportOptions {
  readonly chain: Chain;
  /** Indexes of the chain's store. No other code is allowed to query the indexes while `importChain` runs. */
  readonly indexes: IndexBackfill;
  readonly genesis: Block;
  readonly file: ChainFile;
  /** Names of networks, for the error about a file with the chain of another network. */
  readonly networks?: NetworkNames;
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Stops the import after the group of blocks that the main thread is applying. */
  readonly signal?: AbortSignal;
}

/** A job of a worker thread: the lines that the thread reads together. */
interface ReadJob {
  readonly numbers: readonly number[];
  /**
   * One item for each line. Usually, the item is the block of the line. In three cases, the item is the line itself
   * (see `#look`): the line contains no valid block, a member of the line's JSON contradicts the block that was read
   * from the line (`ReadBlock.fault`), or the block has height 1. The import does not validate block 1, but compares it
   * with the genesis block of the network.
   */
  readonly blocks: Promise<Iterable<Block | Buffer>>;
}

/** A block that the chain does not have yet. Its parent is the block of the previous line, or the tip of the chain. */
interface TakenBlock {
  readonly lineNumber: number;
  readonly block: Block;
}

/** The data that could be read from a refused line, for the error message. */
interface RefusedLine {
  readonly number: number;
  readonly id: string | undefined;
  readonly height: number | undefined;
}

/**
 * Appends the blocks of the file to the chain. The import skips blocks that the chain already has, so a repeated import
 * continues where an interrupted import ended. A genesis block in the file must be the genesis block of the network.
 *
 * @returns the number of imported blocks and transactions, and the height of the chain
 * @throws ProtocolError `IMPORT_REFUSED` with line, height, id and reason of the first refused block, or
 *   `CHAIN_FILE_UNREADABLE`; errors of the store. After an error, the chain keeps the blocks that the import has
 *   already appended
 */
export async function importChain(options: ImportOptions): Promise<ImportResult> {
  const run = new ImportRun(options);
  let wasStopped = false;
  const reading = await failureOf(async () => {
    wasStopped = await readInto(run, options);
  });
  // If reading the file failed, the import still applies the blocks that it has read. If the import refuses one of
  // these blocks, the error message states first the refusal and then the failure of the reading.
  const takingOver = await failureOf(() => run.takeRest());
  const broken = isUnreadable(reading) ? withTip(reading, run.progress.height) : reading;
  const ending = await failureOf(() => run.end());
  throwInOrder([takingOver, broken, ending]);
  return { ...run.progress, wasStopped: wasStopped || run.wasStopped };
}

/**
 * Reads the lines of the file, and passes them to `run`.
 *
 * @returns true when the import was stopped before the last line
 * @throws ProtocolError `CHAIN_FILE_UNREADABLE`, also if the file is empty, because the program that wrote an empty
 *   file probably failed; errors of `run`, for example `IMPORT_REFUSED`
 */
async function readInto(run: ImportRun, { file, signal }: ImportOptions): Promise<boolean> {
  let isEmpty = true;
  for await (const lines of file.lines()) {
    for (const line of lines) {
      if (signal?.aborted === true) return true;
      await run.take(line);
      isEmpty = false;
    }
  }
  if (isEmpty && signal?.aborted === true) return true;
  if (isEmpty) throw new ProtocolError('CHAIN_FILE_UNREADABLE', { file: file.name }, `${file.name} contains no blocks`);
  return false;
}

/** Runs `work`. Returns the error if `work` fails; undefined if it succeeds. */
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

/** Returns a copy of the error, with the height of the chain added to the message. */
function withTip({ code, data, message, cause }: ProtocolError, height: number): ProtocolError {
  return new ProtocolError(code, data, `${message}; the chain ends at height ${height}`, { cause });
}

/**
 * Throws the first error in `outcomes`, if there is one. If this first error is a ProtocolError, its message also
 * contains the messages of the later errors that have a different code.
 */
function throwInOrder(outcomes: readonly (Error | undefined)[]): void {
  const failures = outcomes.filter((outcome) => outcome !== undefined);
  const [first] = failures;
  if (first === undefined) return;
  // One cause, such as a full disk, often makes both the writes of blocks and the writes of indexes fail. Therefore the
  // message contains only the first of several errors with the same code.
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
  /**
   * Block of the previous line. This block must be the parent of the block in the next line. Height 0 means that there
   * is no previous line.
   */
  #last: { readonly id: string; readonly height: number } = { id: '', height: 0 };
  #group: FileLine[] = [];
  /**
   * One promise for each group that is being processed, oldest first. A promise resolves when the group is on the disk,
   * or when the signal has stopped the import.
   */
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

  /**
   * Applies the remaining lines. Resolves when the blocks of all lines are on the disk, or when the signal has stopped
   * the import.
   */
  async takeRest(): Promise<void> {
    this.#startGroup();
    for (const group of this.#underWay.splice(0)) await group;
  }

  /**
   * True if two conditions hold: the signal stopped the import, and some of the lines that `take` received were not
   * applied.
   */
  get wasStopped(): boolean {
    return this.#wasStopped;
  }

  /**
   * Closes the reader, and writes the missing entries of the indexes. The caller must first wait for `takeRest`, so
   * that no group is being processed.
   */
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
    // `take` or `takeRest` later awaits the promise of this group. If the promise of the group rejects, or the promise
    // of one of its jobs, `take` or `takeRest` then throws the error. Until then, the empty handlers prevent Node.js
    // from treating the rejection as unhandled.
    for (const { blocks } of jobs) blocks.catch(() => undefined);
    done.catch(() => undefined);
    this.#underWay.push(done);
  }

  /**
   * Applies a group after the previous group. If the signal is aborted before the previous group is finished, the
   * method does not apply this group.
   *
   * @param before promise of the previous group (see `#underWay`)
   */
  async #takeOver(jobs: readonly ReadJob[], before: Promise<void>): Promise<void> {
    await before;
    // Applying blocks keeps this thread busy. Therefore the method first lets one iteration of the event loop run. In
    // this iteration, the import can read further lines from the file and send these lines to the worker threads. The
    // worker threads then process these lines while this thread applies the group.
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
          // The error must name the first refused block. Blocks on earlier lines of the group are not applied yet, and
          // one of them can also be refused. Therefore the import applies these blocks first.
          await this.#append(group);
          if (lineNumber === 1) this.#refuseForeign(read);
          const id = Buffer.isBuffer(read) ? unverifiedId(textOfLine(read)) : read.id;
          throw this.#refusal({ number: lineNumber, id, height }, error);
        }
      }
    }
    await this.#append(group);
  }

  /**
   * Reads a line for which the line reader returned no block. There are three possible reasons: the line has no valid
   * block, a member of the line's JSON contradicts the block that was read from the line, or the block has height 1.
   */
  #look(line: Buffer): ReadBlock {
    return blockOfLine(textOfLine(line), this.#chain.rules.codec);
  }

  /**
   * Refuses the block that was read from a line, because a member of the line's JSON contradicts this block. For
   * example, the line states an id that is not the id of the block.
   *
   * @param fault names the first member of the line that contradicts the block (see `ReadBlock`)
   * @throws BlockRejected always
   */
  async #refuseChanged(block: Block, fault: string): Promise<never> {
    // If the block also breaks a rule, the error names this rule. The name of the rule helps the user more than
    // `fault`.
    if (block.height > 1) await this.#chain.validator.validateDetached(block);
    throw new BlockRejected('BLOCK_MALFORMED', fault, { height: block.height });
  }

  /**
   * @param first block or text of the first line of the file
   * @throws ProtocolError `IMPORT_REFUSED` if the line holds the genesis block of another network
   */
  #refuseForeign(first: Block | Buffer): void {
    const { genesis, file, networks } = this.#options;
    const foreign = networks && foreignGenesis(first, genesis);
    if (networks === undefined || foreign === undefined) return;
    const data = { line: 1, height: 1, blockId: foreign.id, reason: 'NETWORK_DIFFERS' };
    throw new ProtocolError('IMPORT_REFUSED', data, `${file.name} ${foreignText(foreign, networks)}`);
  }

  /** Height that the block in the next line must have; undefined for the first line of the file. */
  get #expectedHeight(): number | undefined {
    return this.#last.height === 0 ? undefined : this.#last.height + 1;
  }

  #refuseUnlinked(block: Block): void {
    const { genesis } = this.#options;
    const unlinked = (message: string): BlockRejected => new BlockRejected('BLOCK_PREVIOUS_INVALID', message);
    if (block.height < 1) throw unlinked('a chain begins at height 1');
    const expected = this.#expectedHeight;
    if (expected !== undefined && block.height !== expected)
      throw unlinked(`the line has a block of height ${block.height} instead of ${expected}`);
    if (block.height === 1) {
      if (block.id === genesis.id && block.payloadHash === genesis.payloadHash) return;
      throw unlinked(`it is not the network's genesis block ${genesis.id}`);
    }
    const tip = this.#chain.tip.header;
    if (expected === undefined && block.height > tip.height + 1) {
      throw unlinked(`a file for this chain begins at height ${tip.height + 1} or below`);
    }
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
      `${about} (${rejection.code})${isByClock(rejection) ? AHEAD : ''}; the chain ends at height ${tipHeight}`,
      { cause: rejection },
    );
  }
}

/**
 * A chain without a node: a simulated disk, a clock that the test sets, and records of everything that the chain
 * reports.
 */

import { selectEd25519 } from '../../../src/crypto/ed25519.ts';
import { BlockImporter } from '../../../src/engine/block-importer.ts';
import { Chain } from '../../../src/engine/chain.ts';
import { openGenesis } from '../../../src/engine/genesis.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import { SILENT, type Observer } from '../../../src/ports/observer.ts';
import type { IndexUsers } from '../../../src/ports/store.ts';
import type { StoredChain } from '../../../src/store/chain/stored-chain.ts';
import { chainStoreOver } from '../../../src/store/chain/open.ts';
import { slotStartS } from '../../../src/protocol/slots.ts';
import type { Block } from '../../../src/protocol/types.ts';
import { createInlineVerifier } from '../../../src/workers/inline-verifier.ts';
import { Disk } from '../../sim/disk.ts';
import { ChainMaker, type ForgeOptions } from '../../support/chain-maker.ts';

export class LoneChain {
  readonly maker: ChainMaker;
  readonly disk: Disk;
  /** Short descriptions of the events that listeners received. */
  readonly events: string[] = [];
  /** Codes of log lines, names of metrics, and descriptions of events, in the order of their arrival. */
  readonly logged: string[] = [];
  /** Number of calls of `onProgress`. */
  progress = 0;
  store!: StoredChain;
  chain!: Chain;
  importer!: BlockImporter;
  /** Chain time in seconds. */
  nowS: number;
  /** Processes that query the indexes. If a test sets this member, the chain may defer its indexes after `reopen`. */
  indexUsers: IndexUsers | undefined;

  private constructor(maker: ChainMaker, disk: Disk) {
    this.maker = maker;
    this.disk = disk;
    this.nowS = maker.tip.timestamp;
    this.reopen();
  }

  /** A chain with the blocks that are on the disk. */
  static over(maker: ChainMaker, disk: Disk): LoneChain {
    return new LoneChain(maker, disk);
  }

  /** Makes a chain over the disk, and appends the blocks of the maker that the disk does not have yet. */
  static async with(maker: ChainMaker, disk = new Disk()): Promise<LoneChain> {
    const lone = new LoneChain(maker, disk);
    await lone.chain.append(blocksOf(maker, lone.store.tip()?.height ?? 1));
    return lone;
  }

  /** Opens the chain as a new process on the same disk does. */
  reopen(owner = { isAlive: true }): void {
    const { network, rules } = this.maker;
    this.store = chainStoreOver(this.disk.mount(owner), { codec: rules.codec, params: network.params }, 'test');
    openGenesis(this.store, rules, network.genesis);
    const clock: Clock = {
      nowMs: () => network.params.epochMs + this.nowS * 1000,
      after: (delayMs, work) => {
        const timer = setTimeout(work, delayMs);
        return { cancel: () => clearTimeout(timer) };
      },
    };
    const verifier = createInlineVerifier(selectEd25519(), 10_000);
    const observer: Observer = {
      ...SILENT,
      log: (_level, code) => this.logged.push(code),
      count: (metric, by = 1) => this.logged.push(`${metric} ${by}`),
      observe: (metric) => this.logged.push(metric),
    };
    const deferral = this.indexUsers && { indexes: this.store, users: this.indexUsers };
    const onProgress = (): void => void (this.progress += 1);
    this.chain = new Chain({ store: this.store, rules, verifier, clock, observer, deferral, onProgress });
    this.importer = new BlockImporter({ chain: this.chain, clock, observer });
    this.chain.listen({
      applied: (blocks, origin) => this.#record(`${origin} ${heightsOf(blocks)}`),
      reverted: (blocks) => this.#record(`reverted ${heightsOf(blocks)}`),
      finalized: (height) => this.#record(`finalized ${height}`),
    });
  }

  #record(event: string): void {
    this.events.push(event);
    this.logged.push(`event: ${event}`);
  }

  /** Receives a block in its slot, or the given number of slots later. */
  receive(block: Block, slotsLate = 0) {
    this.nowS = block.timestamp + slotStartS(slotsLate, this.maker.network.params);
    return this.importer.import(block);
  }
}

/** Returns a new maker with a copy of the chain that the given maker has now. */
export function forkOf(maker: ChainMaker): ChainMaker {
  const fork = new ChainMaker(maker.network);
  for (const block of blocksOf(maker, 1)) fork.apply(block);
  return fork;
}

/** Forges blocks on a chain and returns them. The options apply only to the first of these blocks. */
export function grown(maker: ChainMaker, count: number, options: ForgeOptions = {}): Block[] {
  return Array.from({ length: count }, (_, index) => maker.forge(index === 0 ? options : {}));
}

/** Returns the blocks above a height. */
export function blocksOf(maker: ChainMaker, aboveHeight: number): Block[] {
  const blocks: Block[] = [];
  for (let height = aboveHeight + 1; height <= maker.tip.height; height += 1) blocks.push(maker.state.block(height)!);
  return blocks;
}

function heightsOf(blocks: readonly Block[]): string {
  return blocks.map((block) => block.height).join(' ');
}

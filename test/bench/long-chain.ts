/**
 * Writes a long chain of full and empty blocks to files. `writeLongChain` spends most of its run time on the signatures
 * of the transactions and blocks. The memory never contains the whole chain.
 */

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { lineOfBlock } from '../../src/protocol/block/block-line.ts';
import { ownerOfSlot } from '../../src/protocol/rounds.ts';
import type { SignedHeader } from '../../src/protocol/rules.ts';
import { slotAt, slotStartS } from '../../src/protocol/slots.ts';
import type { Block, Transaction } from '../../src/protocol/types.ts';
import type { KeyPair } from '../../src/protocol/types.ts';
import {
  addressOfPair,
  ChainMaker,
  keyPairOf,
  LSK,
  makeNetwork,
  makeTransaction,
  publicKeyOf,
  type TestNetwork,
} from '../support/chain-maker.ts';
import { MemoryState } from '../support/memory-state.ts';
import { TRANSFERS_PER_BLOCK } from './chains.ts';

/**
 * Number of accounts that the genesis block funds. The number is so large that an account seldom occurs twice in a
 * block. With many more accounts, the genesis block would take a long time to make.
 */
export const ACCOUNTS = 500;
const BLOCKS_PER_WRITE = 500;
/**
 * The state in memory keeps this number of newest blocks. The rules of the chain need only two groups of headers: the
 * headers of the last round, and the headers of the BFT state. The BFT state contains at most 505 headers.
 */
const KEPT_BLOCKS = 1_000;

export interface LongChain {
  readonly network: TestNetwork;
  readonly blocks: number;
  readonly transactions: number;
}

export interface ChainPart {
  readonly file: string;
  /** Height of the last block in the file. */
  readonly height: number;
}

/**
 * Distribution of the transfers over the addresses of a chain. With `equal`, a pseudo-random function selects the
 * sender and the recipient of each transfer, and all addresses have the same probability. With `skewed`, a few
 * addresses send and receive most of the transfers, as in public networks. The r-th most active address then has a
 * share of the transfers that is about proportional to 1 / r. The distribution has no effect on a chain with only the
 * `ACCOUNTS` addresses that the genesis block funds. If a chain has more addresses, its first transfers go to all other
 * addresses in turn, one transfer to each, and the distribution has no effect on these transfers.
 */
export type Activity = 'equal' | 'skewed';

export interface LongChainOptions {
  /**
   * The files into which the chain is split, in ascending order of height. The first file starts with the genesis
   * block.
   */
  readonly parts: readonly ChainPart[];
  /** Every `fullEvery`-th block is full of transfers, and all other blocks are empty. */
  readonly fullEvery: number;
  /**
   * Number of addresses that send and receive; default: 500. The first transfers fund the addresses that the genesis
   * block does not fund.
   */
  readonly addresses?: number;
  /** Distribution of the transfers over the addresses; default: `equal`. */
  readonly activity?: Activity;
  /** `writeLongChain` calls `onBlock` for each block. `line` is the JSON line of the block in the file. */
  readonly onBlock?: (height: number, line: string) => void;
}

export async function writeLongChain(options: LongChainOptions): Promise<LongChain> {
  const { parts, fullEvery, onBlock, addresses = ACCOUNTS, activity = 'equal' } = options;
  const transfers = Math.ceil(((parts.at(-1)?.height ?? 0) * TRANSFERS_PER_BLOCK) / fullEvery);
  const draw = activity === 'equal' ? drawnEqually : drawnByRank;
  const firstAmountOf = (account: number): bigint =>
    firstAmountFor(transfers * (activity === 'equal' ? 1 / addresses : shareOf(account, addresses)));
  const accountBalance = balanceFor(firstAmountOf, addresses);
  const network = makeNetwork({ accounts: ACCOUNTS, accountBalance });
  const { rules } = new ChainMaker(network);
  const { codec } = rules;
  // The state is in memory. With a store on the disk, this function would spend half of its time on the store.
  const state = new MemoryState({ keptBlocks: KEPT_BLOCKS });
  state.append(network.genesis, (writer) => rules.applyGenesis(writer, network.genesis));
  const forger = new Forger(network, rules, addresses, { draw, firstAmountOf });
  let transactions = 0;
  let at = 0;
  for (const { file, height } of parts) {
    const output = createWriteStream(file);
    while (at < height) {
      const count = Math.min(BLOCKS_PER_WRITE, height - at);
      const blocks =
        at === 0
          ? [network.genesis]
          : Array.from({ length: count }, (_, index) => forger.next(state, (at + index) % fullEvery === 0));
      transactions += at === 0 ? 0 : blocks.reduce((sum, block) => sum + block.transactions.length, 0);
      at += blocks.length;
      const lines = blocks.map((block) => lineOfBlock(block, codec));
      for (const [index, line] of lines.entries()) onBlock?.(blocks[index]?.height ?? 0, line);
      if (!output.write(`${lines.join('\n')}\n`)) await once(output, 'drain');
    }
    output.end();
    await once(output, 'finish');
  }
  return { network, blocks: at - 1, transactions };
}

/**
 * First amount that an address receives, in beddows. The address pays the fees of its own transfers from this amount.
 * Each fee is 0.1 LSK. `transfers` is the expected number of these transfers. It is possible that the address sends
 * more transfers than expected, so the amount also contains a reserve (the term with the square root).
 */
function firstAmountFor(transfers: number): bigint {
  return (BigInt(Math.ceil(transfers + 25 * Math.sqrt(transfers) + 80)) * LSK) / 10n;
}

/**
 * Genesis balance of each funded account. The balance pays for the first amounts that the account sends to other
 * addresses, and for all later transfers of the account.
 */
function balanceFor(firstAmountOf: (account: number) => bigint, addresses: number): bigint {
  const paid = new Array<bigint>(ACCOUNTS).fill(0n);
  for (let account = ACCOUNTS; account < addresses; account += 1) {
    paid[account % ACCOUNTS] = (paid[account % ACCOUNTS] ?? 0n) + firstAmountOf(account);
  }
  const largest = paid.reduce((most, each) => (each > most ? each : most));
  return largest + firstAmountOf(0) + 10_000n * LSK;
}

interface TransferPlan {
  /** Selects one of `accounts` accounts, and returns its index. The same `number` always gives the same account. */
  readonly draw: (number: number, accounts: number) => number;
  readonly firstAmountOf: (account: number) => bigint;
}

class Forger {
  readonly #network: TestNetwork;
  readonly #rules: ChainMaker['rules'];
  readonly #keyPairs: ReadonlyMap<string, TestNetwork['funder']>;
  readonly #signed = new Map<string, SignedHeader>();
  readonly #accounts: readonly { readonly keyPair: KeyPair; readonly address: string }[];
  readonly #plan: TransferPlan;
  #transfers = 0;

  constructor(network: TestNetwork, rules: ChainMaker['rules'], addresses: number, plan: TransferPlan) {
    this.#plan = plan;
    this.#network = network;
    this.#rules = rules;
    this.#keyPairs = new Map(network.delegates.map((keyPair) => [publicKeyOf(keyPair), keyPair]));
    const others = Array.from({ length: addresses - ACCOUNTS }, (_, index) => keyPairOf(`address ${index}`));
    this.#accounts = [...network.accounts, ...others].map((keyPair) => ({ keyPair, address: addressOfPair(keyPair) }));
  }

  next(writer: MemoryState, isFull: boolean): Block {
    const tip = writer.tip();
    const { params } = this.#network;
    const slot = slotAt(tip.timestamp, params) + 1;
    const owner = ownerOfSlot(this.#rules.forgers(writer, tip.height + 1), slot, params) ?? '';
    const timestamp = slotStartS(slot, params);
    const block = this.#rules.forge(writer, tip, {
      keyPair: this.#keyPairs.get(owner)!,
      timestamp,
      transactions: isFull ? Array.from({ length: TRANSFERS_PER_BLOCK }, () => this.#transfer(timestamp)) : [],
      previouslyForged: this.#signed.get(owner),
    });
    // The block was just signed here, so its signatures need no check.
    writer.append(block, (state) => this.#rules.applyBlock(state, block, { nowS: timestamp, verify: () => true }));
    this.#signed.set(owner, { ...block, blockId: block.id });
    return block;
  }

  #transfer(timestamp: number): Transaction {
    const number = this.#transfers;
    this.#transfers += 1;
    const { draw, firstAmountOf } = this.#plan;
    const newcomer = this.#accounts[ACCOUNTS + number];
    const few = newcomer !== undefined || this.#accounts.length === ACCOUNTS;
    const sender = this.#accounts[few ? number % ACCOUNTS : draw(number * 2, this.#accounts.length)]!;
    const next = few ? (number * 7 + 3) % ACCOUNTS : draw(number * 2 + 1, this.#accounts.length);
    const recipient = newcomer ?? this.#accounts[next]!;
    const amount = newcomer === undefined ? 1000n + BigInt(number) : firstAmountOf(ACCOUNTS + number);
    const payload = { kind: 'transfer', amount, recipientId: recipient.address } as const;
    return makeTransaction(this.#network.params, sender.keyPair, payload, { timestamp });
  }
}

/**
 * Returns the index of a pseudo-random account for `number`. The same `number` always gives the same account. In a real
 * chain, an account sometimes occurs again soon. If this function returned all accounts in turn, an account would occur
 * again only after all others.
 */
function drawnEqually(number: number, accounts: number): number {
  return mixed(number) % accounts;
}

/**
 * Returns a pseudo-random account for `number`. The account with the highest index has rank 1 and occurs most often.
 * The probability of rank r is log((r + 1) / r) / log(accounts + 1).
 */
function drawnByRank(number: number, accounts: number): number {
  const rank = Math.floor((accounts + 1) ** (mixed(number) / 2 ** 32));
  return accounts - Math.min(rank, accounts);
}

/** Returns the probability with which `drawnByRank` returns the index `account`. */
export function shareOf(account: number, accounts: number): number {
  const rank = accounts - account;
  return Math.log((rank + 1) / rank) / Math.log(accounts + 1);
}

function mixed(number: number): number {
  const once = Math.imul(number ^ (number >>> 16), 0x45d9f3b);
  const twice = Math.imul(once ^ (once >>> 16), 0x45d9f3b);
  return (twice ^ (twice >>> 16)) >>> 0;
}

/**
 * Makes a large chain in little time: a valid genesis block, followed by blocks that `fillStore` writes to the store
 * without verification. The first of these blocks have no transactions, but with each of these blocks, `fillStore` adds
 * accounts to the state. The later blocks have transactions that do not change accounts. The store writes the same
 * indexes as in a node. A benchmark with this chain can measure reads, but not how fast a node applies blocks.
 */

import { addressOf } from '../../src/crypto/keys.ts';
import { hexOf } from '../../src/primitives/bytes.ts';
import { emptyAccount } from '../../src/protocol/state.ts';
import type { BlockHeader, Transaction } from '../../src/protocol/types.ts';
import { openChainStore } from '../../src/store/chain/open.ts';
import { sha256 } from '../../src/crypto/hash.ts';
import { ChainMaker, makeNetwork, publicKeyOf } from '../support/chain-maker.ts';

export interface FillOptions {
  readonly directory: string;
  readonly transactions: number;
  readonly accounts: number;
}

const PER_BLOCK = 25;
const ACCOUNTS_PER_BLOCK = 1000;
const BLOCKS_PER_COMMIT = 40;

export const benchNetwork = () => {
  const network = makeNetwork({ generation: 3, blockTimeS: 10 });
  return { network, rules: new ChainMaker(network).rules };
};

/** Public key of the account with the given number. The key is a hash, so nobody knows a private key for it. */
export function benchKey(number: number): string {
  return hexOf(sha256(Buffer.from(`account ${number}`)));
}

export async function fillStore({ directory, transactions, accounts }: FillOptions): Promise<void> {
  const { network, rules } = benchNetwork();
  const { codec } = rules;
  const store = await openChainStore({ directory, codec, params: network.params, durable: false });
  const generators = network.delegates.map(publicKeyOf);
  store.transact((writer) => writer.append(network.genesis, (state) => rules.applyGenesis(state, network.genesis)));
  const fundingBlocks = Math.ceil(accounts / ACCOUNTS_PER_BLOCK);
  const blocks = fundingBlocks + Math.ceil(transactions / PER_BLOCK);
  for (let done = 0; done < blocks; done += BLOCKS_PER_COMMIT) {
    store.transact((writer) => {
      for (let number = done; number < Math.min(blocks, done + BLOCKS_PER_COMMIT); number += 1) {
        const parent = writer.tip()!;
        const isFunding = number < fundingBlocks;
        const first = (number - fundingBlocks) * PER_BLOCK;
        const made = isFunding
          ? []
          : transactionsFrom(first, Math.min(PER_BLOCK, transactions - first), accounts, parent);
        const stored = made.map((transaction) => codec.decodeTransaction(codec.encodeTransaction(transaction)));
        const header = headerAfter(parent, generators[number % generators.length]!, stored);
        const decoded = codec.decodeHeader(codec.encodeHeader(header));
        writer.append({ ...decoded, transactions: stored }, (state) => {
          if (!isFunding) return;
          const from = number * ACCOUNTS_PER_BLOCK;
          for (let account = from; account < Math.min(accounts, from + ACCOUNTS_PER_BLOCK); account += 1) {
            const publicKey = benchKey(account);
            const balance = BigInt((account * 7919) % 1_000_003) * 1000n;
            // Every tenth account votes for the same delegate, so that one delegate has many voters.
            const votes = account % 10 === 0 ? [generators[0]!] : [];
            state.setAccount({ ...emptyAccount(addressOf(publicKey)), publicKey, balance, votes });
          }
        });
      }
    });
  }
  await store.close();
}

function transactionsFrom(first: number, count: number, accounts: number, parent: BlockHeader): Transaction[] {
  return Array.from({ length: count }, (_, index) => {
    const number = first + index;
    const senderPublicKey = benchKey((number * 31) % accounts);
    const recipientId = addressOf(benchKey((number * 17 + 5) % accounts));
    const data = number % 4 === 0 ? { data: `order ${number}` } : {};
    return {
      id: '0',
      type: 8,
      timestamp: parent.timestamp + (number % 10),
      senderPublicKey,
      senderId: addressOf(senderPublicKey),
      fee: 10_000_000n,
      payload: { kind: 'transfer', amount: BigInt((number * 6151) % 900_001), recipientId, ...data },
      signature: hexOf(sha256(Buffer.from(`signature ${number}`))).repeat(2),
      signatures: [],
    };
  });
}

function headerAfter(
  parent: BlockHeader,
  generatorPublicKey: string,
  transactions: readonly Transaction[],
): BlockHeader {
  return {
    ...parent,
    id: '0',
    height: parent.height + 1,
    timestamp: parent.timestamp + 10,
    previousBlockId: parent.id,
    numberOfTransactions: transactions.length,
    totalAmount: transactions.reduce((sum, { payload }) => sum + ('amount' in payload ? payload.amount : 0n), 0n),
    totalFee: 10_000_000n * BigInt(transactions.length),
    reward: 0n,
    generatorPublicKey,
    maxHeightPreviouslyForged: 0,
    maxHeightPrevoted: 0,
  };
}

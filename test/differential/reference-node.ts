/**
 * The code with which the reference (lisk-sdk) processes the transactions of a block. This file is a test double of the
 * package `lisk-framework`, and uses the published transaction classes. With the flag `--framework`, the real package
 * replaces the double (`reference-framework.ts`).
 */

import { sha256Hex } from '../../src/crypto/hash.ts';
import { NETWORK_IDENTIFIER } from './documents.ts';
import { PEOPLE } from './people.ts';
import { headerDoubleOf, type HeaderFacts, type JudgeHeader } from './reference-headers.ts';
import type { ReferenceNumber, ReferencePackage, ReferenceResponse, ReferenceTransaction } from './reference.ts';
import { addressOf } from '../../src/crypto/keys.ts';
import { ReferenceStore } from '../support/reference-store.ts';
import type { AccountTable } from '../support/reference-tables.ts';

/** A row of the table in which generation 2 collects the vote changes of a round. */
export interface RoundEntry {
  readonly delegatePublicKey: string;
  readonly amount: string;
}

/** Members of a header that describe the payload. */
export interface PayloadHeader {
  readonly totalAmount: ReferenceNumber;
  readonly totalFee: ReferenceNumber;
  readonly payloadHash: string;
}

/**
 * Functions of the reference (lisk-sdk) that check a block, check its transactions, and apply them. The argument
 * `table` contains the accounts as they are before the block.
 */
export interface Handlers {
  readonly judgeHeader: JudgeHeader;
  /** Checks each transaction on its own. @throws the errors of the first transaction that fails */
  verify(transactions: readonly ReferenceTransaction[], table: AccountTable): Promise<void>;
  /** Checks a single transaction and returns the verdict. */
  judge(transaction: ReferenceTransaction, table: AccountTable): Promise<ReferenceResponse>;
  /**
   * Applies the transactions to the table, in their order. @throws the errors of one failed transaction, if any
   * transaction fails
   */
  apply(transactions: readonly ReferenceTransaction[], table: AccountTable): Promise<readonly RoundEntry[]>;
  /**
   * Checks the payload as a whole. @throws Error if a transaction occurs twice, or if the payload does not match the
   * header
   */
  validatePayload(transactions: readonly ReferenceTransaction[], header: PayloadHeader): void;
}

/**
 * Current chain time that this node and the reference (lisk-sdk) assume, in seconds. A later timestamp in a case is a
 * deliberate error.
 */
export const NOW_S = 1_000_000;

/**
 * Parameters for the header checks of the reference (lisk-sdk), equal to the parameters of this node in
 * `target-headers.ts`.
 */
export const HEADER_FACTS: HeaderFacts = {
  networkIdentifier: NETWORK_IDENTIFIER,
  genesisBlockId: '1',
  nowS: NOW_S,
  blockTimeS: 2,
  reward: 500_000_000,
  transactionsMax: 25,
  payloadBytesMax: 1_048_576,
  forger: PEOPLE[0]?.publicKey ?? '',
};

export function doubleOf(reference: ReferencePackage): Handlers {
  return {
    judgeHeader: headerDoubleOf(reference, HEADER_FACTS),

    async verify(transactions, table) {
      const store = new ReferenceStore(table);
      for (const transaction of transactions) await transaction.prepare(store);
      const responses = transactions.map((transaction) => {
        store.account.createSnapshot();
        const response = transaction.apply(store);
        if (transaction.timestamp > NOW_S) {
          response.status = 0;
          response.errors = [
            ...response.errors,
            { message: 'Invalid transaction timestamp. Timestamp is in the future' },
          ];
        }
        store.account.restoreSnapshot();
        return response;
      });
      throwFirst(responses);
    },

    async judge(transaction, table) {
      const store = new ReferenceStore(table);
      await transaction.prepare(store);
      return transaction.apply(store);
    },

    async apply(transactions, table) {
      const store = new ReferenceStore(table);
      for (const transaction of transactions) await transaction.prepare(store);
      if (reference.generation === 3) await prepareVotes(store, transactions);
      const rounds: RoundEntry[] = [];
      const overspent = spendingErrors(reference, transactions, store);
      const responses = transactions
        .filter((transaction) => !overspent.some(({ id }) => id === transaction.id))
        .map((transaction) => {
          store.account.createSnapshot();
          const response = transaction.apply(store);
          if (response.status === 1) bookVotes(reference, store, transaction, rounds);
          else store.account.restoreSnapshot();
          return response;
        });
      throwFirst([...responses, ...overspent]);
      await store.account.finalize();
      return rounds;
    },

    validatePayload(transactions, { totalAmount, totalFee, payloadHash }) {
      const seen = new Set<string>();
      let amount = reference.number(0);
      let fee = reference.number(0);
      for (const transaction of transactions) {
        if (seen.has(transaction.id)) throw new Error(`Encountered duplicate transaction: ${transaction.id}`);
        seen.add(transaction.id);
        amount = amount.plus(amountOf(transaction));
        fee = fee.plus(transaction.fee);
      }
      const bytes = transactions.map((transaction) => Buffer.from(transaction.getBytes()));
      if (sha256Hex(Buffer.concat(bytes)) !== payloadHash) throw new Error('Invalid payload hash');
      if (!amount.equals(totalAmount)) throw new Error('Invalid total amount');
      if (!fee.equals(totalFee)) throw new Error('Invalid total fee');
    },
  };
}

function throwFirst(responses: readonly ReferenceResponse[]): void {
  const failed = responses.find((response) => response.status !== 1);
  if (failed !== undefined) throw failed.errors;
}

function amountOf(transaction: ReferenceTransaction): unknown {
  return transaction.amount ?? (transaction.asset.amount || 0);
}

function spendingErrors(
  reference: ReferencePackage,
  transactions: readonly ReferenceTransaction[],
  { account }: ReferenceStore,
): ReferenceResponse[] {
  const errors: ReferenceResponse[] = [];
  for (const sender of new Set(transactions.map(({ senderId }) => senderId))) {
    const own = transactions.filter(({ senderId }) => senderId === sender);
    if (own.length < 2) continue;
    const balance = reference.number(account.get(sender).balance);
    let spent = reference.number(0);
    for (const transaction of own) {
      const total = spent.plus(amountOf(transaction)).plus(transaction.fee);
      if (balance.lt(total)) {
        const message = `Account does not have enough LSK for total spending. balance: ${balance.toString()}, spending: ${total.toString()}`;
        errors.push({ id: transaction.id, status: 0, errors: [{ message }] });
      } else spent = total;
    }
  }
  return errors;
}

const isVote = ({ type }: ReferenceTransaction): boolean => type === 3 || type === 11;
const isTransfer = ({ type }: ReferenceTransaction): boolean => type === 0 || type === 8;

function recipientOf(transaction: ReferenceTransaction): string | undefined {
  if (!isVote(transaction) && !isTransfer(transaction)) return undefined;
  return transaction.amount === undefined ? transaction.asset.recipientId : transaction.recipientId;
}

async function prepareVotes({ account }: ReferenceStore, transactions: readonly ReferenceTransaction[]): Promise<void> {
  const keys = transactions.flatMap((transaction) => {
    const recipient = recipientOf(transaction);
    const people = [transaction.senderId, ...(recipient ? [recipient] : [])];
    return people.flatMap((address) => account.getOrDefault(address).votedDelegatesPublicKeys ?? []);
  });
  if (keys.length > 0) await account.cache([...new Set(keys)].map((key) => ({ address: addressOf(key) })));
}

function bookVotes(
  reference: ReferencePackage,
  { account }: ReferenceStore,
  transaction: ReferenceTransaction,
  rounds: RoundEntry[],
): void {
  const add = (delegatePublicKey: string, method: 'plus' | 'sub', amount: unknown): void => {
    if (reference.generation === 2) {
      const signed = method === 'plus' ? amount : reference.number(0).sub(amount);
      rounds.push({ delegatePublicKey, amount: String(signed) });
      return;
    }
    const row = account.get(addressOf(delegatePublicKey.toLowerCase()));
    row.voteWeight = reference.number(row.voteWeight)[method](amount).toString();
    account.set(row.address, row);
  };
  const recipient = recipientOf(transaction);
  if (recipient) {
    const moved = transaction.amount ?? transaction.asset.amount;
    for (const key of account.get(recipient).votedDelegatesPublicKeys ?? []) add(key, 'plus', moved);
  }
  const votes = isVote(transaction) ? (transaction.asset.votes ?? []) : [];
  const upvotes = votes.filter((vote) => vote.startsWith('+')).map((vote) => vote.slice(1));
  const unvotes = votes.filter((vote) => vote.startsWith('-')).map((vote) => vote.slice(1));
  const now = account.getOrDefault(transaction.senderId).votedDelegatesPublicKeys ?? [];
  const before = [...now.filter((key) => !upvotes.includes(key)), ...unvotes];
  const spent = transaction.fee.plus(amountOf(transaction));
  for (const key of before) add(key, 'sub', spent);
  const { balance } = account.get(transaction.senderId);
  for (const vote of votes) add(vote.slice(1), vote.startsWith('+') ? 'plus' : 'sub', balance);
}

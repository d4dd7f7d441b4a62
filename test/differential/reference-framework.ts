/** The framework of the reference itself, over tables in memory in place of its database. */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Generation } from '../../src/protocol/params.ts';
import { NOW_S, type Handlers, type PayloadHeader, type RoundEntry } from './reference-node.ts';
import type { AccountTable } from '../support/reference-tables.ts';
import { loadPackage, type ReferenceResponse, type ReferenceTransaction } from './reference.ts';
import type { Reference } from './targets.ts';

interface Responses {
  readonly transactionsResponses: readonly ReferenceResponse[];
}

type Run<T = Responses> = (transactions: readonly ReferenceTransaction[], store?: unknown) => Promise<T>;

interface StateStore {
  readonly account: { finalize(): Promise<unknown> };
  /** Generation 2. */
  readonly round?: { readonly data: readonly RoundEntry[] };
}

type StateStoreClass = new (storage: unknown, options?: unknown) => StateStore;

const SLOTS = { getSlotNumber: (timestamp?: number): number => timestamp ?? NOW_S };
const TRANSACTIONS_MAX = 25;
const PAYLOAD_BYTES_MAX = 1_048_576;

/** @param sdk folder of an installed package `lisk-sdk` of the generation's release */
export function loadFramework(generation: Generation, sdk: string): Reference {
  const own = createRequire(join(sdk, 'package.json'));
  const framework = createRequire(own.resolve('lisk-framework/package.json'));
  const chain = (file: string): unknown => framework(`./src/modules/chain/${file}`);
  const reference = loadPackage(generation, framework.resolve('@liskhq/lisk-transactions'));
  return { package: reference, handlers: generation === 2 ? handlers2(chain) : handlers3(chain) };
}

function handlers3(chain: (file: string) => unknown): Handlers {
  const { StateStore } = chain('blocks/state_store') as { StateStore: StateStoreClass };
  const { verifyTransactions, applyTransactions } = chain('blocks/transactions') as {
    verifyTransactions: (slots: unknown, exceptions: object) => Run;
    applyTransactions: (exceptions: object) => Run;
  };
  const { validatePayload } = chain('blocks/validate') as {
    validatePayload: (block: unknown, count: number, bytes: number) => void;
  };
  return {
    judge: judgeWith((table) => new StateStore(storageOf(table))),
    async verify(transactions, table) {
      const responses = await verifyTransactions(SLOTS, {})(transactions, new StateStore(storageOf(table)));
      throwFirst(responses);
    },
    async apply(transactions, table) {
      const store = new StateStore(storageOf(table));
      throwFirst(await applyTransactions({})(transactions, store));
      await store.account.finalize();
      return [];
    },
    validatePayload: (transactions, header) => {
      validatePayload(blockOf(transactions, header), TRANSACTIONS_MAX, PAYLOAD_BYTES_MAX);
    },
  };
}

function handlers2(chain: (file: string) => unknown): Handlers {
  const StateStore = chain('state_store') as StateStoreClass;
  const { verifyTransactions, applyTransactions } = chain('transactions') as {
    verifyTransactions: (storage: unknown, slots: unknown, exceptions: object) => Run;
    applyTransactions: (storage: unknown, exceptions: object) => Run<Responses & { readonly stateStore: StateStore }>;
  };
  const { verifyPayload } = chain('blocks/verify') as {
    verifyPayload: (block: unknown, count: number, bytes: number, result: { errors: Error[] }) => { errors: Error[] };
  };
  return {
    judge: judgeWith((table) => new StateStore(storageOf(table), { mutate: true })),
    async verify(transactions, table) {
      throwFirst(await verifyTransactions(storageOf(table), SLOTS, {})(transactions));
    },
    async apply(transactions, table) {
      const answer = await applyTransactions(storageOf(table), {})(transactions);
      throwFirst(answer);
      await answer.stateStore.account.finalize();
      return answer.stateStore.round?.data ?? [];
    },
    validatePayload: (transactions, header) => {
      const block = blockOf(transactions, header);
      const { errors } = verifyPayload(block, TRANSACTIONS_MAX, PAYLOAD_BYTES_MAX, { errors: [] });
      if (errors[0] !== undefined) throw errors[0];
    },
  };
}

function judgeWith(storeOver: (table: AccountTable) => StateStore): Handlers['judge'] {
  return async (transaction, table) => {
    const store = storeOver(table);
    await transaction.prepare(store);
    return transaction.apply(store);
  };
}

function storageOf(table: AccountTable): unknown {
  return { entities: { Account: table, Transaction: {}, ChainState: {}, Round: {} } };
}

function blockOf(transactions: readonly ReferenceTransaction[], header: PayloadHeader): unknown {
  return { ...header, transactions, numberOfTransactions: transactions.length, payloadLength: 0 };
}

function throwFirst({ transactionsResponses }: Responses): void {
  const failed = transactionsResponses.find(({ status }) => status !== 1);
  if (failed !== undefined) throw failed.errors;
}

import test from 'ava';

import type { ChainQueries } from '../../../src/ports/queries.ts';
import { emptyAccount } from '../../../src/protocol/state.ts';
import { openMemoryChainStore } from '../../../src/store/chain/open.ts';
import type { StoredChain } from '../../../src/store/chain/stored-chain.ts';
import { createQueries } from '../../../src/store/query/queries.ts';
import { ChainMaker, makeNetwork } from '../../support/chain-maker.ts';
import { keyNumber } from '../../support/fixtures.ts';

const SECOND_KEY = keyNumber(7);

/**
 * A store in which `count` accounts have the same second public key. Account `1L` has the highest balance of these
 * accounts. Each following account (`2L`, `3L`, and so on) has one beddow less than the account before.
 */
function storeWith(count: number): StoredChain {
  const { network, rules } = new ChainMaker(makeNetwork());
  const store = openMemoryChainStore({ codec: rules.codec, params: network.params });
  store.transact((writer) => {
    writer.append(network.genesis, (state) => {
      rules.applyGenesis(state, network.genesis);
      for (let number = 1; number <= count; number += 1) {
        const balance = BigInt(count - number + 1);
        state.setAccount({ ...emptyAccount(`${number}L`), balance, secondPublicKey: SECOND_KEY });
      }
    });
  });
  return store;
}

/**
 * Makes a store and calls `work` with an object that answers queries about this store. Returns the result of `work`,
 * and the number of reads of an account from the store during `work`.
 */
function counted<T>(work: (chain: ChainQueries) => T): [result: T, reads: number] {
  const store = storeWith(50);
  let reads = 0;
  const counting = new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...given: readonly unknown[]): unknown => {
        if (name === 'account') reads += 1;
        return Reflect.apply(member, target, given);
      };
    },
  });
  const chain = createQueries(counting, makeNetwork().params);
  // The first query of a store computes the ranks of all delegates, and keeps them until the tip changes.
  chain.accounts({ usernamePattern: 'genesis_1', limit: 1, offset: 0, sort: { field: 'balance', direction: 'asc' } });
  reads = 0;
  const result = work(chain);
  return [result, reads];
}

test('one of many accounts with the same second public key is found without a read of the others', (t) => {
  const [found, reads] = counted((chain) => chain.accountBy({ secondPublicKey: SECOND_KEY }));
  t.is(found?.address, '50L');
  t.is(reads, 1);
});

test('a pattern of usernames narrows the accounts that have the same second public key', (t) => {
  const query = { limit: 10, offset: 0, sort: { field: 'balance', direction: 'asc' } } as const;
  const filters = { secondPublicKey: SECOND_KEY, usernamePattern: 'genesis_1' };
  const [page, reads] = counted((chain) => chain.accounts({ ...query, ...filters }));
  t.deepEqual(page.items, []);
  t.true(reads <= 1, `${reads} accounts read`);
});

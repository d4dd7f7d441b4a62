import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import type { DelegateQuery } from '../../../src/ports/queries.ts';
import { createQueries } from '../../../src/store/query/queries.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { BACKENDS, withStore } from '../backends.ts';
import {
  address,
  build,
  byAddress,
  direction,
  letters,
  like,
  page,
  isSameByCursor,
  person,
  request,
  secondKey,
  some,
  type Value,
} from '../model.ts';
import { Dice } from '../world.ts';

const filters = some({
  address,
  publicKey: person,
  secondPublicKey: secondKey,
  username: fc.constantFrom('alice', 'zoe', 'Zoe'),
  usernamePattern: fc.constantFrom('%genesis_1%', '%o%', '%', '%b%b%'),
});

for (const backend of BACKENDS) {
  const worlds = backend === 'memory' ? 25 : 8;

  test(`${backend}: pages of delegates agree with a plain list, in both generations`, async (t) => {
    const query = fc.record({
      ...request,
      filters,
      generation: fc.constantFrom(2, 3),
      sort: fc.record({
        field: fc.constantFrom('username', 'rank', 'voteWeight', 'productivity', 'missedBlocks', 'producedBlocks'),
        direction,
      }),
    });
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.array(query, { minLength: 20, maxLength: 20 }), async (seed, queries) => {
        await withStore(backend, async (store) => {
          const { accounts } = build(store, new Dice(seed), 20);
          const ranked = [...store.delegates()].sort(
            (a, b) => Number(b.voteWeight - a.voteWeight) || (a.publicKey < b.publicKey ? -1 : 1),
          );
          for (const { filters: given, generation, ...rest } of queries) {
            const chain = createQueries(store, paramsWith({ generation: generation === 2 ? 2 : 3 }));
            const wanted = { ...given, ...rest } as DelegateQuery;
            const all = ranked.map((delegate, i) => {
              const account = accounts.find((one) => one.address === delegate.address);
              if (account === undefined) throw new Error('a delegate has an account');
              const slots = account.producedBlocks + account.missedBlocks;
              return {
                delegate,
                account,
                rank: generation === 3 ? i + 1 : delegate.rank === 0 ? null : delegate.rank,
                productivity: slots === 0 ? 0 : Math.round((account.producedBlocks * 10_000) / slots) / 100,
                approval: Number(delegate.voteWeight / 1_000_000_000_000n) / 100,
              };
            });
            const fitting = all.filter(({ delegate, account }) =>
              [
                wanted.address === undefined || delegate.address === wanted.address,
                wanted.publicKey === undefined || delegate.publicKey === wanted.publicKey,
                wanted.secondPublicKey === undefined || account.secondPublicKey === wanted.secondPublicKey,
                wanted.username === undefined || delegate.username === wanted.username,
                wanted.usernamePattern === undefined || like(wanted.usernamePattern, Buffer.from(delegate.username)),
              ].every(Boolean),
            );
            const { field } = wanted.sort;
            const value = (entry: (typeof all)[number]): Value =>
              field === 'username'
                ? letters(entry.delegate.username)
                : field === 'voteWeight'
                  ? entry.delegate.voteWeight
                  : field === 'rank' || field === 'productivity'
                    ? entry[field]
                    : entry.account[field];
            const expected = page(
              fitting,
              value,
              wanted.sort.direction,
              (a, b) => byAddress(a.account, b.account),
              wanted,
            );
            const { next: _next, ...answer } = chain.delegates(wanted);
            t.deepEqual(answer, expected);
            t.true(
              await isSameByCursor(
                wanted,
                (request) => chain.delegates({ ...wanted, ...request }),
                ({ delegate }) => delegate.publicKey,
              ),
            );
          }
        });
      }),
      { numRuns: worlds },
    );
  });
}

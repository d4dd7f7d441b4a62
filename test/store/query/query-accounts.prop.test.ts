import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import type { AccountQuery } from '../../../src/ports/queries.ts';
import type { Account } from '../../../src/protocol/state.ts';
import { BACKENDS } from '../backends.ts';
import { eachWorld } from '../made-worlds.ts';
import {
  address,
  byAddress,
  byBalance,
  direction,
  letters,
  like,
  ownerOf,
  page,
  isSameByCursor,
  person,
  request,
  secondKey,
  some,
  type Value,
} from '../model.ts';

const filters = some({
  address,
  publicKey: fc.oneof(person, fc.constant('')),
  secondPublicKey: secondKey,
  usernamePattern: fc.constantFrom('alice', 'genesis_1', 'b_ob', '___', 'Zoe', '_____'),
});

for (const backend of BACKENDS) {
  test(`${backend}: pages of accounts, voters, votes and groups agree with a plain list`, async (t) => {
    const query = fc.record({ ...request, filters, direction, person });
    await eachWorld(backend, query, async ({ accounts }, chain, queries) => {
      for (const { filters: given, direction: way, person: key, limit, offset } of queries) {
        const wanted = { ...given, limit, offset, sort: { field: 'balance', direction: way } } as AccountQuery;
        const fitting = accounts.filter((account) =>
          [
            wanted.address === undefined || account.address === wanted.address,
            wanted.publicKey === undefined || account.publicKey === wanted.publicKey,
            wanted.secondPublicKey === undefined || account.secondPublicKey === wanted.secondPublicKey,
            wanted.usernamePattern === undefined ||
              (account.username !== undefined && like(wanted.usernamePattern, Buffer.from(account.username))),
          ].every(Boolean),
        );
        const expected = page(fitting, (account) => account.balance, way, byAddress, wanted);
        const answer = chain.accounts(wanted);
        t.deepEqual({ items: answer.items.map(({ account }) => account), total: answer.total }, expected);
        t.true(
          await isSameByCursor(
            wanted,
            (request) => chain.accounts({ ...wanted, ...request }),
            ({ account }) => account.address,
          ),
        );
        for (const { account, delegate } of answer.items) t.is(delegate?.delegate.username, account.username);
        const identity = Object.fromEntries(Object.entries(given).filter(([name]) => name !== 'usernamePattern'));
        if (Object.keys(identity).length > 0) {
          const same = accounts.filter((account) =>
            Object.entries(identity).every(([name, value]) => account[name as keyof Account] === value),
          );
          const sorted = [...same].sort((a, b) => byBalance(a, b) || byAddress(a, b));
          t.deepEqual(chain.accountBy(identity), sorted[0]);
        }

        for (const field of ['publicKey', 'balance', 'username'] as const) {
          const voters = accounts.filter(({ votes }) => votes.includes(key));
          const value = (account: Account): Value =>
            field === 'username' ? letters(account.username) : account[field];
          const sort = { field, direction: way };
          const { next: _next, ...found } = await chain.voters(key, { limit, offset, sort });
          t.true(
            await isSameByCursor(
              { limit, offset },
              (request) => chain.voters(key, { ...request, sort }),
              ({ address }) => address,
            ),
          );
          t.deepEqual(found, page(voters, value, way, byAddress, { limit, offset }));
        }
        const voter = accounts.find(({ publicKey }) => publicKey === key);
        if (voter === undefined) continue;
        for (const field of ['balance', 'username'] as const) {
          const voted = voter.votes.map((vote) => ownerOf(accounts, vote));
          const value = (account: Account): Value =>
            field === 'username' ? letters(account.username) : account[field];
          const sort = { field, direction: way };
          const { next: _next, ...found } = chain.votes(voter, { limit, offset, sort });
          t.true(
            await isSameByCursor(
              { limit, offset },
              (request) => chain.votes(voter, { ...request, sort }),
              ({ address }) => address,
            ),
          );
          t.deepEqual(found, page(voted, value, way, byAddress, { limit, offset }));
        }
        const groupOf = (account: Account): unknown => ({
          account,
          members: (account.group?.members ?? [])
            .map((member) => ownerOf(accounts, member))
            .sort((a, b) => byBalance(a, b) || byAddress(a, b)),
        });
        t.deepEqual(chain.group(voter.address), voter.group === undefined ? undefined : groupOf(voter));
        t.deepEqual(
          chain.memberships(voter) as unknown,
          accounts
            .filter(({ group }) => group?.members.includes(key))
            .sort((a, b) => byBalance(a, b) || byAddress(a, b))
            .map(groupOf),
        );
      }
    });
  });
}

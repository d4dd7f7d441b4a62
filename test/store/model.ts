/**
 * Helpers for tests that compare the answers of the store with answers from plain lists. To compute an answer from a
 * list, a test filters the items of the list. The function `page` then sorts the remaining items and takes one page of
 * them.
 */

import { fc } from '../support/fast-check.ts';

import { addressOf } from '../../src/crypto/keys.ts';
import type { Cursor, Direction, Page, PageRequest } from '../../src/ports/queries.ts';
import { emptyAccount, type Account } from '../../src/protocol/state.ts';
import type { Block } from '../../src/protocol/types.ts';
import type { StoredChain } from '../../src/store/chain/stored-chain.ts';
import { keyOf, nextStep, PEOPLE, type Dice } from './world.ts';

export interface World {
  readonly store: StoredChain;
  readonly blocks: readonly Block[];
  readonly accounts: readonly Account[];
}

export const ADDRESSES = [...PEOPLE.map(addressOf), '0001L'];

/** Makes a chain of random blocks, and sometimes reverts a block. */
export function build(store: StoredChain, dice: Dice, length: number): World {
  const blocks: Block[] = [];
  for (let i = 0; i < length; i += 1) {
    store.transact((writer) => {
      if (blocks.length > 1 && dice.chance(20)) {
        writer.revert();
        blocks.pop();
      }
      const { block, apply } = nextStep(dice, writer.tip());
      writer.append(block, apply);
      blocks.push(block);
    });
  }
  const accounts = ADDRESSES.map((address) => store.account(address)).filter((account) => account !== undefined);
  return { store, blocks, accounts };
}

export type Value = bigint | number | string | null | undefined;

function isUnknown(value: Value): value is null | undefined {
  return value === null || value === undefined;
}

/**
 * Sorts items by a value, and takes one page. Unknown values count as the largest. The function `tie` orders items with
 * equal values. This order is the same in ascending and in descending lists.
 */
export function page<T>(
  items: readonly T[],
  value: (item: T) => Value,
  direction: Direction,
  tie: (a: T, b: T) => number,
  { limit, offset }: PageRequest,
): { readonly items: readonly T[]; readonly total: number } {
  const compare = (a: Value, b: Value): number => {
    if (isUnknown(a) || isUnknown(b)) return Number(isUnknown(a)) - Number(isUnknown(b));
    return a < b ? -1 : a > b ? 1 : 0;
  };
  const sign = direction === 'asc' ? 1 : -1;
  const sorted = [...items].sort((a, b) => sign * compare(value(a), value(b)) || tie(a, b));
  return { items: sorted.slice(offset, offset + limit), total: items.length };
}

/**
 * Tells whether the pages of a list, read one after another with cursors, have the same items as one query for the
 * whole list. For most requests, the function returns true without a check, because each check reads many pages.
 *
 * @param nameOf returns a unique name of an item
 */
export async function isSameByCursor<T>(
  { limit, offset }: PageRequest,
  ask: (request: PageRequest) => Page<T> | Promise<Page<T>>,
  nameOf: (item: T) => string,
): Promise<boolean> {
  if (offset % 4 !== 0) return true;
  const names: string[] = [];
  let after: Cursor | undefined;
  do {
    const found: Page<T> = await ask({ limit: limit + 2, offset: 0, ...(after === undefined ? {} : { after }) });
    names.push(...found.items.map(nameOf));
    after = found.next;
  } while (after !== undefined);
  const whole = await ask({ limit: 1000, offset: 0 });
  return names.join() === whole.items.map(nameOf).join();
}

/** Matches bytes with a pattern of SQL's LIKE, by means of a regular expression. */
export function like(pattern: string, subject: Buffer): boolean {
  const source = Array.from(Buffer.from(pattern), (byte) =>
    byte === 0x25 ? '[^]*' : byte === 0x5f ? '[^]' : `\\x${byte.toString(16).padStart(2, '0')}`,
  ).join('');
  return new RegExp(`^${source}$`).test(subject.toString('latin1'));
}

export const byAddress = (a: Account, b: Account): number =>
  a.address < b.address ? -1 : a.address > b.address ? 1 : 0;
export const byBalance = (a: Account, b: Account): number =>
  Number(a.balance > b.balance) - Number(a.balance < b.balance);
/** Returns the bytes of the name in hexadecimal. The order of such texts is the order of the bytes. */
export const letters = (name: string | undefined): string | undefined =>
  name === undefined ? undefined : Buffer.from(name).toString('hex');

export const direction = fc.constantFrom<Direction>('asc', 'desc');
export const request = { limit: fc.integer({ min: 1, max: 12 }), offset: fc.integer({ min: 0, max: 15 }) };
export const person = fc.constantFrom(...PEOPLE);
export const address = fc.constantFrom(...ADDRESSES, '7L');
export const secondKey = fc.integer({ min: 0, max: 4 }).map((i) => keyOf(`second ${i}`));

/** Limits of a store and its queries. A test draws low and high values, so that it uses every code path. */
export const size = fc.record({
  shortListMax: fc.constantFrom(1, 2, 5, 12, 256),
  atOnceMax: fc.constantFrom(0, 3, 1000),
  sortedMax: fc.constantFrom(0, 10, 1000),
});

/** Draws at most three filters at a time, because hardly any transaction matches more filters. */
export function some<T extends Record<string, unknown>>(all: {
  [K in keyof T]: fc.Arbitrary<T[K]>;
}): fc.Arbitrary<object> {
  const chosen = fc.subarray(Object.keys(all), { maxLength: 3 });
  return fc
    .tuple(chosen, fc.record(all))
    .map(([names, values]) => Object.fromEntries(names.map((n) => [n, values[n]])));
}

export const seconds = fc.integer({ min: -40, max: 300 });

/** Returns the account of a public key, or an empty account if none exists. */
export function ownerOf(accounts: readonly Account[], publicKey: string): Account {
  const address = addressOf(publicKey);
  return { ...(accounts.find((account) => account.address === address) ?? emptyAccount(address)), publicKey };
}

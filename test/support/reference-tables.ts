/**
 * Simulates the part of the reference's database that blocks use: the table of accounts, and the limits of the column
 * types. When PostgreSQL 15 ran the reference's own statements, PostgreSQL refused the same values as this module.
 */

import type { Json } from '../../src/protocol/types.ts';

/** Columns of an account that transactions read or write. */
export interface Columns {
  address: string;
  balance: string;
  publicKey: string | null;
  secondPublicKey: string | null;
  username: string | null;
  isDelegate: number | boolean;
  membersPublicKeys: readonly string[] | null;
  multiMin: number;
  multiLifetime: number;
  votedDelegatesPublicKeys: readonly string[] | null;
  voteWeight: string;
}

export type Filter = Readonly<Partial<Pick<Columns, 'address' | 'publicKey' | 'username'>>>;

const BIGINT = /^-?[0-9]+$/;
const INT64_MAX = 2n ** 63n - 1n;

/** Accounts by address. `upsert` stores copies of rows, and `get` returns copies. */
export class AccountTable {
  readonly #rows = new Map<string, Columns>();

  constructor(rows: Iterable<Columns> = []) {
    for (const row of rows) this.#rows.set(row.address, { ...row });
  }

  /** Like the reference's storage entity: returns the rows that match any of the filters. */
  readonly get = (filters: readonly Filter[]): Promise<Columns[]> =>
    Promise.resolve(
      [...this.#rows.values()]
        .filter((row) => filters.some((filter) => meets(row, filter)))
        .map((row) => structuredClone(row)),
    );

  readonly upsert = ({ address }: Filter, changes: Partial<Columns>): Promise<void> => {
    const before = this.#rows.get(address ?? '') ?? emptyRow(address ?? '');
    const row = { ...before, ...changes };
    for (const column of ['balance', 'voteWeight'] as const) requireBigint(row[column] ?? '0');
    this.#rows.set(row.address, storedRow(row));
    return Promise.resolve();
  };

  rows(): readonly Columns[] {
    return [...this.#rows.values()];
  }

  copy(): AccountTable {
    return new AccountTable(structuredClone(this.rows()));
  }
}

export function emptyRow(address: string): Columns {
  return {
    address,
    balance: '0',
    publicKey: null,
    secondPublicKey: null,
    username: null,
    isDelegate: false,
    membersPublicKeys: null,
    multiMin: 0,
    multiLifetime: 0,
    votedDelegatesPublicKeys: null,
    voteWeight: '0',
  };
}

/** Completes a row with the values of an empty account. */
export function fullRow(row: Partial<Columns> & { readonly address: string }): Columns {
  return { ...emptyRow(row.address), ...row };
}

/** The row as the database returns it. */
export function storedRow(row: Columns): Columns {
  return { ...row, publicKey: bytesText(row.publicKey), secondPublicKey: bytesText(row.secondPublicKey) };
}

/** Throws if the reference could not insert a block because a total, an integer or an asset does not fit its column. */
export function requireStorable(totals: readonly string[], integers: readonly number[], assets: readonly Json[]): void {
  for (const total of totals) requireBigint(total);
  for (const integer of integers) {
    if (integer > 2 ** 31 - 1) throw new Error(`value "${integer}" is out of range for type integer`);
  }
  for (const asset of assets) requireJsonb(asset);
}

/** The database stores public keys as bytes, so it does not keep the letter case of a key. */
function bytesText(key: string | null): string | null {
  return key === null ? null : Buffer.from(key, 'hex').toString('hex');
}

function meets(row: Columns, filter: Filter): boolean {
  return Object.entries(filter).every(([name, value]) => {
    const own = row[name as keyof Filter];
    return name === 'publicKey' ? own === bytesText(value) : own === value;
  });
}

function requireBigint(text: string): void {
  if (!BIGINT.test(text)) throw new Error(`invalid input syntax for type bigint: "${text}"`);
  const value = BigInt(text);
  if (value > INT64_MAX || value < -INT64_MAX - 1n) {
    throw new Error(`value "${text}" is out of range for type bigint`);
  }
}

/** Nesting depth that lodash can copy before the stack of the reference's runtime overflows. */
const LEVELS_MAX = 1_870;

function requireJsonb(value: Json, level = 0): void {
  if (level > LEVELS_MAX) throw new Error('Maximum call stack size exceeded');
  if (typeof value === 'string') requireText(value);
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    requireText(name);
    requireJsonb(member as Json, level + 1);
  }
}

function requireText(text: string): void {
  if (text.includes('\0')) throw new Error('unsupported Unicode escape sequence');
  if (Buffer.from(text, 'utf8').toString('utf8') !== text) throw new Error('invalid input syntax for type json');
}

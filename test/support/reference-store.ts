/**
 * An account store for the transaction code of the reference, which reads and changes accounts through this store. The
 * module also converts the accounts of Bloomery to rows of this store, and rows to a form that tests compare.
 */

import type { Account } from '../../src/protocol/state.ts';
import { emptyRow, type AccountTable, type Columns, type Filter } from './reference-tables.ts';

/**
 * Loads rows of a table into memory, and writes the changed rows back. `restoreSnapshot` undoes the changes that the
 * rows in memory have got since `createSnapshot`.
 */
class AccountStore {
  #rows: Columns[];
  #changed = new Set<string>();
  #snapshot: { readonly rows: Columns[]; readonly changed: Set<string> } | undefined;
  readonly #table: AccountTable;

  constructor(table: AccountTable, loaded: readonly Columns[]) {
    this.#table = table;
    this.#rows = structuredClone([...loaded]);
  }

  async cache(filters: readonly Filter[]): Promise<void> {
    for (const row of await this.#table.get(filters)) {
      if (!this.#rows.some(({ address }) => address === row.address)) this.#rows.push(row);
    }
  }

  createSnapshot(): void {
    this.#snapshot = { rows: structuredClone(this.#rows), changed: new Set(this.#changed) };
  }

  restoreSnapshot(): void {
    if (this.#snapshot === undefined) return;
    this.#rows = this.#snapshot.rows;
    this.#changed = this.#snapshot.changed;
  }

  get(address: string): Columns {
    const row = this.find((each) => each.address === address);
    if (row === undefined) throw new Error(`Account with address = ${address} does not exist`);
    return structuredClone(row);
  }

  getOrDefault(address: string): Columns {
    const row = this.find((each) => each.address === address);
    if (row !== undefined) return row;
    this.#rows.push(emptyRow(address));
    this.#changed.add(address);
    return emptyRow(address);
  }

  find(matches: (row: Columns) => boolean): Columns | undefined {
    return this.#rows.find(matches);
  }

  set(address: string, row: Columns): void {
    const index = this.#rows.findIndex((each) => each.address === address);
    if (index < 0) throw new Error(`Account with address = ${address} does not exist`);
    this.#rows[index] = row;
    this.#changed.add(address);
  }

  rows(): readonly Columns[] {
    return this.#rows;
  }

  async finalize(): Promise<void> {
    for (const row of this.#rows)
      if (this.#changed.has(row.address)) await this.#table.upsert({ address: row.address }, row);
  }
}

export class ReferenceStore {
  readonly account: AccountStore;

  /** @param loaded rows that the store contains from the start */
  constructor(table: AccountTable, loaded: readonly Columns[] = []) {
    this.account = new AccountStore(table, loaded);
  }
}

/**
 * Converts an account of Bloomery to a row of the table of accounts in the reference (lisk-sdk). The column
 * `voteWeight` stays 0, because an `Account` does not contain the vote weight of a delegate.
 */
export function rowOf({ address, balance, publicKey, secondPublicKey, username, group, votes }: Account): Columns {
  return {
    ...emptyRow(address),
    balance: balance.toString(),
    publicKey: publicKey ?? null,
    secondPublicKey: secondPublicKey ?? null,
    username: username ?? null,
    isDelegate: username === undefined ? 0 : 1,
    membersPublicKeys: group?.members ?? null,
    multiMin: group?.min ?? 0,
    multiLifetime: group?.lifetime ?? 0,
    votedDelegatesPublicKeys: votes.length === 0 ? null : votes,
  };
}

/**
 * Returns those columns of a row that tests compare. Rows of the reference (lisk-sdk) and rows from `rowOf` get the
 * same form: a missing list becomes an empty list, and the public keys of group members are in lower case. The vote
 * weight of a delegate (`voteWeight`) is left out.
 */
export function comparableRow(row: Columns) {
  const { address, balance, publicKey, secondPublicKey, username } = row;
  return {
    address,
    balance,
    publicKey,
    secondPublicKey,
    username,
    members: (row.membersPublicKeys ?? []).map((key) => key.toLowerCase()),
    min: row.multiMin,
    lifetime: row.multiLifetime,
    votes: row.votedDelegatesPublicKeys ?? [],
  };
}

interface Known {
  readonly address: string;
  readonly balance: string;
  readonly publicKey: string | null;
}

/** Returns accounts by address, in ascending order of the addresses. Omits accounts with neither balance nor key. */
export function byAddress<T extends Known>(accounts: readonly T[]): Record<string, T> {
  const known = accounts.filter(({ balance, publicKey }) => balance !== '0' || publicKey !== null);
  return Object.fromEntries(known.sort((a, b) => (a.address < b.address ? -1 : 1)).map((each) => [each.address, each]));
}

/** The account store that the reference package's transactions apply themselves to, filled from a state of ours. */

import type { StateOverlay } from '../../src/protocol/state.ts';
import type { Account } from '../../src/protocol/state.ts';
import type { MemoryState } from './memory-state.ts';

/** Columns of the reference, as far as transactions read or write them. */
interface Columns {
  readonly address: string;
  readonly balance: string;
  readonly publicKey?: string | null;
  readonly secondPublicKey?: string | null;
  readonly username?: string | null;
  readonly isDelegate?: number;
  readonly membersPublicKeys?: readonly string[] | null;
  readonly multiMin?: number;
  readonly multiLifetime?: number;
  readonly votedDelegatesPublicKeys?: readonly string[] | null;
}

function columnsOf({ address, balance, publicKey, secondPublicKey, username, group, votes }: Account): Columns {
  return {
    address,
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

export class ReferenceStore {
  readonly #accounts = new Map<string, Columns>();

  readonly account = {
    cache: (): Promise<readonly never[]> => Promise.resolve([]),
    get: (address: string): Columns => {
      const account = this.#accounts.get(address);
      if (account === undefined) throw new Error(`no account ${address}`);
      return account;
    },
    getOrDefault: (address: string): Columns => this.#accounts.get(address) ?? { address, balance: '0' },
    find: (matches: (account: Columns) => boolean): Columns | undefined => [...this.#accounts.values()].find(matches),
    set: (address: string, account: Columns): void => {
      this.#accounts.set(address, account);
    },
  };

  constructor(state: MemoryState) {
    for (const account of state.accounts()) this.#accounts.set(account.address, columnsOf(account));
  }

  /** Every account, with our names, in the order of the addresses. */
  accounts(): unknown[] {
    return sorted(
      [...this.#accounts.values()].map((columns) => ({
        address: columns.address,
        balance: columns.balance,
        publicKey: columns.publicKey ?? null,
        secondPublicKey: columns.secondPublicKey ?? null,
        username: columns.username ?? null,
        members: columns.membersPublicKeys ?? [],
        min: columns.multiMin ?? 0,
        lifetime: columns.multiLifetime ?? 0,
        votes: columns.votedDelegatesPublicKeys ?? [],
      })),
    );
  }
}

/** Every account of a state and of the writes on top of it, comparable to `ReferenceStore.accounts`. */
export function comparableAccounts(below: MemoryState, overlay: StateOverlay): unknown[] {
  const accounts = new Map([...below.accounts()].map((account) => [account.address, account]));
  for (const [address, account] of overlay.changes().accounts) accounts.set(address, account);
  return sorted(
    [...accounts.values()].map((account) => ({
      address: account.address,
      balance: account.balance.toString(),
      publicKey: account.publicKey ?? null,
      secondPublicKey: account.secondPublicKey ?? null,
      username: account.username ?? null,
      members: account.group?.members ?? [],
      min: account.group?.min ?? 0,
      lifetime: account.group?.lifetime ?? 0,
      votes: account.votes,
    })),
  );
}

function sorted<T extends { readonly address: string }>(accounts: T[]): T[] {
  return accounts.sort((a, b) => (a.address < b.address ? -1 : 1));
}

/**
 * Caches accounts in memory: the most recently used accounts, and all accounts with unsaved changes. A change is
 * unsaved until `takeChanged` returns the changed account. The caller of `takeChanged` writes this account into the
 * tables of the store.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { Account } from '../../protocol/state.ts';
import type { Address } from '../../protocol/types.ts';
import { sameTexts } from '../index/indexes.ts';
import type { OverwrittenAccount } from './undo.ts';

/**
 * Maximum number of cached accounts with votes. An account with the maximum number of votes takes up to 8 KB, so these
 * accounts take at most 16 MB of memory.
 */
export const VOTERS_CACHED_MAX = 2048;
/**
 * Maximum number of cached accounts without votes. An account without votes takes up to 700 bytes. A large commit of an
 * import reads or changes about this number of accounts.
 */
export const ACCOUNTS_CACHED_MAX = 32_768;

/** An account with its current value and its value in the tables. */
interface HeldAccount {
  value: Account;
  /**
   * Value in the tables; undefined for a new account. This member is used only while the account has unsaved changes.
   */
  stored: Account | undefined;
  isUnsaved: boolean;
}

/** An account that changed since the last call of `takeChanged`. */
export interface ChangedAccount {
  readonly value: Account;
  /** Value in the tables; undefined for a new account. */
  readonly stored: Account | undefined;
}

export class AccountCache {
  // Accounts with votes are large. The maximum number of cached accounts is therefore lower for accounts with votes
  // than for accounts without votes.
  readonly #voters = new LruMap<Address, HeldAccount>(VOTERS_CACHED_MAX);
  readonly #others = new LruMap<Address, HeldAccount>(ACCOUNTS_CACHED_MAX);
  readonly #unsaved = new Map<Address, HeldAccount>();

  readonly #read: (address: Address) => Account | undefined;

  /**
   * @param read reads an account from the tables
   */
  constructor(read: (address: Address) => Account | undefined) {
    this.#read = read;
  }

  get(address: Address): Account | undefined {
    return this.#held(address)?.value;
  }

  /**
   * Sets the value of an account.
   *
   * @returns the address and the overwritten value; undefined if the new value is equal to the old one
   */
  change(account: Account): OverwrittenAccount | undefined {
    const { address } = account;
    const held = this.#held(address);
    if (held === undefined) {
      const added = { value: account, stored: undefined, isUnsaved: true };
      this.#unsaved.set(address, added);
      this.#cache(address, added);
      return { address, before: undefined };
    }
    const before = held.value;
    if (before === account || sameAccounts(before, account)) return undefined;
    held.value = account;
    if (isVoter(before) !== isVoter(account)) this.#cache(address, held);
    if (!held.isUnsaved) {
      held.stored = before;
      held.isUnsaved = true;
      this.#unsaved.set(address, held);
    }
    return { address, before };
  }

  /**
   * Returns the accounts that changed since the last call of this method. After this call, the cache treats these
   * accounts as saved, so the caller must write these accounts into the tables.
   */
  takeChanged(): readonly (readonly [Address, ChangedAccount])[] {
    const changed = Array.from(this.#unsaved, ([address, held]) => {
      const { value, stored } = held;
      held.stored = value;
      held.isUnsaved = false;
      return [address, { value, stored }] as const;
    });
    this.#unsaved.clear();
    return changed;
  }

  delete(address: Address): void {
    this.#voters.delete(address);
    this.#others.delete(address);
  }

  clear(): void {
    this.#voters.clear();
    this.#others.clear();
    this.#unsaved.clear();
  }

  #held(address: Address): HeldAccount | undefined {
    const cached = this.#others.get(address) ?? this.#voters.get(address);
    if (cached !== undefined) return cached;
    const held = this.#unsaved.get(address) ?? this.#stored(address);
    if (held !== undefined) this.#cache(address, held);
    return held;
  }

  #stored(address: Address): HeldAccount | undefined {
    const stored = this.#read(address);
    return stored && { value: stored, stored, isUnsaved: false };
  }

  #cache(address: Address, held: HeldAccount): void {
    const votes = isVoter(held.value);
    (votes ? this.#voters : this.#others).set(address, held);
    (votes ? this.#others : this.#voters).delete(address);
  }
}

function isVoter(account: Account): boolean {
  return account.votes.length > 0;
}

/** True if two values of one account are equal. */
function sameAccounts(a: Account, b: Account): boolean {
  return (
    a.balance === b.balance &&
    a.publicKey === b.publicKey &&
    a.secondPublicKey === b.secondPublicKey &&
    a.username === b.username &&
    a.producedBlocks === b.producedBlocks &&
    a.missedBlocks === b.missedBlocks &&
    a.forgedFees === b.forgedFees &&
    a.forgedRewards === b.forgedRewards &&
    a.group?.min === b.group?.min &&
    a.group?.lifetime === b.group?.lifetime &&
    sameTexts(a.group?.members ?? [], b.group?.members ?? []) &&
    sameTexts(a.votes, b.votes)
  );
}

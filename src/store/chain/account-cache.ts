/** Accounts in memory: those lately used, and all that the running transaction changed. */

import { LruMap } from '../../primitives/bounded.ts';
import type { Account } from '../../protocol/state.ts';
import type { Address } from '../../protocol/types.ts';
import { sameTexts } from '../index/indexes.ts';
import type { OverwrittenAccount } from './undo.ts';

/** Accounts that vote in memory. One with all its votes takes about 10 KB, so this is 20 MB at worst. */
export const VOTERS_CACHED_MAX = 2048;
/** Other accounts, about 600 bytes each: as many as a large commit of an import touches. */
export const ACCOUNTS_CACHED_MAX = 32_768;

/** An account as it is now and as it stands in the tables. */
interface HeldAccount {
  value: Account;
  /** Undefined when it does not stand there; of use only while the account is unsaved. */
  stored: Account | undefined;
  isUnsaved: boolean;
}

/** An account that a transaction changed. */
export interface ChangedAccount {
  readonly value: Account;
  /** As it stands in the tables; undefined when it does not. */
  readonly stored: Account | undefined;
}

export class AccountCache {
  // Of those with votes, which are large, fewer than of the others.
  readonly #voters = new LruMap<Address, HeldAccount>(VOTERS_CACHED_MAX);
  readonly #others = new LruMap<Address, HeldAccount>(ACCOUNTS_CACHED_MAX);
  readonly #unsaved = new Map<Address, HeldAccount>();

  readonly #read: (address: Address) => Account | undefined;

  /** @param read an account as it stands in the tables */
  constructor(read: (address: Address) => Account | undefined) {
    this.#read = read;
  }

  get(address: Address): Account | undefined {
    return this.#held(address)?.value;
  }

  /** Makes an account another one. @returns what that overwrites; undefined when it says the same as before */
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

  /** What was changed since this was asked before; from now on it counts as what the tables have. */
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

/** True for accounts of one address that say the same. */
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

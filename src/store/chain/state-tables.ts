/**
 * Stores the consensus state in tables, with indexes and a cache of decoded values. During a database transaction,
 * changed accounts, changed delegates and the BFT state stay in memory until `write`. Reads of these values therefore
 * look in memory first. A call of `write` writes each of these values only once, even if many blocks changed the value.
 * All other changes are written immediately by `save`: votes, new delegates, usernames, round lists, and facts (values
 * with a name that are not part of an account).
 */

import { createHash } from 'node:crypto';

import { bufferOf } from '../../primitives/bytes.ts';
import { LruMap } from '../../primitives/bounded.ts';
import type { Account, Delegate, StateChanges, StateReader } from '../../protocol/state.ts';
import type { Address, BlockHeader, PublicKey, TransactionId } from '../../protocol/types.ts';
import { AccountCache } from './account-cache.ts';
import { accountEntryChanges, sameTexts } from '../index/indexes.ts';
import type { StateKeys } from './stored-checksum.ts';
import { compareKeys, KeyBlock } from '../index/key-block.ts';
import type { KeyValueReader, KeyValueWriter } from '../tables/key-value.ts';
import { META_ACCOUNTS, STATE_TABLES, TABLES } from '../tables/layout.ts';
import { EMPTY, isU32 } from '../tables/ordered-bytes.ts';
import {
  decodeAccount,
  decodeDelegate,
  decodeKeys,
  encodeAccount,
  encodeDelegate,
  encodeKeys,
} from '../tables/records.ts';
import type { Overwritten, OverwrittenAccount, OverwrittenDelegate, OverwrittenValues } from './undo.ts';

/** Maximum number of cached delegates. A delegate takes about 500 bytes. */
export const DELEGATES_CACHED_MAX = 4096;
/**
 * Maximum number of cached round lists. After the genesis block and after each round, the node stores a round list: the
 * delegates with the highest vote weights at this time (see `StateReader.roundList`). The state keeps only the newest
 * round lists. In generation 2, the state has at most two round lists. In generation 3, the number depends on
 * `delegateListRoundOffset`, the number of rounds between storing a list and forging with the list. If this parameter
 * is 4 or less, the state has at most eight round lists. If the parameter is greater, the node needs each list for a
 * longer time, so the state has more lists.
 */
const ROUND_LISTS_CACHED_MAX = 8;

const PUBLIC_KEY_TEXT = /^[0-9a-f]{64}$/;

/** Reads the headers and the transaction ids of the chain that produced the state. */
export type StateBlocks = Pick<StateReader, 'header' | 'hasTransaction'>;

export class StateTables implements StateReader {
  readonly #keys: KeyValueReader;
  readonly #blocks: StateBlocks;
  readonly #accounts = new AccountCache((address) => this.#storedAccount(address));
  readonly #delegates = new LruMap<PublicKey, Delegate>(DELEGATES_CACHED_MAX);
  /**
   * The changed delegates that `write` has not written yet. New delegates do not wait for `write`, so that a walk over
   * the table finds all delegates.
   */
  readonly #unsavedDelegates = new Map<PublicKey, Delegate>();
  readonly #roundLists = new LruMap<number, readonly PublicKey[]>(ROUND_LISTS_CACHED_MAX);
  #bftState: Uint8Array | undefined;
  #isBftStateSaved = true;

  constructor(keys: KeyValueReader, blocks: StateBlocks) {
    this.#keys = keys;
    this.#blocks = blocks;
    this.#bftState = keys.get(TABLES.bftState.key());
  }

  account(address: Address): Account | undefined {
    return this.#accounts.get(address);
  }

  delegate(publicKey: PublicKey): Delegate | undefined {
    const known = this.#unsavedDelegates.get(publicKey) ?? this.#delegates.get(publicKey);
    if (known !== undefined) return known;
    if (!PUBLIC_KEY_TEXT.test(publicKey)) return undefined;
    const bytes = this.#keys.get(TABLES.delegates.key(publicKey));
    if (bytes === undefined) return undefined;
    const delegate = decodeDelegate(publicKey, bytes);
    this.#delegates.set(publicKey, delegate);
    return delegate;
  }

  delegateKeyByUsername(username: string): PublicKey | undefined {
    return this.#keys.get(TABLES.usernames.key(username))?.toString('hex');
  }

  *delegates(): Iterable<Delegate> {
    for (const { key, value } of this.#keys.entries(TABLES.delegates.all)) {
      const [publicKey] = TABLES.delegates.read(key);
      const known = this.#unsavedDelegates.get(publicKey) ?? this.#delegates.get(publicKey);
      yield known ?? decodeDelegate(publicKey, value);
    }
  }

  roundList(index: number): readonly PublicKey[] | undefined {
    const cached = this.#roundLists.get(index);
    if (cached !== undefined) return cached;
    const bytes = isU32(index) ? this.#keys.get(TABLES.roundLists.key(index)) : undefined;
    if (bytes === undefined) return undefined;
    const list = decodeKeys(bytes);
    this.#roundLists.set(index, list);
    return list;
  }

  bftState(): Uint8Array | undefined {
    return this.#bftState;
  }

  fact(name: string): string | undefined {
    return this.#keys.get(TABLES.facts.key(name))?.toString('utf8');
  }

  header(height: number): BlockHeader | undefined {
    return this.#blocks.header(height);
  }

  hasTransaction(id: TransactionId): boolean {
    return this.#blocks.hasTransaction(id);
  }

  /**
   * Drops the cached values after a failed database transaction, and restores the BFT state to its value before the
   * transaction.
   */
  rollback(bftState: Uint8Array | undefined): void {
    this.#accounts.clear();
    this.#delegates.clear();
    this.#roundLists.clear();
    this.#unsavedDelegates.clear();
    this.#bftState = bftState;
    this.#isBftStateSaved = true;
  }

  /**
   * Stores the changes of a block, and returns the overwritten values. Changes of accounts (except votes), of existing
   * delegates and of the BFT state stay in memory until `write`. All other changes are written to the tables
   * immediately.
   */
  save(keys: KeyValueWriter, changes: StateChanges): OverwrittenValues {
    const accounts: OverwrittenAccount[] = [];
    const delegates: OverwrittenDelegate[] = [];
    const overwritten: Overwritten[] = [];
    for (const account of changes.accounts.values()) this.#saveAccount(keys, account, accounts, overwritten);
    for (const delegate of changes.delegates.values()) this.#saveDelegate(keys, delegate, delegates);
    for (const [index, list] of changes.roundLists) {
      const key = TABLES.roundLists.key(index);
      put(keys, key, list === undefined ? undefined : encodeKeys(list), overwritten);
      if (list === undefined) this.#roundLists.delete(index);
      else this.#roundLists.set(index, list);
    }
    for (const [name, value] of changes.facts)
      put(keys, TABLES.facts.key(name), Buffer.from(value, 'utf8'), overwritten);
    const { bftState } = changes;
    if (bftState !== undefined && bftState !== this.#bftState) {
      overwritten.push({
        key: TABLES.bftState.key(),
        before: this.#bftState === undefined ? undefined : bufferOf(this.#bftState),
      });
      this.#bftState = bftState;
      this.#isBftStateSaved = false;
    }
    return { accounts, delegates, others: overwritten };
  }

  /**
   * Writes the changes that wait in memory, and updates the index entries of the changed accounts. The store calls this
   * method at the end of a database transaction. When the store reverts a block, `restore` calls this method first.
   */
  write(keys: StateKeys): void {
    let newAccounts = 0;
    const balances: Buffer[] = [];
    for (const [address, { value, stored }] of this.#accounts.takeChanged()) {
      keys.replace(TABLES.accounts.key(address), stored && encodeAccount(stored), encodeAccount(value));
      const { removed, added } = accountEntryChanges(stored, value);
      for (const key of removed) keys.remove(key, true);
      for (const key of added) {
        if (key[0] === TABLES.accountsByBalance.number) balances.push(key);
        else keys.put(key, EMPTY, true);
      }
      if (stored === undefined) newAccounts += 1;
    }
    keys.putSorted(KeyBlock.from(balances.sort(compareKeys)));
    addToAccountTotal(keys, newAccounts);
    for (const [publicKey, delegate] of this.#unsavedDelegates) {
      keys.put(TABLES.delegates.key(publicKey), encodeDelegate(delegate));
    }
    this.#unsavedDelegates.clear();
    if (!this.#isBftStateSaved && this.#bftState !== undefined)
      keys.put(TABLES.bftState.key(), bufferOf(this.#bftState));
    this.#isBftStateSaved = true;
  }

  /**
   * Writes the earlier values from an undo record back to the tables, and updates the account indexes and the
   * usernames.
   */
  restore(keys: StateKeys, overwritten: readonly Overwritten[]): void {
    this.write(keys);
    const accounts = new Map<Address, Account | undefined>();
    for (const { key } of overwritten) {
      const table = [TABLES.accounts, TABLES.votes].find(({ number }) => number === key[0]);
      if (table === undefined) continue;
      const [address] = table.read(key);
      accounts.set(address, this.account(address));
    }
    for (const { key, before } of overwritten) {
      if (key[0] === TABLES.delegates.number) this.#restoreDelegate(keys, key, before);
      if (key[0] === TABLES.roundLists.number) this.#roundLists.delete(TABLES.roundLists.read(key)[0]);
      if (key[0] === TABLES.bftState.number) this.#bftState = before === undefined ? undefined : Buffer.from(before);
      if (before === undefined) keys.remove(key);
      else keys.put(key, before);
    }
    let removedAccounts = 0;
    for (const [address, after] of accounts) {
      this.#accounts.delete(address);
      const before = this.account(address);
      writeAccountEntries(keys, after, before);
      if (before === undefined) removedAccounts += 1;
    }
    addToAccountTotal(keys, -removedAccounts);
  }

  #storedAccount(address: Address): Account | undefined {
    const bytes = this.#keys.get(TABLES.accounts.key(address));
    if (bytes === undefined) return undefined;
    return decodeAccount(address, bytes, () => {
      const votes = this.#keys.get(TABLES.votes.key(address));
      return votes === undefined ? [] : decodeKeys(votes);
    });
  }

  #saveAccount(
    keys: KeyValueWriter,
    account: Account,
    accounts: OverwrittenAccount[],
    overwritten: Overwritten[],
  ): void {
    const change = this.#accounts.change(account);
    if (change === undefined) return;
    accounts.push(change);
    if (sameTexts(change.before?.votes ?? [], account.votes)) return;
    const votes = account.votes.length === 0 ? undefined : encodeKeys(account.votes);
    put(keys, TABLES.votes.key(account.address), votes, overwritten);
  }

  #saveDelegate(keys: KeyValueWriter, delegate: Delegate, delegates: OverwrittenDelegate[]): void {
    const { publicKey } = delegate;
    const before = this.delegate(publicKey);
    if (before !== undefined && (before === delegate || sameDelegates(before, delegate))) return;
    delegates.push({ publicKey, before });
    if (before === undefined) keys.put(TABLES.delegates.key(publicKey), encodeDelegate(delegate), true);
    else this.#unsavedDelegates.set(publicKey, delegate);
    if (before?.username !== delegate.username) {
      if (before !== undefined) keys.remove(TABLES.usernames.key(before.username));
      keys.put(TABLES.usernames.key(delegate.username), Buffer.from(publicKey, 'hex'));
    }
    this.#delegates.set(publicKey, delegate);
  }

  #restoreDelegate(keys: KeyValueWriter, key: Buffer, before: Buffer | undefined): void {
    const [publicKey] = TABLES.delegates.read(key);
    const after = this.delegate(publicKey);
    const restored = before === undefined ? undefined : decodeDelegate(publicKey, before);
    this.#delegates.delete(publicKey);
    if (after?.username === restored?.username) return;
    if (after !== undefined) keys.remove(TABLES.usernames.key(after.username));
    if (restored !== undefined) keys.put(TABLES.usernames.key(restored.username), Buffer.from(publicKey, 'hex'));
  }
}

/** True if two values of one delegate are equal. */
function sameDelegates(a: Delegate, b: Delegate): boolean {
  return (
    a.voteWeight === b.voteWeight &&
    a.pendingVoteWeight === b.pendingVoteWeight &&
    a.rank === b.rank &&
    a.address === b.address &&
    a.username === b.username
  );
}

/**
 * Writes the value `after` of an entry of the state. If `after` is undefined, the function removes the entry. If the
 * value changes, the function adds the old value to `overwritten`.
 */
function put(keys: KeyValueWriter, key: Buffer, after: Buffer | undefined, overwritten: Overwritten[]): void {
  const before = keys.get(key);
  if (before === undefined ? after === undefined : after !== undefined && before.equals(after)) return;
  overwritten.push({ key, before });
  if (after === undefined) keys.remove(key);
  else keys.put(key, after);
}

function writeAccountEntries(keys: KeyValueWriter, before: Account | undefined, after: Account | undefined): void {
  const { removed, added } = accountEntryChanges(before, after);
  for (const key of removed) keys.remove(key, true);
  for (const key of added) keys.put(key, EMPTY, true);
}

function addToAccountTotal(keys: KeyValueWriter, by: number): void {
  if (by === 0) return;
  const total = Buffer.allocUnsafe(8);
  total.writeBigUInt64BE(BigInt(accountTotal(keys) + by));
  keys.put(TABLES.meta.key(META_ACCOUNTS), total);
}

/** Returns the number of accounts in the state. */
export function accountTotal(keys: KeyValueReader): number {
  return Number(keys.get(TABLES.meta.key(META_ACCOUNTS))?.readBigUInt64BE() ?? 0n);
}

/** Computes SHA-256 over all consensus state in key order, as hexadecimal text. */
export function stateDigestOf(keys: KeyValueReader): string {
  const hash = createHash('sha256');
  const size = Buffer.allocUnsafe(8);
  for (const table of STATE_TABLES) {
    for (const { key, value } of keys.entries(TABLES[table].all)) {
      // The sizes of the key and the value come before the bytes of both, so that two different states never produce
      // the same hash input.
      size.writeUInt32BE(key.length, 0);
      size.writeUInt32BE(value.length, 4);
      hash.update(size).update(key).update(value);
    }
  }
  return hash.digest('hex');
}

/** The tables of consensus state, with their indexes, and the decoded values that are kept in memory. */

import { LruMap } from '../primitives/bounded.ts';
import type { Account, Delegate, StateChanges } from '../protocol/state.ts';
import type { Address, PublicKey } from '../protocol/types.ts';
import { accountEntryChanges, sameTexts } from './indexes.ts';
import { prefixRange, type KeyValueReader, type KeyValueWriter } from './key-value.ts';
import {
  EMPTY,
  heightKey,
  isU32,
  ledgerKey,
  META_ACCOUNTS,
  publicKeyKey,
  tablePrefix,
  TABLES,
  textKey,
} from './layout.ts';
import { decodeAccount, decodeDelegate, decodeKeys, encodeAccount, encodeDelegate, encodeKeys } from './records.ts';
import type { Overwritten } from './undo.ts';

/** Accounts in memory. One with all its votes takes about 10 KB, so this is 20 MB at worst. */
const ACCOUNTS_CACHED_MAX = 2048;
/** Delegates in memory, about 500 bytes each. */
const DELEGATES_CACHED_MAX = 4096;
/** Round lists in memory: those of the running rounds. */
const ROUND_LISTS_CACHED_MAX = 8;

const PUBLIC_KEY_TEXT = /^[0-9a-f]{64}$/;

export class StateTables {
  readonly #keys: KeyValueReader;
  readonly #accounts = new LruMap<Address, Account>(ACCOUNTS_CACHED_MAX);
  readonly #delegates = new LruMap<PublicKey, Delegate>(DELEGATES_CACHED_MAX);
  readonly #roundLists = new LruMap<number, readonly PublicKey[]>(ROUND_LISTS_CACHED_MAX);
  #ledger: Uint8Array | undefined;

  constructor(keys: KeyValueReader) {
    this.#keys = keys;
    this.#ledger = keys.get(ledgerKey());
  }

  account(address: Address): Account | undefined {
    const cached = this.#accounts.get(address);
    if (cached !== undefined) return cached;
    const bytes = this.#keys.get(textKey('accounts', address));
    if (bytes === undefined) return undefined;
    const account = decodeAccount(address, bytes, () => {
      const votes = this.#keys.get(textKey('votes', address));
      return votes === undefined ? [] : decodeKeys(votes);
    });
    this.#accounts.set(address, account);
    return account;
  }

  delegate(publicKey: PublicKey): Delegate | undefined {
    const cached = this.#delegates.get(publicKey);
    if (cached !== undefined) return cached;
    if (!PUBLIC_KEY_TEXT.test(publicKey)) return undefined;
    const bytes = this.#keys.get(publicKeyKey('delegates', publicKey));
    if (bytes === undefined) return undefined;
    const delegate = decodeDelegate(publicKey, bytes);
    this.#delegates.set(publicKey, delegate);
    return delegate;
  }

  delegateKeyByUsername(username: string): PublicKey | undefined {
    return this.#keys.get(textKey('usernames', username))?.toString('hex');
  }

  *delegates(): Iterable<Delegate> {
    for (const { key, value } of this.#keys.entries(prefixRange(tablePrefix('delegates')))) {
      const publicKey = key.toString('hex', 1);
      yield this.#delegates.get(publicKey) ?? decodeDelegate(publicKey, value);
    }
  }

  roundList(index: number): readonly PublicKey[] | undefined {
    const cached = this.#roundLists.get(index);
    if (cached !== undefined) return cached;
    const bytes = isU32(index) ? this.#keys.get(heightKey('roundLists', index)) : undefined;
    if (bytes === undefined) return undefined;
    const list = decodeKeys(bytes);
    this.#roundLists.set(index, list);
    return list;
  }

  ledger(): Uint8Array | undefined {
    return this.#ledger;
  }

  /** Drops what is in memory after a failed transaction; the ledger is the object that it was before. */
  forget(ledger: Uint8Array | undefined): void {
    this.#accounts.clear();
    this.#delegates.clear();
    this.#roundLists.clear();
    this.#ledger = ledger;
  }

  /** Writes the changes of a block with their index entries, and says what they overwrote. */
  save(keys: KeyValueWriter, changes: StateChanges): readonly Overwritten[] {
    const overwritten: Overwritten[] = [];
    const put = (key: Buffer, after: Buffer | undefined): boolean => {
      const before = keys.get(key);
      if (before === undefined ? after === undefined : after !== undefined && before.equals(after)) return false;
      overwritten.push({ key, before });
      if (after === undefined) keys.remove(key);
      else keys.put(key, after);
      return true;
    };

    let newAccounts = 0;
    for (const account of changes.accounts.values()) {
      const before = this.account(account.address);
      if (before === account) continue;
      put(textKey('accounts', account.address), encodeAccount(account));
      if (!sameTexts(before?.votes ?? [], account.votes)) {
        const votes = account.votes.length === 0 ? undefined : encodeKeys(account.votes);
        put(textKey('votes', account.address), votes);
      }
      writeAccountEntries(keys, before, account);
      this.#accounts.set(account.address, account);
      if (before === undefined) newAccounts += 1;
    }
    addToAccountTotal(keys, newAccounts);
    for (const delegate of changes.delegates.values()) {
      const before = this.delegate(delegate.publicKey);
      if (!put(publicKeyKey('delegates', delegate.publicKey), encodeDelegate(delegate))) continue;
      if (before?.username !== delegate.username) {
        if (before !== undefined) keys.remove(textKey('usernames', before.username));
        keys.put(textKey('usernames', delegate.username), Buffer.from(delegate.publicKey, 'hex'));
      }
      this.#delegates.set(delegate.publicKey, delegate);
    }
    for (const [index, list] of changes.roundLists) {
      put(heightKey('roundLists', index), list === undefined ? undefined : encodeKeys(list));
      if (list === undefined) this.#roundLists.delete(index);
      else this.#roundLists.set(index, list);
    }
    const { ledger } = changes;
    if (ledger !== undefined && ledger !== this.#ledger) {
      put(ledgerKey(), Buffer.from(ledger.buffer, ledger.byteOffset, ledger.byteLength));
      this.#ledger = ledger;
    }
    return overwritten;
  }

  /** Plays an undo record back, index entries included. */
  restore(keys: KeyValueWriter, overwritten: readonly Overwritten[]): void {
    const accounts = new Map<Address, Account | undefined>();
    for (const { key } of overwritten) {
      if (key[0] !== TABLES.accounts.number && key[0] !== TABLES.votes.number) continue;
      const address = key.toString('utf8', 1);
      accounts.set(address, this.account(address));
    }
    for (const { key, before } of overwritten) {
      if (key[0] === TABLES.delegates.number) this.#restoreDelegate(keys, key, before);
      if (key[0] === TABLES.roundLists.number) this.#roundLists.delete(key.readUInt32BE(1));
      if (key[0] === TABLES.ledger.number) this.#ledger = before === undefined ? undefined : Buffer.from(before);
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

  #restoreDelegate(keys: KeyValueWriter, key: Buffer, before: Buffer | undefined): void {
    const publicKey = key.toString('hex', 1);
    const after = this.delegate(publicKey);
    const restored = before === undefined ? undefined : decodeDelegate(publicKey, before);
    this.#delegates.delete(publicKey);
    if (after?.username === restored?.username) return;
    if (after !== undefined) keys.remove(textKey('usernames', after.username));
    if (restored !== undefined) keys.put(textKey('usernames', restored.username), Buffer.from(publicKey, 'hex'));
  }
}

function writeAccountEntries(keys: KeyValueWriter, before: Account | undefined, after: Account | undefined): void {
  const { removed, added } = accountEntryChanges(before, after);
  for (const key of removed) keys.remove(key);
  for (const key of added) keys.put(key, EMPTY);
}

function addToAccountTotal(keys: KeyValueWriter, by: number): void {
  if (by === 0) return;
  const total = Buffer.allocUnsafe(8);
  total.writeBigUInt64BE(BigInt(accountTotal(keys) + by));
  keys.put(textKey('meta', META_ACCOUNTS), total);
}

/** Number of accounts in the state. */
export function accountTotal(keys: KeyValueReader): number {
  return Number(keys.get(textKey('meta', META_ACCOUNTS))?.readBigUInt64BE() ?? 0n);
}

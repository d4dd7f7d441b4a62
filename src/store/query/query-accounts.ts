/** Answers queries for accounts, votes, voters and multisignature groups. */

import { addressOf } from '../../crypto/keys.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type {
  AccountEntry,
  AccountIdentity,
  AccountQuery,
  Cursor,
  Direction,
  GroupEntry,
  Page,
  PageRequest,
  VoteQuery,
  VoterQuery,
} from '../../ports/queries.ts';
import { emptyAccount, type Account } from '../../protocol/state.ts';
import type { Address, PublicKey } from '../../protocol/types.ts';
import type { StoredChain } from '../chain/stored-chain.ts';
import { afterPrefix } from '../tables/key-value.ts';
import { TABLES } from '../tables/layout.ts';
import { orderedBigint, orderedBigintAt, orderedBigintBytes } from '../tables/ordered-bytes.ts';
import { CHUNK_ITEMS, sortInChunks, type BackgroundQueries, type Pause } from './background-queries.ts';
import { OrderedKeys } from './ordered-keys.ts';
import {
  compareTexts,
  compareValues,
  compareWithUnknown,
  directed,
  emptyPage,
  firstOf,
  listPage,
  type Compare,
} from './pages.ts';
import type { DelegateQueries } from './query-delegates.ts';
import { accountTotal } from '../chain/state-tables.ts';

const PUBLIC_KEY_TEXT = /^[0-9a-f]{64}$/;

export class AccountQueries {
  readonly #store: StoredChain;
  readonly #delegates: DelegateQueries;
  readonly #work: BackgroundQueries;

  constructor(store: StoredChain, delegates: DelegateQueries, work: BackgroundQueries) {
    this.#store = store;
    this.#delegates = delegates;
    this.#work = work;
  }

  accounts(query: AccountQuery): Page<AccountEntry> {
    const prefix = this.#balancePrefix(query);
    if (prefix !== undefined) return this.#byBalance(prefix, query);
    const order = firstOf(directed(byBalance, query.sort.direction), byAddress);
    const found = this.#candidates(query) ?? [];
    const page = listPage(found.sort(order), query, {
      cursorOf: ({ balance, address }) => ({ value: balance.toString(), tie: address }),
      compareWith: (cursor) => {
        const target = { ...emptyAccount(cursor.tie), balance: balanceOf(cursor) };
        return (account) => order(account, target);
      },
    });
    return { ...page, items: page.items.map((account) => this.#entry(account)) };
  }

  accountBy(identity: AccountIdentity): Account | undefined {
    return this.#candidates(identity, 1)?.[0];
  }

  async voters(publicKey: PublicKey | undefined, query: VoterQuery): Promise<Page<Account>> {
    const key = publicKey?.toLowerCase();
    if (key === undefined || !PUBLIC_KEY_TEXT.test(key)) return emptyPage();
    const { field, direction } = query.sort;
    if (field === 'publicKey') return this.#votersByKey(key, query);
    const range = TABLES.voters.range(key);
    if (this.#store.tables.count(range) <= this.#work.options.atOnceMax) {
      const voters = Array.from(this.#store.tables.keys(range), (entry) => voterOf(this.#store, entry));
      return sortedPage(voters, field, direction, query);
    }
    return this.#work.read(
      `voters ${key} ${field} ${direction}`,
      (snapshot, pause) => sortedVoters(snapshot, key, orderOf(field, direction), pause),
      // The list contains only the addresses of the voters. If the list contained the accounts of the voters, some
      // hundred thousand accounts would take too much memory.
      (addresses, store) => {
        const order = orderOf(field, direction);
        const page = listPage(addresses, query, {
          cursorOf: (address) => cursorOf(accountIn(store, address), field),
          compareWith: (cursor) => {
            const target = accountAt(cursor, field);
            return (address) => order(accountIn(store, address), target);
          },
        });
        return { ...page, items: page.items.map((address) => accountIn(store, address)) };
      },
    );
  }

  votes(account: Account, query: VoteQuery): Page<Account> {
    const voted = account.votes.map((publicKey) => this.#accountWithKey(publicKey));
    return sortedPage(voted, query.sort.field, query.sort.direction, query);
  }

  group(address: Address): GroupEntry | undefined {
    const account = this.#store.account(address);
    return account?.group === undefined ? undefined : this.#groupOf(account, account.group.members);
  }

  memberships(account: Account): readonly GroupEntry[] {
    if (account.publicKey === undefined) return [];
    const range = TABLES.memberships.range(account.publicKey);
    return Array.from(this.#store.tables.keys(range), (key) => this.#accountOf(TABLES.memberships.read(key)[1]))
      .sort(byBalanceThenAddress)
      .map((owner) => this.#groupOf(owner, owner.group?.members ?? []));
  }

  /**
   * Returns the prefix of an index that has exactly the requested accounts, sorted by balance. The result is undefined
   * if there is no such index.
   */
  #balancePrefix({ address, publicKey, secondPublicKey, usernamePattern }: AccountQuery): Buffer | undefined {
    if (address !== undefined || publicKey !== undefined || usernamePattern !== undefined) return undefined;
    if (secondPublicKey === undefined) return TABLES.accountsByBalance.start;
    const key = secondPublicKey.toLowerCase();
    return PUBLIC_KEY_TEXT.test(key) ? TABLES.secondPublicKeys.prefix(key) : undefined;
  }

  #byBalance(prefix: Buffer, query: AccountQuery): Page<AccountEntry> {
    const keys = new OrderedKeys(this.#store.tables, { prefixes: [prefix], valueEnd: balanceEnd });
    const tailOf = (cursor: Cursor) => Buffer.concat([orderedBigint(balanceOf(cursor)), Buffer.from(cursor.tie)]);
    const total = prefix.length === 1 ? accountTotal(this.#store.tables) : keys.total;
    const { items, ...rest } = tailPage(keys, total, query, tailOf, (tail) => {
      return { value: orderedBigintAt(tail, 0).toString(), tie: tail.toString('utf8', balanceEnd(tail, 0)) };
    });
    const entries = items.map((tail) => this.#entry(this.#accountOf(tail.toString('utf8', balanceEnd(tail, 0)))));
    return { ...rest, items: entries };
  }

  #votersByKey(key: PublicKey, query: VoterQuery): Page<Account> {
    const prefix = TABLES.voters.prefix(key);
    const keys = new OrderedKeys(this.#store.tables, { prefixes: [prefix], valueEnd: voterKeyEnd });
    const tailOf = ({ value, tie }: Cursor) => {
      if (value !== '' && !PUBLIC_KEY_TEXT.test(value)) throw new ProtocolError('CURSOR_INVALID', { value });
      return Buffer.concat([value === '' ? Buffer.from([1]) : Buffer.from(`00${value}`, 'hex'), Buffer.from(tie)]);
    };
    const { items, ...rest } = tailPage(keys, keys.total, query, tailOf, (tail) => {
      const end = voterKeyEnd(tail, 0);
      return { value: tail.toString('hex', 1, end), tie: tail.toString('utf8', end) };
    });
    return { ...rest, items: items.map((tail) => this.#accountOf(tail.toString('utf8', voterKeyEnd(tail, 0)))) };
  }

  #groupOf(account: Account, keys: readonly PublicKey[]): GroupEntry {
    return { account, members: keys.map((key) => this.#accountWithKey(key)).sort(byBalanceThenAddress) };
  }

  /**
   * Returns all accounts that match every filter in `wanted`. The result is undefined if `wanted` has no filter.
   *
   * @param secondKeyMax maximum number of accounts in the result if `secondPublicKey` is the only filter. If more
   *   accounts match, the result has the accounts with the lowest balances. Among accounts with equal balances, lower
   *   addresses come first. By default, the result has all matching accounts
   */
  #candidates(
    wanted: AccountIdentity & { readonly usernamePattern?: string },
    secondKeyMax?: number,
  ): Account[] | undefined {
    const publicKey = wanted.publicKey?.toLowerCase();
    const secondPublicKey = wanted.secondPublicKey?.toLowerCase();
    const found = this.#narrowest({ ...wanted, publicKey, secondPublicKey }, secondKeyMax);
    if (found === undefined) return undefined;
    const names =
      wanted.usernamePattern === undefined
        ? undefined
        : new Set(this.#delegates.named(wanted.usernamePattern).map(({ delegate }) => delegate.address));
    return found.filter(
      (account) =>
        (wanted.address === undefined || account.address === wanted.address) &&
        (publicKey === undefined || account.publicKey === publicKey) &&
        (secondPublicKey === undefined || account.secondPublicKey === secondPublicKey) &&
        (wanted.username === undefined || account.username === wanted.username) &&
        (names === undefined || names.has(account.address)),
    );
  }

  #narrowest(wanted: Wanted, secondKeyMax?: number): Account[] | undefined {
    const { address, publicKey, username, secondPublicKey, usernamePattern } = wanted;
    if (address !== undefined) return this.#known([address]);
    if (publicKey !== undefined) return PUBLIC_KEY_TEXT.test(publicKey) ? this.#known([addressOf(publicKey)]) : [];
    if (username !== undefined) {
      const key = this.#store.delegateKeyByUsername(username);
      const delegate = key === undefined ? undefined : this.#store.delegate(key);
      return delegate === undefined ? [] : this.#known([delegate.address]);
    }
    // Anybody can register the same second public key for any number of accounts, so the code uses the index of second
    // public keys only if no other filter is given.
    if (usernamePattern !== undefined) {
      return this.#known(this.#delegates.named(usernamePattern).map(({ delegate }) => delegate.address));
    }
    if (secondPublicKey === undefined) return undefined;
    if (!PUBLIC_KEY_TEXT.test(secondPublicKey)) return [];
    const limit = secondKeyMax === undefined ? {} : { limit: secondKeyMax };
    const keys = this.#store.tables.keys({ ...TABLES.secondPublicKeys.range(secondPublicKey), ...limit });
    return this.#known(Array.from(keys, (key) => TABLES.secondPublicKeys.read(key)[2]));
  }

  #known(addresses: readonly Address[]): Account[] {
    return addresses.map((address) => this.#store.account(address)).filter((account) => account !== undefined);
  }

  #accountOf(address: Address): Account {
    return accountIn(this.#store, address);
  }

  /**
   * Returns the account of a public key. If the store does not have this account, the result is an empty account. The
   * result always contains the given public key.
   */
  #accountWithKey(publicKey: PublicKey): Account {
    return { ...this.#accountOf(this.#store.delegate(publicKey)?.address ?? addressOf(publicKey)), publicKey };
  }

  #entry(account: Account): AccountEntry {
    const isDelegate = account.username !== undefined && account.publicKey !== undefined;
    const delegate = isDelegate ? this.#delegates.entry(account.publicKey) : undefined;
    return delegate === undefined ? { account } : { account, delegate };
  }
}

interface Wanted {
  readonly address?: Address | undefined;
  readonly publicKey?: PublicKey | undefined;
  readonly secondPublicKey?: PublicKey | undefined;
  readonly username?: string | undefined;
  readonly usernamePattern?: string | undefined;
}

const byBalance: Compare<Account> = (a, b) => compareValues(a.balance, b.balance);
const byAddress: Compare<Account> = (a, b) => compareValues(a.address, b.address);
const byUsername: Compare<Account> = (a, b) => compareWithUnknown(compareTexts)(a.username, b.username);
const byBalanceThenAddress = firstOf(byBalance, byAddress);

type SortField = 'balance' | 'username';

function orderOf(field: SortField, direction: Direction): Compare<Account> {
  return firstOf(directed(field === 'balance' ? byBalance : byUsername, direction), byAddress);
}

function sortedPage(accounts: Account[], field: SortField, direction: Direction, request: PageRequest): Page<Account> {
  const order = orderOf(field, direction);
  return listPage(accounts.sort(order), request, {
    cursorOf: (account) => cursorOf(account, field),
    compareWith: (cursor) => {
      const target = accountAt(cursor, field);
      return (account) => order(account, target);
    },
  });
}

async function sortedVoters(
  store: StoredChain,
  key: PublicKey,
  order: Compare<Account>,
  pause: Pause,
): Promise<readonly Address[]> {
  const voters: Account[] = [];
  const { gte, lt } = TABLES.voters.range(key);
  for (let from = gte; ; await pause()) {
    const keys = Array.from(store.tables.keys({ gte: from, lt, limit: CHUNK_ITEMS }));
    voters.push(...keys.map((entry) => voterOf(store, entry)));
    const last = keys.at(-1);
    if (last === undefined || keys.length < CHUNK_ITEMS) break;
    from = afterPrefix(last);
  }
  return (await sortInChunks(voters, order, pause)).map(({ address }) => address);
}

function voterOf(store: StoredChain, entry: Buffer): Account {
  return accountIn(store, TABLES.voters.read(entry)[2]);
}

/**
 * Returns a page of key tails. If further key tails follow, the page has the cursor of its last key tail. A key tail is
 * a key without the prefix of its index: the value by which the list is sorted, then the address.
 */
function tailPage(
  keys: OrderedKeys,
  total: number,
  { limit, after, ...request }: PageRequest & { readonly sort: { readonly direction: Direction } },
  tailOf: (cursor: Cursor) => Buffer,
  cursorAt: (tail: Buffer) => Cursor,
): Page<Buffer> {
  const { direction } = request.sort;
  const offset = after === undefined ? request.offset : keys.offsetAfter(tailOf(after), direction);
  const items = keys.page(direction, { limit, offset });
  const last = items.at(-1);
  if (last === undefined || offset + items.length >= total) return { items, total };
  return { items, total, next: cursorAt(last) };
}

function accountIn(store: StoredChain, address: Address): Account {
  return store.account(address) ?? emptyAccount(address);
}

function cursorOf(account: Account, field: SortField): Cursor {
  const value = field === 'balance' ? account.balance.toString() : (account.username ?? '');
  return { value, tie: account.address };
}

/**
 * Returns an artificial account with the sort value and the address of a cursor. The sort functions compare real
 * accounts with this account.
 *
 * @throws ProtocolError `CURSOR_INVALID`
 */
function accountAt(cursor: Cursor, field: SortField): Account {
  const account = emptyAccount(cursor.tie);
  if (field === 'balance') return { ...account, balance: balanceOf(cursor) };
  return cursor.value === '' ? account : { ...account, username: cursor.value };
}

function balanceOf({ value }: Cursor): bigint {
  if (!/^-?[0-9]{1,30}$/.test(value)) throw new ProtocolError('CURSOR_INVALID', { value });
  return BigInt(value);
}

function balanceEnd(key: Buffer, at: number): number {
  return at + orderedBigintBytes(key, at);
}

/**
 * Finds the end of the voter's public key in a key or key tail of the table `voters`. A key begins with the table
 * number and the delegate's public key. The rest of the key is the key tail, which begins at `at`. If the voter has a
 * public key, the key tail begins with the byte 0 and this public key. If the voter has no public key, the key tail
 * begins with the byte 1. The voter's address comes last.
 */
function voterKeyEnd(key: Buffer, at: number): number {
  return key[at] === 0 ? at + 1 + 32 : at + 1;
}

/** Accounts, votes and groups as readers ask for them. */

import { addressOf } from '../crypto/keys.ts';
import type {
  AccountEntry,
  AccountIdentity,
  AccountQuery,
  Direction,
  GroupEntry,
  Page,
  VoteQuery,
  VoterQuery,
} from '../ports/queries.ts';
import { emptyAccount, type Account } from '../protocol/state.ts';
import type { Address, PublicKey } from '../protocol/types.ts';
import type { StoredChain } from './chain-store.ts';
import { prefixRange } from './key-value.ts';
import { orderedBigintBytes, publicKeyKey, tablePrefix } from './layout.ts';
import {
  compareTexts,
  compareValues,
  compareWithUnknown,
  directed,
  emptyPage,
  firstOf,
  indexPage,
  pageOf,
  type Compare,
} from './pages.ts';
import type { DelegateQueries } from './query-delegates.ts';
import { accountTotal } from './state-tables.ts';

const PUBLIC_KEY_TEXT = /^[0-9a-f]{64}$/;
/** Bytes of a table number and a public key. */
const KEY_END = 33;

export class AccountQueries {
  readonly #store: StoredChain;
  readonly #delegates: DelegateQueries;

  constructor(store: StoredChain, delegates: DelegateQueries) {
    this.#store = store;
    this.#delegates = delegates;
  }

  accounts(query: AccountQuery): Page<AccountEntry> {
    const { direction } = query.sort;
    const candidates = this.#candidates(query);
    if (candidates === undefined) {
      const keys = indexPage(
        this.#store.tables,
        prefixRange(tablePrefix('accountsByBalance')),
        balanceEnd,
        direction,
        query,
      );
      const accounts = keys.map((key) => this.#accountOf(key.toString('utf8', balanceEnd(key))));
      return { items: accounts.map((account) => this.#entry(account)), total: accountTotal(this.#store.tables) };
    }
    const page = pageOf(candidates.sort(firstOf(directed(byBalance, direction), byAddress)), query);
    return { items: page.items.map((account) => this.#entry(account)), total: page.total };
  }

  accountBy(identity: AccountIdentity): Account | undefined {
    return this.#candidates(identity)?.sort(byBalanceThenAddress)[0];
  }

  voters(publicKey: PublicKey | undefined, query: VoterQuery): Page<Account> {
    const key = publicKey?.toLowerCase();
    if (key === undefined || !PUBLIC_KEY_TEXT.test(key)) return emptyPage();
    const { field, direction } = query.sort;
    const range = prefixRange(publicKeyKey('voters', key));
    if (field === 'publicKey') {
      const keys = indexPage(this.#store.tables, range, voterKeyEnd, direction, query);
      const items = keys.map((entry) => this.#accountOf(entry.toString('utf8', voterKeyEnd(entry))));
      return { items, total: this.#store.tables.count(range) };
    }
    const voters = Array.from(this.#store.tables.keys(range), (entry) =>
      this.#accountOf(entry.toString('utf8', voterKeyEnd(entry))),
    );
    return sortedPage(voters, field, direction, query);
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
    const range = prefixRange(publicKeyKey('memberships', account.publicKey));
    return Array.from(this.#store.tables.keys(range), (key) => this.#accountOf(key.toString('utf8', KEY_END)))
      .sort(byBalanceThenAddress)
      .map((owner) => this.#groupOf(owner, owner.group?.members ?? []));
  }

  #groupOf(account: Account, keys: readonly PublicKey[]): GroupEntry {
    return { account, members: keys.map((key) => this.#accountWithKey(key)).sort(byBalanceThenAddress) };
  }

  /** All accounts that fit; undefined when nothing narrows them down. */
  #candidates(wanted: AccountIdentity & { readonly usernamePattern?: string }): Account[] | undefined {
    const publicKey = wanted.publicKey?.toLowerCase();
    const secondPublicKey = wanted.secondPublicKey?.toLowerCase();
    const found = this.#narrowest({ ...wanted, publicKey, secondPublicKey });
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

  #narrowest({ address, publicKey, username, secondPublicKey, usernamePattern }: Wanted): Account[] | undefined {
    if (address !== undefined) return this.#known([address]);
    if (publicKey !== undefined) return PUBLIC_KEY_TEXT.test(publicKey) ? this.#known([addressOf(publicKey)]) : [];
    if (username !== undefined) {
      const key = this.#store.delegateKeyByUsername(username);
      const delegate = key === undefined ? undefined : this.#store.delegate(key);
      return delegate === undefined ? [] : this.#known([delegate.address]);
    }
    if (secondPublicKey !== undefined) {
      if (!PUBLIC_KEY_TEXT.test(secondPublicKey)) return [];
      const range = prefixRange(publicKeyKey('secondPublicKeys', secondPublicKey));
      return this.#known(Array.from(this.#store.tables.keys(range), (key) => key.toString('utf8', KEY_END)));
    }
    if (usernamePattern === undefined) return undefined;
    return this.#known(this.#delegates.named(usernamePattern).map(({ delegate }) => delegate.address));
  }

  #known(addresses: readonly Address[]): Account[] {
    return addresses.map((address) => this.#store.account(address)).filter((account) => account !== undefined);
  }

  #accountOf(address: Address): Account {
    return this.#store.account(address) ?? emptyAccount(address);
  }

  /** The account of a key that is known to own it, even where the account itself was never written. */
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

function sortedPage(
  accounts: Account[],
  field: 'balance' | 'username',
  direction: Direction,
  query: VoterQuery | VoteQuery,
): Page<Account> {
  const order = field === 'balance' ? byBalance : byUsername;
  return pageOf(accounts.sort(firstOf(directed(order, direction), byAddress)), query);
}

function balanceEnd(key: Buffer): number {
  return 1 + orderedBigintBytes(key, 1);
}

/** Behind the delegate's key stands 0 and the voter's key, or 1 alone. */
function voterKeyEnd(key: Buffer): number {
  return key[KEY_END] === 0 ? KEY_END + 1 + 32 : KEY_END + 1;
}

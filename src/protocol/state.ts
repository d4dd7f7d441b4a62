/**
 * Defines the consensus state in the form that the rules use. The values in the state (for example, accounts) are
 * immutable. To change the state, a function writes a new value to a `StateWriter`. All functions are synchronous, so
 * no other code changes the state between a check and the writes that depend on the check.
 */

import type { Address, BlockHeader, PublicKey, TransactionId } from './types.ts';

/** The group of a multisignature account; its members are in the order of the registration transaction. */
export interface MultisignatureGroup {
  readonly min: number;
  /**
   * Number of hours that the members have to sign a transaction, as the registration of the group states. The node
   * stores and shows this lifetime, but no rule depends on the lifetime.
   */
  readonly lifetime: number;
  readonly members: readonly PublicKey[];
}

export interface Account {
  readonly address: Address;
  /**
   * Public key of the account. The account gets this key from the first transaction that the account sends, or from a
   * transaction that makes the account a member of a group. After that, only the letter case of the key can change.
   * While the node applies a block, the key can have upper-case letters (`tx/apply.ts`). After the block, the key is in
   * lower case.
   */
  readonly publicKey?: PublicKey;
  readonly secondPublicKey?: PublicKey;
  /** Username of a delegate; undefined if the account is not a delegate. */
  readonly username?: string;
  /** Balance in beddows. Accounts that fund other accounts in a genesis block can have a negative balance. */
  readonly balance: bigint;
  readonly group?: MultisignatureGroup;
  /** Delegates for whom the account votes, oldest vote first. */
  readonly votes: readonly PublicKey[];
  readonly producedBlocks: number;
  readonly missedBlocks: number;
  /** Fees earned by forging, in beddows. */
  readonly forgedFees: bigint;
  /** Rewards earned by forging, in beddows. */
  readonly forgedRewards: bigint;
}

/**
 * The data of a delegate that the state stores in addition to the delegate's account. The registration of the delegate
 * adds these data to the state.
 */
export interface Delegate {
  readonly publicKey: PublicKey;
  readonly address: Address;
  readonly username: string;
  /**
   * Vote weight in beddows. In generation 3, the value is the current weight. In generation 2, the value is the weight
   * at the end of the last completed round.
   */
  readonly voteWeight: bigint;
  /**
   * In generation 2, the value is the amount in beddows by which the vote weight has changed during the current round.
   * The node adds this amount to `voteWeight` at the end of the round. In generation 3, the value is always 0.
   */
  readonly pendingVoteWeight: bigint;
  /**
   * In generation 2, the value is the rank of the delegate by vote weight at the end of the last completed round; rank
   * 1 has the highest weight. If the delegate registered after the end of that round, the value is 0. The genesis block
   * counts as the end of a round. In generation 3, the value is always 0.
   */
  readonly rank: number;
}

/** Read access to the consensus state. */
export interface StateReader {
  account(address: Address): Account | undefined;
  delegate(publicKey: PublicKey): Delegate | undefined;
  /** Returns the public key of the delegate with this username; undefined if there is no such delegate. */
  delegateKeyByUsername(username: string): PublicKey | undefined;
  /** Returns all delegates, in no defined order. */
  delegates(): Iterable<Delegate>;
  /**
   * Returns the delegate list that `setRoundList` stored under this index (`listIndexOf` in `rounds.ts` computes the
   * index). The list begins with the delegate that has the highest vote weight. The order of the forgers in a round is
   * a shuffled copy of such a list.
   */
  roundList(index: number): readonly PublicKey[] | undefined;
  /**
   * Returns the encoded BFT state of generation 3. Returns undefined in generation 2, and before the genesis block is
   * applied. All calls return the same object until the BFT state changes.
   */
  bftState(): Uint8Array | undefined;
  /**
   * Returns the fact with this name. The name has at most 100 ASCII characters. A fact is a value in the state that is
   * not part of an account, for example the owner of an application.
   */
  fact(name: string): string | undefined;
  /** Returns the header of the block at this height in the chain of this state. */
  header(height: number): BlockHeader | undefined;
  /** Returns whether a block in the chain of this state contains the transaction. */
  hasTransaction(id: TransactionId): boolean;
}

/**
 * Read and write access to the consensus state. After a write, the read functions return the written value.
 */
export interface StateWriter extends StateReader {
  setAccount(account: Account): void;
  setDelegate(delegate: Delegate): void;
  /**
   * Stores a list of delegates under an index. After this call, `roundList` returns this list for the same index. If
   * `list` is undefined, the function removes the list at this index.
   */
  setRoundList(index: number, list: readonly PublicKey[] | undefined): void;
  setBftState(bftState: Uint8Array): void;
  /** Stores a fact under a name. The fact stays in the state until the node reverts the block that stored the fact. */
  setFact(name: string, value: string): void;
}

/** Returns a new account that has an address and no other data. */
export function emptyAccount(address: Address): Account {
  return {
    address,
    balance: 0n,
    votes: [],
    producedBlocks: 0,
    missedBlocks: 0,
    forgedFees: 0n,
    forgedRewards: 0n,
  };
}

/**
 * Returns a copy of the account with the given balance. If `publicKey` is given, the copy also has this public key.
 * Each transfer makes three such copies, so the function must be fast. The function copies the properties one by one.
 * The spread syntax (`...account`) would take twenty times as long, because accounts do not all have the same
 * properties.
 */
export function withBalance(account: Account, balance: bigint, publicKey = account.publicKey): Account {
  const { address, votes, producedBlocks, missedBlocks, forgedFees, forgedRewards } = account;
  const changed: { -readonly [K in keyof Account]: Account[K] } =
    publicKey === undefined
      ? { address, balance, votes, producedBlocks, missedBlocks, forgedFees, forgedRewards }
      : { address, publicKey, balance, votes, producedBlocks, missedBlocks, forgedFees, forgedRewards };
  if (account.secondPublicKey !== undefined) changed.secondPublicKey = account.secondPublicKey;
  if (account.username !== undefined) changed.username = account.username;
  if (account.group !== undefined) changed.group = account.group;
  return changed;
}

/** All changes that a `StateOverlay` has collected. The caller writes or drops these changes. */
export interface StateChanges {
  readonly accounts: ReadonlyMap<Address, Account>;
  readonly delegates: ReadonlyMap<PublicKey, Delegate>;
  readonly roundLists: ReadonlyMap<number, readonly PublicKey[] | undefined>;
  /** The new BFT state; undefined if the BFT state was not written. */
  readonly bftState: Uint8Array | undefined;
  readonly facts: ReadonlyMap<string, string>;
}

const NOTHING: ReadonlyMap<never, never> = new Map<never, never>();

/**
 * Collects changes to an underlying state, without changing this state. Later, the caller either writes these changes
 * to the underlying state, or drops them. The overlay returns the values that were written to it. The overlay reads all
 * other values from the underlying state. The node uses overlays to check transactions of the pool, and to verify a
 * single transaction. Before the node signs its own block, it applies the unsigned block to an overlay. An overlay also
 * collects the changes of a block until the node stores these changes.
 */
export class StateOverlay implements StateWriter {
  readonly #below: StateReader;
  readonly #accounts = new Map<Address, Account>();
  // The first write to one of the following maps creates the map. The node creates overlays for every transaction, and
  // most overlays contain only accounts.
  #delegates: Map<PublicKey, Delegate> | undefined;
  #usernames: Map<string, PublicKey> | undefined;
  #roundLists: Map<number, readonly PublicKey[] | undefined> | undefined;
  #facts: Map<string, string> | undefined;
  #bftState: Uint8Array | undefined;

  constructor(below: StateReader) {
    this.#below = below;
  }

  account(address: Address): Account | undefined {
    return this.#accounts.get(address) ?? this.#below.account(address);
  }

  delegate(publicKey: PublicKey): Delegate | undefined {
    return this.#delegates?.get(publicKey) ?? this.#below.delegate(publicKey);
  }

  delegateKeyByUsername(username: string): PublicKey | undefined {
    return this.#usernames?.get(username) ?? this.#below.delegateKeyByUsername(username);
  }

  *delegates(): Iterable<Delegate> {
    const seen = new Set<PublicKey>();
    for (const delegate of this.#below.delegates()) {
      seen.add(delegate.publicKey);
      yield this.#delegates?.get(delegate.publicKey) ?? delegate;
    }
    for (const delegate of this.#delegates?.values() ?? []) if (!seen.has(delegate.publicKey)) yield delegate;
  }

  roundList(index: number): readonly PublicKey[] | undefined {
    return this.#roundLists?.has(index) === true ? this.#roundLists.get(index) : this.#below.roundList(index);
  }

  bftState(): Uint8Array | undefined {
    return this.#bftState ?? this.#below.bftState();
  }

  fact(name: string): string | undefined {
    return this.#facts?.get(name) ?? this.#below.fact(name);
  }

  header(height: number): BlockHeader | undefined {
    return this.#below.header(height);
  }

  hasTransaction(id: TransactionId): boolean {
    return this.#below.hasTransaction(id);
  }

  setAccount(account: Account): void {
    this.#accounts.set(account.address, account);
  }

  setDelegate(delegate: Delegate): void {
    this.#delegates ??= new Map();
    this.#delegates.set(delegate.publicKey, delegate);
    this.#usernames ??= new Map();
    this.#usernames.set(delegate.username, delegate.publicKey);
  }

  setRoundList(index: number, list: readonly PublicKey[] | undefined): void {
    this.#roundLists ??= new Map();
    this.#roundLists.set(index, list);
  }

  setBftState(bftState: Uint8Array): void {
    this.#bftState = bftState;
  }

  setFact(name: string, value: string): void {
    this.#facts ??= new Map();
    this.#facts.set(name, value);
  }

  changes(): StateChanges {
    return {
      accounts: this.#accounts,
      delegates: this.#delegates ?? NOTHING,
      roundLists: this.#roundLists ?? NOTHING,
      bftState: this.#bftState,
      facts: this.#facts ?? NOTHING,
    };
  }
}

/** Writes all changes of an overlay to the state writer `to`. */
export function writeChanges(changes: StateChanges, to: StateWriter): void {
  for (const account of changes.accounts.values()) to.setAccount(account);
  for (const delegate of changes.delegates.values()) to.setDelegate(delegate);
  for (const [index, list] of changes.roundLists) to.setRoundList(index, list);
  if (changes.bftState !== undefined) to.setBftState(changes.bftState);
  for (const [name, value] of changes.facts) to.setFact(name, value);
}

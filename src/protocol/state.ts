/**
 * The consensus state and how rules see it. Values are immutable: a change is a new value handed to a `StateWriter`.
 * Nothing here awaits, so what a rule checked stays true until it has written.
 */

import type { Address, BlockHeader, PublicKey, TransactionId } from './types.ts';

/** Members of a multisignature account, in the order of its registration. */
export interface MultisignatureGroup {
  readonly min: number;
  /** Stored and shown, without any effect. */
  readonly lifetime: number;
  readonly members: readonly PublicKey[];
}

export interface Account {
  readonly address: Address;
  /** Set by the first outgoing transaction or by membership in a group; then immutable. */
  readonly publicKey?: PublicKey;
  readonly secondPublicKey?: PublicKey;
  /** Present exactly when the account is a delegate. */
  readonly username?: string;
  /** Beddows. Negative for accounts that fund a genesis block. */
  readonly balance: bigint;
  readonly group?: MultisignatureGroup;
  /** Delegates voted for, oldest vote first. */
  readonly votes: readonly PublicKey[];
  readonly producedBlocks: number;
  readonly missedBlocks: number;
  /** Fees earned by forging, in beddows. */
  readonly forgedFees: bigint;
  /** Rewards earned by forging, in beddows. */
  readonly forgedRewards: bigint;
}

/** What a delegate has besides its account: its standing. Created by the registration. */
export interface Delegate {
  readonly publicKey: PublicKey;
  readonly address: Address;
  readonly username: string;
  /** Beddows. Generation 3: live. Generation 2: as of the end of the last round. */
  readonly voteWeight: bigint;
  /** Generation 2: net change of the running round, in beddows, not yet visible; 0 in generation 3. */
  readonly pendingVoteWeight: bigint;
  /** Generation 2: position as of the end of the last round, 0 before the first; 0 in generation 3. */
  readonly rank: number;
}

/** Read access to consensus state at one moment. */
export interface StateReader {
  account(address: Address): Account | undefined;
  delegate(publicKey: PublicKey): Delegate | undefined;
  /** Public key of the delegate that holds the name. */
  delegateKeyByUsername(username: string): PublicKey | undefined;
  /** All delegates, in no stated order. */
  delegates(): Iterable<Delegate>;
  /** The unshuffled list frozen under this index, best delegate first. */
  roundList(index: number): readonly PublicKey[] | undefined;
  /** The generation's own running record, for example the BFT ledger. The same object until it changes. */
  ledger(): Uint8Array | undefined;
  /** A fact under a name of at most 100 ASCII characters: what the generation keeps that has no place of its own. */
  fact(name: string): string | undefined;
  /** Header of a block of the chain that this state is the result of. */
  header(height: number): BlockHeader | undefined;
  /** True when the transaction is part of that chain. */
  hasTransaction(id: TransactionId): boolean;
}

/** Read and write access. Writes are visible to later reads of the same writer. */
export interface StateWriter extends StateReader {
  setAccount(account: Account): void;
  setDelegate(delegate: Delegate): void;
  /** `undefined` removes the list. */
  setRoundList(index: number, list: readonly PublicKey[] | undefined): void;
  setLedger(ledger: Uint8Array): void;
  /** Facts are never removed but by a revert. */
  setFact(name: string, value: string): void;
}

/** An account that nothing is known of yet. */
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
 * The account with another balance, and with its public key where that becomes known. Named member by member, as each
 * transfer makes three: an account lacks some members or others, and spreading such objects takes twenty times as long.
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

/** Everything written to an overlay, to be handed on or dropped. */
export interface StateChanges {
  readonly accounts: ReadonlyMap<Address, Account>;
  readonly delegates: ReadonlyMap<PublicKey, Delegate>;
  readonly roundLists: ReadonlyMap<number, readonly PublicKey[] | undefined>;
  /** Undefined when untouched. */
  readonly ledger: Uint8Array | undefined;
  readonly facts: ReadonlyMap<string, string>;
}

const NOTHING: ReadonlyMap<never, never> = new Map<never, never>();

/**
 * A scratch copy: reads fall through to the state below until something was written. Serves the pool's checks, the
 * isolation rule and the dry run of a forged block, and collects the writes of a block before they are stored.
 */
export class StateOverlay implements StateWriter {
  readonly #below: StateReader;
  readonly #accounts = new Map<Address, Account>();
  // Made when first written to: every transaction has overlays, and most of them change accounts alone.
  #delegates: Map<PublicKey, Delegate> | undefined;
  #usernames: Map<string, PublicKey> | undefined;
  #roundLists: Map<number, readonly PublicKey[] | undefined> | undefined;
  #facts: Map<string, string> | undefined;
  #ledger: Uint8Array | undefined;

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

  ledger(): Uint8Array | undefined {
    return this.#ledger ?? this.#below.ledger();
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

  setLedger(ledger: Uint8Array): void {
    this.#ledger = ledger;
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
      ledger: this.#ledger,
      facts: this.#facts ?? NOTHING,
    };
  }
}

/** Writes all changes of an overlay to another writer. */
export function writeChanges(changes: StateChanges, to: StateWriter): void {
  for (const account of changes.accounts.values()) to.setAccount(account);
  for (const delegate of changes.delegates.values()) to.setDelegate(delegate);
  for (const [index, list] of changes.roundLists) to.setRoundList(index, list);
  if (changes.ledger !== undefined) to.setLedger(changes.ledger);
  for (const [name, value] of changes.facts) to.setFact(name, value);
}

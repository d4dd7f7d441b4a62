/**
 * Holds the consensus state of a chain in memory, with undo records of the newest blocks. `RowMaker` applies blocks to
 * this state. The blocks come from a node that has already verified them. `RowMaker` nevertheless
 * applies each block with the rules of the network (`Rules.applyBlock`), but without checking signatures, and without
 * looking for repeated transactions (`hasTransaction`). The state takes about 0.5 KB of memory for each account.
 */

import { assert } from '../primitives/errors.ts';
import { StateOverlay, type Account, type Delegate, type StateChanges, type StateWriter } from '../protocol/state.ts';
import type { Address, BlockHeader, PublicKey } from '../protocol/types.ts';

/**
 * Number of headers that the state keeps below the oldest block with an undo record. If no block has an undo record,
 * the state keeps this number of headers below the tip. To apply a block, the rules read the headers of the block's
 * round, which are at most 101 headers. The BFT state contains the prevotes and precommits for up to 505 headers. The
 * rules save this state as bytes that do not contain the headers. To decode these bytes, the rules would have to read
 * the headers. However, the rules cache the decoded form of each BFT state that they save. Therefore, the rules never
 * decode a BFT state in this class.
 */
const HEADERS_KEPT = 256;

/**
 * An account before and after a block that changed the account. `before` is undefined if the block created the account.
 */
export interface AccountChange {
  readonly before: Account | undefined;
  readonly after: Account;
}

/** Undo record of a block: the earlier values of the state entries that the block overwrote. */
interface Undo {
  readonly height: number;
  readonly accounts: readonly (readonly [Address, Account | undefined])[];
  readonly delegates: readonly (readonly [PublicKey, Delegate | undefined, string])[];
  readonly roundLists: readonly (readonly [number, readonly PublicKey[] | undefined])[];
  readonly facts: readonly (readonly [string, string | undefined])[];
  readonly bftState: Uint8Array | undefined;
}

export class ChainState implements Omit<StateWriter, `set${string}`> {
  readonly #accounts = new Map<Address, Account>();
  readonly #delegates = new Map<PublicKey, Delegate>();
  readonly #usernames = new Map<string, PublicKey>();
  readonly #roundLists = new Map<number, readonly PublicKey[]>();
  readonly #facts = new Map<string, string>();
  readonly #headers = new Map<number, BlockHeader>();
  #bftState: Uint8Array | undefined;
  #tip: BlockHeader | undefined;
  /** The undo records of the blocks above the last height that was passed to `settle`, in ascending order of height. */
  #undo: Undo[] = [];

  tip(): BlockHeader | undefined {
    return this.#tip;
  }

  account(address: Address): Account | undefined {
    return this.#accounts.get(address);
  }

  delegate(publicKey: PublicKey): Delegate | undefined {
    return this.#delegates.get(publicKey);
  }

  delegateKeyByUsername(username: string): PublicKey | undefined {
    return this.#usernames.get(username);
  }

  delegates(): Iterable<Delegate> {
    return this.#delegates.values();
  }

  roundList(index: number): readonly PublicKey[] | undefined {
    return this.#roundLists.get(index);
  }

  bftState(): Uint8Array | undefined {
    return this.#bftState;
  }

  fact(name: string): string | undefined {
    return this.#facts.get(name);
  }

  header(height: number): BlockHeader | undefined {
    return this.#headers.get(height);
  }

  /**
   * Always returns false. The state does not store which transactions the chain has. The blocks come from a node, and
   * this node has already refused each block that repeats a transaction.
   */
  hasTransaction(): boolean {
    return false;
  }

  /**
   * Appends a block.
   *
   * @param apply function that writes the effects of the block to its argument `state`; if `apply` throws an error,
   *   this `ChainState` does not change
   * @returns the accounts that the block changed
   */
  append(block: BlockHeader, apply: (state: StateWriter) => void): readonly AccountChange[] {
    const overlay = new StateOverlay(this);
    apply(overlay);
    const changes = overlay.changes();
    const accounts = Array.from(changes.accounts.values(), (after) => ({ before: this.account(after.address), after }));
    this.#undo.push(this.#undoOf(block.height, changes));
    this.#write(changes);
    this.#headers.set(block.height, block);
    this.#tip = block;
    return accounts;
  }

  /** Reverts the newest block with the help of its undo record. */
  revert(): void {
    const undo = this.#undo.pop();
    assert(undo !== undefined && undo.height === this.#tip?.height, 'only blocks with an undo record are reverted');
    for (const [address, before] of undo.accounts) restore(this.#accounts, address, before);
    for (const [publicKey, before, username] of undo.delegates) {
      restore(this.#delegates, publicKey, before);
      if (before === undefined) this.#usernames.delete(username);
    }
    for (const [index, before] of undo.roundLists) restore(this.#roundLists, index, before);
    for (const [name, before] of undo.facts) restore(this.#facts, name, before);
    this.#bftState = undo.bftState;
    this.#headers.delete(undo.height);
    this.#tip = this.#headers.get(undo.height - 1);
  }

  /** Drops the undo records of blocks up to this height. These blocks cannot be reverted any more. */
  settle(height: number): void {
    if ((this.#undo[0]?.height ?? Infinity) <= height) this.#undo = this.#undo.filter((undo) => undo.height > height);
    // The caller can revert the oldest block that has an undo record, and then apply a new block at the same height. To
    // apply the new block, the rules need the headers below this height.
    const first = Math.min(this.#undo[0]?.height ?? Infinity, this.#tip?.height ?? 0) - HEADERS_KEPT;
    for (const known of this.#headers.keys()) {
      if (known >= first) break;
      this.#headers.delete(known);
    }
  }

  #undoOf(height: number, changes: StateChanges): Undo {
    return {
      height,
      accounts: Array.from(changes.accounts.keys(), (address) => [address, this.#accounts.get(address)] as const),
      delegates: Array.from(
        changes.delegates.values(),
        ({ publicKey, username }) => [publicKey, this.#delegates.get(publicKey), username] as const,
      ),
      roundLists: Array.from(changes.roundLists.keys(), (index) => [index, this.#roundLists.get(index)] as const),
      facts: Array.from(changes.facts.keys(), (name) => [name, this.#facts.get(name)] as const),
      bftState: this.#bftState,
    };
  }

  #write(changes: StateChanges): void {
    for (const [address, account] of changes.accounts) this.#accounts.set(address, account);
    for (const [publicKey, delegate] of changes.delegates) {
      this.#delegates.set(publicKey, delegate);
      this.#usernames.set(delegate.username, publicKey);
    }
    for (const [index, list] of changes.roundLists) restore(this.#roundLists, index, list);
    for (const [name, value] of changes.facts) this.#facts.set(name, value);
    if (changes.bftState !== undefined) this.#bftState = changes.bftState;
  }
}

function restore<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

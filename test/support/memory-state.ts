/** The consensus state in maps: the part of a store that the rules need, for tests without a disk. */

import { StateOverlay, writeChanges } from '../../src/protocol/state.ts';
import type { Account, Delegate, StateWriter } from '../../src/protocol/state.ts';
import type { Address, Block, BlockHeader, PublicKey, TransactionId } from '../../src/protocol/types.ts';

export interface MemoryStateOptions {
  /** Number of newest blocks that the state keeps, with the ids of their transactions; by default all blocks. */
  readonly keptBlocks?: number;
}

export class MemoryState implements StateWriter {
  readonly #accounts = new Map<Address, Account>();
  readonly #delegates = new Map<PublicKey, Delegate>();
  readonly #usernames = new Map<string, PublicKey>();
  readonly #roundLists = new Map<number, readonly PublicKey[]>();
  readonly #blocks = new Map<number, Block>();
  readonly #transactions = new Set<TransactionId>();
  readonly #facts = new Map<string, string>();
  readonly #keptBlocks: number;
  #bftState: Uint8Array | undefined;
  #height = 0;

  constructor({ keptBlocks = Infinity }: MemoryStateOptions = {}) {
    this.#keptBlocks = keptBlocks;
  }

  account(address: Address): Account | undefined {
    return this.#accounts.get(address);
  }

  accounts(): Iterable<Account> {
    return this.#accounts.values();
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

  roundListIndexes(): readonly number[] {
    return [...this.#roundLists.keys()].sort((a, b) => a - b);
  }

  bftState(): Uint8Array | undefined {
    return this.#bftState;
  }

  fact(name: string): string | undefined {
    return this.#facts.get(name);
  }

  block(height: number): Block | undefined {
    return this.#blocks.get(height);
  }

  header(height: number): BlockHeader | undefined {
    return this.block(height);
  }

  /** The newest block. */
  tip(): Block {
    const tip = this.#blocks.get(this.#height);
    if (tip === undefined) throw new Error('the chain is empty');
    return tip;
  }

  hasTransaction(id: TransactionId): boolean {
    return this.#transactions.has(id);
  }

  setAccount(account: Account): void {
    this.#accounts.set(account.address, account);
  }

  setDelegate(delegate: Delegate): void {
    this.#delegates.set(delegate.publicKey, delegate);
    this.#usernames.set(delegate.username, delegate.publicKey);
  }

  setRoundList(index: number, list: readonly PublicKey[] | undefined): void {
    if (list === undefined) this.#roundLists.delete(index);
    else this.#roundLists.set(index, list);
  }

  setBftState(bftState: Uint8Array): void {
    this.#bftState = bftState;
  }

  setFact(name: string, value: string): void {
    this.#facts.set(name, value);
  }

  /**
   * Calls `apply` with an overlay of the state. After `apply` returns, the method writes the changes of the overlay to
   * the state, and also stores `block` in the state. If `apply` throws, the state does not change.
   */
  append(block: Block, apply: (state: StateWriter) => void): void {
    const overlay = new StateOverlay(this);
    apply(overlay);
    writeChanges(overlay.changes(), this);
    this.#height = block.height;
    this.#blocks.set(block.height, block);
    for (const { id } of block.transactions) this.#transactions.add(id);
    this.#forget(block.height - this.#keptBlocks);
  }

  #forget(height: number): void {
    const { transactions = [] } = this.#blocks.get(height) ?? {};
    for (const { id } of transactions) this.#transactions.delete(id);
    this.#blocks.delete(height);
  }
}

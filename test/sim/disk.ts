/**
 * Simulates the disk of a node. A disk is a key-value store in memory or in LMDB, whose content survives a simulated
 * crash of the node's process. After each transaction, the disk updates the digest of the state and the sum of all
 * balances (the supply), so that `checks.ts` can read both values quickly. A test can also let the process crash at a
 * given write to the disk.
 */

import { hash } from 'node:crypto';

import { readsOf, type KeyValue, type KeyValueWriter } from '../../src/store/tables/key-value.ts';
import { STATE_TABLES, TABLES } from '../../src/store/tables/layout.ts';
import { MemoryKeyValue } from '../../src/store/disk/memory.ts';
import { decodeAccount } from '../../src/store/tables/records.ts';

/**
 * A write of a process that has died throws this error. The code of such a process may still run for a moment, but has
 * no effect on its disk or on other nodes.
 */
export class ProcessDied extends Error {
  constructor() {
    super('the process has died');
    this.name = 'ProcessDied';
  }
}

/**
 * A simulated process of a node. After the process has died, the disk refuses its writes, and its timers and log lines
 * have no effect.
 */
export interface Process {
  isAlive: boolean;
}

const STATE_NUMBERS = new Set<number>(STATE_TABLES.map((table) => TABLES[table].number));
const ACCOUNTS = TABLES.accounts.number;

interface Counted {
  readonly hash: bigint;
  readonly balance: bigint;
}

export class Disk {
  readonly #keyValue: KeyValue;
  /**
   * The hash and the balance of each entry of the state. The key of the map is the key of the entry. Undefined if the
   * disk does not compute the digest and the supply.
   */
  readonly #counted: Map<string, Counted> | undefined;
  #digest = 0n;
  #supply = 0n;
  #writes = 0;
  #dieAtWrite = Number.POSITIVE_INFINITY;
  #onDeath: () => void = () => undefined;

  /** @param isCounted whether the disk computes the digest and the supply */
  constructor(keyValue: KeyValue = new MemoryKeyValue(), isCounted = true) {
    this.#keyValue = keyValue;
    if (!isCounted) return;
    this.#counted = new Map();
    for (const table of STATE_TABLES) {
      for (const { key } of keyValue.entries(TABLES[table].all)) this.#count(key.toString('latin1'));
    }
  }

  /**
   * The digest of the state: the XOR of the hashes of all its entries. Equal states have equal digests, also if their
   * entries were written in different orders.
   */
  get digest(): bigint {
    return this.#digest;
  }

  /** Sum of all balances in beddows. */
  get supply(): bigint {
    return this.#supply;
  }

  /** Number of writes to the disk since its creation, including writes that failed because the process had died. */
  get writes(): number {
    return this.#writes;
  }

  /**
   * Lets the process die at a future write, in the middle of the transaction. `number` counts the writes from now on;
   * the next write has the number 1. At this write, the disk calls `onDeath`.
   */
  dieAtWrite(number: number, onDeath: () => void): void {
    this.#dieAtWrite = this.#writes + number;
    this.#onDeath = onDeath;
  }

  /**
   * Opens the key-value store for one process. After the process has died, its reads still succeed, and its writes
   * throw `ProcessDied`.
   */
  mount(owner: Process): KeyValue {
    const keyValue = this.#keyValue;
    return {
      ...readsOf(keyValue),
      transact: (work) => this.#transact(owner, work),
      snapshot: () => keyValue.snapshot(),
      close: () => Promise.resolve(),
    };
  }

  /** Copies the content to a new disk. */
  copy(isCounted = true): Disk {
    const copy = new MemoryKeyValue();
    copy.transact((writer) => {
      const everything = { gte: Buffer.from([0]), lt: Buffer.from([255]) };
      for (const { key, value } of this.#keyValue.entries(everything)) writer.put(key, value);
    });
    return new Disk(copy, isCounted);
  }

  close(): Promise<void> {
    return this.#keyValue.close();
  }

  #transact<T>(owner: Process, work: (writer: KeyValueWriter) => T): T {
    const changed = new Set<string>();
    const step = (key: Uint8Array): void => {
      this.#writes += 1;
      if (owner.isAlive && this.#writes >= this.#dieAtWrite) {
        this.#dieAtWrite = Number.POSITIVE_INFINITY;
        owner.isAlive = false;
        this.#onDeath();
      }
      if (!owner.isAlive) throw new ProcessDied();
      if (this.#counted !== undefined && STATE_NUMBERS.has(key[0] ?? 0))
        changed.add(Buffer.from(key).toString('latin1'));
    };
    const result = this.#keyValue.transact((writer) =>
      work({
        ...readsOf(writer),
        put: (key, value) => {
          step(key);
          writer.put(key, value);
        },
        remove: (key) => {
          step(key);
          writer.remove(key);
        },
      }),
    );
    for (const key of changed) this.#count(key);
    return result;
  }

  #count(keyText: string): void {
    if (this.#counted === undefined) return;
    const before = this.#counted.get(keyText);
    const key = Buffer.from(keyText, 'latin1');
    const value = this.#keyValue.get(key);
    const after = value === undefined ? undefined : { hash: hashOf(key, value), balance: balanceOf(key, value) };
    this.#digest ^= (before?.hash ?? 0n) ^ (after?.hash ?? 0n);
    this.#supply += (after?.balance ?? 0n) - (before?.balance ?? 0n);
    if (after === undefined) this.#counted.delete(keyText);
    else this.#counted.set(keyText, after);
  }
}

function hashOf(key: Buffer, value: Buffer): bigint {
  return hash('sha256', Buffer.concat([Buffer.from([key.length]), key, value]), 'buffer').readBigUInt64LE();
}

function balanceOf(key: Buffer, value: Buffer): bigint {
  return key[0] === ACCOUNTS ? decodeAccount(key.toString('utf8', 1), value, () => []).balance : 0n;
}

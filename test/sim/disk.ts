/**
 * The disk of a simulated node: a key-value store in memory or in LMDB, which survives the processes that use it. After
 * each transaction, the disk updates the digest and the supply of the state, so that `checks.ts` can read both values
 * without cost. The disk can also kill the process at any write.
 */

import { hash } from 'node:crypto';

import { readsOf, type KeyValue, type KeyValueWriter } from '../../src/store/tables/key-value.ts';
import { STATE_TABLES, TABLES } from '../../src/store/tables/layout.ts';
import { MemoryKeyValue } from '../../src/store/disk/memory.ts';
import { decodeAccount } from '../../src/store/tables/records.ts';

/**
 * Thrown by a write of a dead process. The code of the process may run on for a moment, but has no effect on other
 * nodes.
 */
export class ProcessDied extends Error {
  constructor() {
    super('the process has died');
    this.name = 'ProcessDied';
  }
}

/** A process of a node. After it has died, its disk refuses writes, and its timers and log lines have no effect. */
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
  /** Hash and balance of each entry of the state. Undefined if the disk does not track the digest and the supply. */
  readonly #counted: Map<string, Counted> | undefined;
  #digest = 0n;
  #supply = 0n;
  #writes = 0;
  #dieAtWrite = Number.POSITIVE_INFINITY;
  #onDeath: () => void = () => undefined;

  /** @param isCounted whether to track the digest and the supply */
  constructor(keyValue: KeyValue = new MemoryKeyValue(), isCounted = true) {
    this.#keyValue = keyValue;
    if (!isCounted) return;
    this.#counted = new Map();
    for (const table of STATE_TABLES) {
      for (const { key } of keyValue.entries(TABLES[table].all)) this.#count(key.toString('latin1'));
    }
  }

  /**
   * XOR of the hashes of all entries of the consensus state. Equal states have equal digests, whatever the order of the
   * writes.
   */
  get digest(): bigint {
    return this.#digest;
  }

  /** Sum of all balances in beddows. */
  get supply(): bigint {
    return this.#supply;
  }

  /** Number of writes since the disk was made, including failed writes. */
  get writes(): number {
    return this.#writes;
  }

  /**
   * Lets the process die in the middle of a transaction, at the write with the given number. The next write has number
   * 1.
   */
  dieAtWrite(number: number, onDeath: () => void): void {
    this.#dieAtWrite = this.#writes + number;
    this.#onDeath = onDeath;
  }

  /** Opens the key-value store for one process. After the process has died, reads still succeed and writes throw. */
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

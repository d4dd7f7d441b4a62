/**
 * The disk of a simulated node: keys that outlive the processes over them, in memory or in LMDB. It counts what the checks
 * want to know of the state, digest and supply, as keys change, so that they cost nothing to ask; and it can let the process
 * die at any write.
 */

import { hash } from 'node:crypto';

import { readsOf, type KeyValue, type KeyValueWriter } from '../../src/store/tables/key-value.ts';
import { STATE_TABLES, TABLES } from '../../src/store/tables/layout.ts';
import { MemoryKeyValue } from '../../src/store/disk/memory.ts';
import { decodeAccount } from '../../src/store/tables/records.ts';

/** What a write of a dead process throws. Its code may go on running a little; nothing of it reaches anybody. */
export class ProcessDied extends Error {
  constructor() {
    super('the process has died');
    this.name = 'ProcessDied';
  }
}

/** A running process, as its disk, clock and wire see it. */
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
  /** Undefined where nobody asks for digest and supply. */
  readonly #counted: Map<string, Counted> | undefined;
  #digest = 0n;
  #supply = 0n;
  #writes = 0;
  #dieAtWrite = Number.POSITIVE_INFINITY;
  #onDeath: () => void = () => undefined;

  /** @param isCounted whether digest and supply will be asked for */
  constructor(keyValue: KeyValue = new MemoryKeyValue(), isCounted = true) {
    this.#keyValue = keyValue;
    if (!isCounted) return;
    this.#counted = new Map();
    for (const table of STATE_TABLES) {
      for (const { key } of keyValue.entries(TABLES[table].all)) this.#count(key.toString('latin1'));
    }
  }

  /** Exclusive or of hashes of all entries of consensus state: equal states have equal digests, in whatever order made. */
  get digest(): bigint {
    return this.#digest;
  }

  /** Sum of all balances in beddows. */
  get supply(): bigint {
    return this.#supply;
  }

  /** Writes since the disk was made, failed ones included. */
  get writes(): number {
    return this.#writes;
  }

  /** Lets the process die in the middle of a transaction, at the write with this number from now (from 1). */
  dieAtWrite(number: number, onDeath: () => void): void {
    this.#dieAtWrite = this.#writes + number;
    this.#onDeath = onDeath;
  }

  /** The keys as one process sees them. After its death reads go on and writes throw. */
  mount(owner: Process): KeyValue {
    const keyValue = this.#keyValue;
    return {
      ...readsOf(keyValue),
      transact: (work) => this.#transact(owner, work),
      snapshot: () => keyValue.snapshot(),
      close: () => Promise.resolve(),
    };
  }

  /** The same content on another disk. */
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

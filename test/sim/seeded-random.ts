/**
 * A generator of random numbers. Two generators with the same seed give the same numbers. The algorithm is
 * xoshiro128**, and splitmix32 computes its first state from the seed.
 */

import type { Random } from '../../src/ports/clock.ts';

export class SeededRandom implements Random {
  readonly #state: Uint32Array;

  constructor(seed: number | string) {
    this.#state = new Uint32Array(4);
    let mixed = typeof seed === 'number' ? seed >>> 0 : hashOf(seed);
    for (let at = 0; at < 4; at += 1) {
      mixed = (mixed + 0x9e37_79b9) >>> 0;
      let value = mixed;
      value = Math.imul(value ^ (value >>> 16), 0x21f0_aaad);
      value = Math.imul(value ^ (value >>> 15), 0x735a_2d97);
      this.#state[at] = (value ^ (value >>> 15)) >>> 0;
    }
  }

  /** Returns a random unsigned integer of 32 bits. All values are equally likely. */
  next(): number {
    const s = this.#state;
    const [s0 = 0, s1 = 0, s2 = 0, s3 = 0] = s;
    const rotated = Math.imul(rotateLeft(Math.imul(s1, 5), 7), 9) >>> 0;
    s[2] = s2 ^ s0;
    s[3] = s3 ^ s1;
    s[1] = s1 ^ s[2];
    s[0] = s0 ^ s[3];
    s[2] = s[2] ^ (s1 << 9);
    s[3] = rotateLeft(s[3], 11);
    return rotated;
  }

  fraction(): number {
    return this.next() / 0x1_0000_0000;
  }

  below(below: number): number {
    return Math.floor(this.fraction() * below);
  }

  /** Returns a random integer from `low` to `high`, both included. All values are equally likely. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.below(256));
  }

  /**
   * Returns a new, independent generator. If each part of a world uses its own generator, the number of calls in one
   * part does not change the random numbers of another part.
   */
  fork(name: string): SeededRandom {
    return new SeededRandom(`${this.next()}/${name}`);
  }
}

function rotateLeft(value: number, bits: number): number {
  return ((value << bits) | (value >>> (32 - bits))) >>> 0;
}

function hashOf(text: string): number {
  let hash = 0x811c_9dc5;
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x0100_0193) >>> 0;
  return hash;
}

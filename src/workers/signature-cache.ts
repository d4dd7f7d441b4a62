/** Answers already given: a transaction verified for the pool needs no second check when it comes in a block. */

import { LruMap } from '../primitives/bounded.ts';
import type { SignatureCheck } from '../protocol/types.ts';

const PUBLIC_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/**
 * Keeps the latest answers. True and false are kept alike: both are facts about the bytes, and a peer that repeats a wrong
 * signature should cost nothing either. Questions that are put again as the same object, as those of a transaction are, find
 * their answer without a look at the bytes.
 */
export class SignatureCache {
  readonly #answers: LruMap<string, boolean>;
  readonly #answersOfObjects = new WeakMap<SignatureCheck, boolean>();

  /** @param entriesMax answers kept; each takes some 250 bytes */
  constructor(entriesMax: number) {
    this.#answers = new LruMap(entriesMax);
  }

  /** The answer to this very object, if it was asked before and is still in use somewhere. */
  recallObject(check: SignatureCheck): boolean | undefined {
    return this.#answersOfObjects.get(check);
  }

  recall(key: string): boolean | undefined {
    return this.#answers.get(key);
  }

  /** @param key what `checkKey` makes of the check; without one the answer is kept for this object alone */
  keep(check: SignatureCheck, key: string | undefined, answer: boolean): void {
    if (key !== undefined) this.#answers.set(key, answer);
    this.#answersOfObjects.set(check, answer);
  }
}

/** False for a check whose answer is no whatever its bytes. */
export function hasRightLengths({ publicKey, signature }: SignatureCheck): boolean {
  return publicKey.length === PUBLIC_KEY_BYTES && signature.length === SIGNATURE_BYTES;
}

/**
 * The three parts as one text of a character for each byte. The outer parts have fixed lengths, so no two checks share a
 * key; undefined when the lengths are wrong and the answer therefore is no.
 */
export function checkKey(check: SignatureCheck): string | undefined {
  if (!hasRightLengths(check)) return undefined;
  const { publicKey, message, signature } = check;
  const bytes = Buffer.allocUnsafe(PUBLIC_KEY_BYTES + SIGNATURE_BYTES + message.length);
  bytes.set(publicKey, 0);
  bytes.set(signature, PUBLIC_KEY_BYTES);
  bytes.set(message, PUBLIC_KEY_BYTES + SIGNATURE_BYTES);
  return bytes.toString('latin1');
}

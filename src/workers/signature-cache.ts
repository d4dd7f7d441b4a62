/**
 * Results of earlier signature checks: a transaction that was verified for the pool needs no second check when it comes
 * in a block.
 */

import { LruMap } from '../primitives/bounded.ts';
import type { SignatureCheck } from '../protocol/types.ts';

const PUBLIC_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/**
 * Keeps the latest results. The cache also keeps the results of failed checks. If failed checks were not kept, a peer
 * could cost the node time again by repeating a wrong signature. The checks of a transaction are always the same
 * objects, so their results are found without reading the bytes.
 */
export class SignatureCache {
  readonly #answers: LruMap<string, boolean>;
  readonly #answersOfObjects = new WeakMap<SignatureCheck, boolean>();

  /**
   * @param entriesMax number of results kept; each takes about 250 bytes
   */
  constructor(entriesMax: number) {
    this.#answers = new LruMap(entriesMax);
  }

  /** The result for this very object, if it was checked before. */
  recallObject(check: SignatureCheck): boolean | undefined {
    return this.#answersOfObjects.get(check);
  }

  recall(key: string): boolean | undefined {
    return this.#answers.get(key);
  }

  /**
   * @param key the result of `checkKey` for the check; without a key, the result is kept for this object alone
   */
  keep(check: SignatureCheck, key: string | undefined, answer: boolean): void {
    if (key !== undefined) this.#answers.set(key, answer);
    this.#answersOfObjects.set(check, answer);
  }
}

/** False when key or signature has a wrong length. A check with a wrong length always fails. */
export function hasRightLengths({ publicKey, signature }: SignatureCheck): boolean {
  return publicKey.length === PUBLIC_KEY_BYTES && signature.length === SIGNATURE_BYTES;
}

/**
 * Public key, signature and message as one text with a character for each byte. Public key and signature have fixed
 * lengths, so no two checks share a key. Undefined when one of the lengths is wrong, because a check with a wrong
 * length always fails.
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

/**
 * Stores the results of signature checks. The pool checks the signatures of each transaction that it receives. While
 * the cache has the results, the node does not repeat these checks when a block contains the transaction. There is one
 * exception: for a batch of more than `KEYED_CHECKS_MAX` checks (`verifier-pool.ts`), worker threads repeat the checks
 * of a transaction if the block and the pool have two separate JavaScript objects for this transaction, even if the
 * contents of the two objects are equal.
 */

import { LruMap } from '../primitives/bounded.ts';
import type { SignatureCheck } from '../protocol/types.ts';

const PUBLIC_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/**
 * Stores recently used results, including the results of failed checks. If the cache did not store the results of
 * failed checks, the node would check a wrong signature each time that a peer sends this signature. The primary
 * signature of a transaction is the signature with the sender's first key. The codec stores the check object
 * (`SignatureCheck`) of this signature for each transaction object, and usually returns the same check object again.
 * The cache therefore usually finds the result of this check by the check object, without reading the bytes of the
 * message and the signature.
 */
export class SignatureCache {
  readonly #answers: LruMap<string, boolean>;
  readonly #answersOfObjects = new WeakMap<SignatureCheck, boolean>();

  /**
   * @param entriesMax maximum number of results that the cache stores under a text (the result of `checkKey`); each of
   *   these results takes at most about 260 bytes. In addition, the cache stores the result for each check object as
   *   long as the object exists
   */
  constructor(entriesMax: number) {
    this.#answers = new LruMap(entriesMax);
  }

  /** Returns the stored result for this check object; undefined if no result is stored for the object. */
  recallObject(check: SignatureCheck): boolean | undefined {
    return this.#answersOfObjects.get(check);
  }

  /**
   * Returns the result that is stored under `key` (a result of `checkKey`); undefined if no result is stored under this
   * key.
   */
  recall(key: string): boolean | undefined {
    return this.#answers.get(key);
  }

  /**
   * Stores a result.
   *
   * @param key the result of `checkKey` for the check; if the key is undefined, only `recallObject` finds the result
   */
  keep(check: SignatureCheck, key: string | undefined, answer: boolean): void {
    if (key !== undefined) this.#answers.set(key, answer);
    this.#answersOfObjects.set(check, answer);
  }
}

/** False if the public key or the signature has a wrong length. A check with a wrong length always fails. */
export function hasRightLengths({ publicKey, signature }: SignatureCheck): boolean {
  return publicKey.length === PUBLIC_KEY_BYTES && signature.length === SIGNATURE_BYTES;
}

/**
 * Returns the cache key of a check: public key, signature and message as one text with a character for each byte.
 * Public key and signature have fixed lengths, so two different checks never have the same cache key. Returns undefined
 * if the public key or the signature has a wrong length, because such a check always fails.
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

/**
 * Creates signature verifiers for tests and simulations. These verifiers start no threads. Several nodes of one process
 * can share a verifier.
 */

import { CHECK_MS, type Ed25519 } from '../crypto/ed25519.ts';
import type { Verifier } from '../ports/verifier.ts';
import type { SignatureCheck } from '../protocol/types.ts';
import { SignatureCache, checkKey } from './signature-cache.ts';

/**
 * Creates a verifier that makes all checks on the calling thread and stores the results of the checks in a cache.
 *
 * @param cacheEntriesMax maximum number of results that the cache stores by content (public key, signature and
 *   message); the cache drops results that were not used recently (see `LruMap`)
 */
export function createInlineVerifier(ed25519: Ed25519, cacheEntriesMax: number): Verifier {
  const cache = new SignatureCache(cacheEntriesMax);
  const metered = new MeteredChecks(ed25519);
  const verify = (check: SignatureCheck): boolean => verifyWith(cache, metered, check);
  return {
    backend: ed25519.backend,
    get spentMs() {
      return metered.spentMs;
    },
    verify,
    verifyAll: (checks) => Promise.resolve(checks.map(verify)),
    close: () => Promise.resolve(),
  };
}

/** Checks signatures, and estimates the total time of these checks from the number of checks. */
export class MeteredChecks {
  readonly #ed25519: Ed25519;
  #checks = 0;

  constructor(ed25519: Ed25519) {
    this.#ed25519 = ed25519;
  }

  get spentMs(): number {
    return this.#checks * CHECK_MS[this.#ed25519.backend];
  }

  verify(check: SignatureCheck): boolean {
    this.#checks += 1;
    return this.#ed25519.verify(check);
  }
}

/**
 * Returns the result of one check. If the cache does not have the result, the function makes the check and adds the
 * result to the cache. If the public key or the signature has a wrong length, the result is false without a check.
 */
export function verifyWith(cache: SignatureCache, ed25519: Pick<Ed25519, 'verify'>, check: SignatureCheck): boolean {
  const asked = cache.recallObject(check);
  if (asked !== undefined) return asked;
  const key = checkKey(check);
  if (key === undefined) return false;
  const answer = cache.recall(key) ?? ed25519.verify(check);
  cache.keep(check, key, answer);
  return answer;
}

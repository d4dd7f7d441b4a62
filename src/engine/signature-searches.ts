/**
 * Runs the signature searches (`Rules.signatureSearch`) of many transactions together. A search finds the keys with
 * which a transaction was signed. In each step, the search asks for signature checks. From the results, the search
 * decides which checks it asks for in its next step. In each step, this module collects the checks of all searches, and
 * passes these checks to the verifier together.
 */

import type { Verifier } from '../ports/verifier.ts';
import type { SignatureSearch } from '../protocol/types.ts';

/**
 * Maximum number of checks in one call of the verifier. The number equals `KEYED_CHECKS_MAX` in `verifier-pool.ts`. In
 * a call with at most `KEYED_CHECKS_MAX` checks, the verifier caches all results by the content of the check
 * (`checkKey`). In a call with more checks, the verifier caches some results only by the check object.
 */
const CHECKS_AT_ONCE_MAX = 200;

/**
 * Runs the signature searches until all of them have ended. Each search looks for the keys with which one transaction
 * was signed. After the call, the signature cache has the results of all signature checks that the searches asked for.
 * A multisignature transaction has at most 15 members' signatures, and a search takes at most a few steps for each
 * signature. The number of steps is therefore limited.
 */
export async function answerSearches(
  searches: readonly SignatureSearch[],
  verifier: Pick<Verifier, 'verifyAll'>,
): Promise<void> {
  let open = searches.flatMap((search) => stepOf(search, search.next()));
  while (open.length > 0) {
    const checks = open.flatMap(({ asked }) => asked);
    const answers: boolean[] = [];
    for (let from = 0; from < checks.length; from += CHECKS_AT_ONCE_MAX) {
      answers.push(...(await verifier.verifyAll(checks.slice(from, from + CHECKS_AT_ONCE_MAX))));
    }
    let at = 0;
    open = open.flatMap(({ search, asked }) => {
      const own = answers.slice(at, at + asked.length);
      at += asked.length;
      return stepOf(search, search.next(own));
    });
  }
}

function stepOf(search: SignatureSearch, { done, value }: ReturnType<SignatureSearch['next']>) {
  return done === true ? [] : [{ search, asked: value }];
}

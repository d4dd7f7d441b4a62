/**
 * Runs the signature searches of many transactions together (`Rules.signatureSearch`). A search asks for signature
 * checks, and uses their results for its next checks. In each round, the verifier makes the checks of all searches.
 */

import type { Verifier } from '../ports/verifier.ts';
import type { SignatureSearch } from '../protocol/types.ts';

/**
 * Maximum number of checks in one call of the verifier. The number equals `KEYED_CHECKS_MAX` in `verifier-pool.ts`, so
 * that the verifier caches all results by content.
 */
const CHECKS_AT_ONCE_MAX = 200;

/**
 * Runs the searches until all of them have ended. The results of the checks are then in the signature cache. A
 * transaction has at most 15 signatures of members, and each signature takes a few rounds of checks. The number of
 * rounds is therefore limited.
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

/**
 * Limits the time for which the node waits for an answer of a peer that has claimed a better chain but has not proved
 * this claim yet. The limit applies only while another peer also claims a better chain.
 */

import type { Clock, Timer } from '../../ports/clock.ts';

/**
 * Returns a promise that settles like `answer`, or rejects earlier. Until `answer` settles, the function calls
 * `isAnotherWaiting` every `limitMs` milliseconds. If a call returns true, the returned promise rejects.
 *
 * @param refusal creates the error with which the promise rejects
 */
export function withProofTimeout<A>(
  answer: Promise<A>,
  clock: Clock,
  limitMs: number,
  isAnotherWaiting: () => boolean,
  refusal: () => Error,
): Promise<A> {
  return new Promise((settle, fail) => {
    let timer: Timer | undefined;
    const arm = (): void => {
      timer = clock.after(limitMs, () => {
        if (isAnotherWaiting()) fail(refusal());
        else arm();
      });
    };
    arm();
    void answer.then(settle, fail).finally(() => timer?.cancel());
  });
}

/**
 * Waits for the answer of a peer that has not yet proved its claim. The wait has a time limit if another peer also
 * claims a better chain.
 */

import type { Clock, Timer } from '../../ports/clock.ts';

/**
 * Returns a promise that resolves with the answer. Every `limitMs` milliseconds, the function calls `isAnotherWaiting`.
 * If the result is true, the promise rejects.
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

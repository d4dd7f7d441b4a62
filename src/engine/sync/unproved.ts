/** Waits for the answer of a peer that has proved nothing yet, but not while another peer waits. */

import type { Clock, Timer } from '../../ports/clock.ts';

/**
 * Resolves with the answer. Each time `limitMs` have passed, the promise rejects if another peer waits.
 *
 * @param refusal creates the error of that rejection
 */
export function unlessOthersWait<A>(
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

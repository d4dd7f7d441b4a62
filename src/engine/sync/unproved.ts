/** Waits for an answer of a peer that has proved nothing yet, as long as no other peer waits. */

import type { Clock, Timer } from '../../ports/clock.ts';

/**
 * The answer, unless another is waiting whenever `limitMs` have passed.
 *
 * @param refusal what it fails with then
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

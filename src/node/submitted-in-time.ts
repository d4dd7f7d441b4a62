/**
 * Submits a transaction to a node. If the node belongs to a devnet, the chain clock of the node can stand still for a
 * short time.
 */

import type { Clock } from '../ports/clock.ts';
import type { SubmitResult } from '../ports/node-api.ts';

/**
 * Maximum number of attempts for one transaction. While a devnet mines many slots, it sets the clock once per slot.
 * Without this maximum, the node would check a transaction from the far future again after each slot.
 */
const ATTEMPTS_MAX = 5;
/**
 * Maximum time, in milliseconds, for which a transaction with a timestamp in the future waits until the devnet sets its
 * stopped chain clock again. This is the total time of the waits between all attempts.
 */
const WAIT_MS_MAX = 5_000;

export interface StoppableTime {
  /** See `NodeControl.clockMoved`. */
  clockMoved(): Promise<void> | undefined;
  /** Clock that measures the time limit `WAIT_MS_MAX`. */
  readonly clock: Pick<Clock, 'after'>;
  /** Aborted when the node begins to close. */
  readonly closing: AbortSignal;
}

/**
 * Submits a transaction. A client writes the time of the machine into its transaction. While a devnet mines a slot, the
 * clocks of its nodes stand still, so the client's time can already be in the next slot. The node would refuse such a
 * transaction because its timestamp is in the future. In this case, the function waits until the clock moves, and
 * submits the transaction again. After `WAIT_MS_MAX`, or when the node begins to close, the wait ends, and the function
 * returns the refusal.
 *
 * @param submit submits the transaction once
 * @param time undefined if the node uses the clock of the machine
 */
export async function submittedInTime(
  submit: () => Promise<SubmitResult>,
  time: StoppableTime | undefined,
): Promise<SubmitResult> {
  let waiting: { readonly ended: Promise<'ended'>; cancel(): void } | undefined;
  try {
    for (let attempt = 1; ; attempt += 1) {
      const result = await submit();
      const isEarly = !result.accepted && result.code === 'TRANSACTION_IN_FUTURE' && attempt < ATTEMPTS_MAX;
      const moved = isEarly ? time?.clockMoved() : undefined;
      if (time === undefined || moved === undefined) return result;
      waiting ??= limitedWait(time);
      if ((await Promise.race([moved, waiting.ended])) === 'ended') return result;
    }
  } finally {
    waiting?.cancel();
  }
}

/** Creates a promise that resolves after `WAIT_MS_MAX`, or when the node begins to close. */
function limitedWait({ clock, closing }: StoppableTime) {
  let end = (): void => undefined;
  const ended = new Promise<'ended'>((resolve) => (end = () => resolve('ended')));
  const timer = clock.after(WAIT_MS_MAX, end);
  if (closing.aborted) end();
  closing.addEventListener('abort', end);
  return {
    ended,
    cancel() {
      timer.cancel();
      closing.removeEventListener('abort', end);
    },
  };
}

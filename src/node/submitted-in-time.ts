/** Submits a transaction to a node of a devnet, whose clock may stand still for a short time. */

import type { SubmitResult } from '../ports/node-api.ts';

/**
 * Maximum number of attempts for one transaction. While a devnet mines many slots, it sets the clock once per slot. The
 * node must not check a transaction of the far future at each slot.
 */
const ATTEMPTS_MAX = 5;

/**
 * Submits a transaction. A client writes the time of the machine into its transaction. A devnet stops the clocks of its
 * nodes while it mines a slot, so this time may already be in the next slot. The node would refuse such a transaction
 * because its timestamp is in the future. In this case, the function waits until the clock moves, and submits the
 * transaction again.
 *
 * @param submit submits the transaction once
 * @param clockMoved see `NodeControl.clockMoved`
 */
export async function submittedInTime(
  submit: () => Promise<SubmitResult>,
  clockMoved: () => Promise<void> | undefined = () => undefined,
): Promise<SubmitResult> {
  for (let attempt = 1; ; attempt += 1) {
    const result = await submit();
    const isEarly = !result.accepted && result.code === 'TRANSACTION_IN_FUTURE' && attempt < ATTEMPTS_MAX;
    const moved = isEarly ? clockMoved() : undefined;
    if (moved === undefined) return result;
    await moved;
  }
}

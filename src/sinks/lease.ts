/**
 * The right to write to a sink. Only one process has this right at a time. This file has the errors for a sink that
 * another process holds, and for a lost lease.
 */

import { ProtocolError } from '../primitives/errors.ts';

/**
 * Seconds after which the lease of a killed process ends. The lease lasts longer than the delays of a busy process or
 * server.
 */
export const LEASE_S = 30;
/** Time between two renewals: without renewals, a lease would end after about three times this time. */
export const RENEW_MS = 10_000;

/** The process that holds a lease. */
export interface LeaseHolder {
  /** Name of the process in messages: `process 17 on host-a`. */
  readonly owner: string;
  /** Random letters and digits that no other process has. */
  readonly token: string;
  /** Seconds for which the lease counts after its last renewal. */
  readonly leaseS?: number;
}

/**
 * Makes the error for a sink that another process holds.
 *
 * @param sink name in messages, for example `the database chain`
 * @param until Unix time in milliseconds when the lease ends unless it is renewed; undefined if the lease lasts as long
 *   as the process that holds it
 */
export function sinkInUse(sink: string, owner: string, until: number | undefined, cause?: unknown): ProtocolError {
  if (until === undefined) {
    const message = `${sink} is in use by ${owner}: stop that process, or name another sink`;
    return new ProtocolError('SINK_IN_USE', { sink, owner }, message, { cause });
  }
  const untilText = `${new Date(until).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  return new ProtocolError(
    'SINK_IN_USE',
    { sink, owner, until: untilText },
    `${sink} is in use by ${owner} until ${untilText}, and longer while that process runs: stop it, or start again then if it ` +
      'was killed',
    { cause },
  );
}

export function leaseLost(sink: string, cause?: unknown): ProtocolError {
  return new ProtocolError(
    'SINK_LEASE_LOST',
    { sink },
    `this process lost ${sink}, maybe because it stood still for too long: nothing more was written; start it again`,
    { cause },
  );
}

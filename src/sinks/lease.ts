/**
 * A lease is the right of one process to write to a sink for a limited time. This file contains the durations of
 * leases, the error for a sink that another process holds, and the error for a lost lease.
 */

import { ProtocolError } from '../primitives/errors.ts';

/**
 * Time in seconds from the last renewal of a lease to the end of the lease. If the process that holds the lease is
 * killed, another process can take the sink only after this time. With a shorter time, a process could lose its lease
 * when the process or the server is busy.
 */
export const LEASE_S = 30;
/** Milliseconds between two renewals of a lease: a third of `LEASE_S`. */
export const RENEW_MS = 10_000;

/** A process that holds a lease or tries to take a lease. */
export interface LeaseHolder {
  /** Name of the process in messages, for example `process 17 on host-a`. */
  readonly owner: string;
  /** Random letters and digits that identify this process. No other process has the same token. */
  readonly token: string;
  /** Time in seconds from the last renewal of the lease to the end of the lease; `LEASE_S` by default. */
  readonly leaseS?: number;
}

/**
 * Makes the error for a sink that another process holds.
 *
 * @param sink name in messages, for example `the database chain`
 * @param owner name of the process that holds the sink
 * @param until Unix time in milliseconds at which the lease ends if the process does not renew the lease. Undefined for
 *   the folder lock of a Parquet sink, because a folder lock lasts until the process ends
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

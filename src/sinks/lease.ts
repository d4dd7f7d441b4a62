/** The right to write to a sink: one process has it at a time. What sinks say when another has it, or when it was lost. */

import { ProtocolError } from '../primitives/errors.ts';

/** Seconds after which the lease of a killed process counts no more: longer than a busy process or server is late. */
export const LEASE_S = 30;
/** A lease is renewed three times before it ends. */
export const RENEW_MS = 10_000;

/** The process that takes a lease. */
export interface LeaseHolder {
  /** In words, such as `process 17 on host-a`. */
  readonly owner: string;
  /** Letters and digits that no other process has, chosen at random. */
  readonly token: string;
  /** How long the lease counts after it was renewed last, in seconds. */
  readonly leaseS?: number;
}

/**
 * @param sink in words, such as `the database chain`
 * @param until Unix time in milliseconds when the lease ends unless it is renewed; undefined while its holder lives
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

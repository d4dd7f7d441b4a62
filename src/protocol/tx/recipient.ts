/**
 * Recipients as the network takes them: addresses, and one text beside them. The reference compares what stands before the `L` with
 * what its number library writes for it, and that is equal for `NaN` too. Such a transfer has the bytes, the id and the signature of
 * one to `10L` and credits an account of its own; HTTP of no node takes it, peers pass it on.
 */

import { addressFault } from '../../crypto/keys.ts';
import type { Address, Transaction } from '../types.ts';

export const NAN_ADDRESS: Address = 'NaNL';
const NAN_NUMBER = 10n;

/** The recipient that a transaction names; undefined for those that name none. */
export function recipientOf({ payload }: Pick<Transaction, 'payload'>): Address | undefined {
  return 'recipientId' in payload ? payload.recipientId : undefined;
}

/** What is wrong with a recipient, in the published words; undefined when nothing is. */
export function recipientFault(recipientId: string): string | undefined {
  return recipientId === NAN_ADDRESS ? undefined : addressFault(recipientId);
}

/** The number in the bytes of a transfer. @param recipientId without fault */
export function recipientNumberOf(recipientId: Address): bigint {
  return recipientId === NAN_ADDRESS ? NAN_NUMBER : BigInt(recipientId.slice(0, -1));
}

/** The text of a recipient that the bytes do not tell; undefined where they do. */
export function recipientTextBeside(recipientId: Address): Buffer | undefined {
  return recipientId === NAN_ADDRESS ? Buffer.from(NAN_ADDRESS, 'utf8') : undefined;
}

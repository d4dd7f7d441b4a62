/**
 * Recipients that the network accepts: addresses, and the text `NaNL`. The reference compares the text before the `L` with the
 * text that its number library writes for it, and the two texts are equal for `NaN`, too. A transfer to `NaNL` has the bytes,
 * the id and the signature of a transfer to `10L`, but credits an account of its own. No node accepts such a transfer over
 * HTTP, but peers pass it on.
 */

import { addressFault } from '../../crypto/keys.ts';
import type { Address, Transaction } from '../types.ts';

export const NAN_ADDRESS: Address = 'NaNL';
const NAN_NUMBER = 10n;

/** The recipient of a transaction; undefined if it has none. */
export function recipientOf({ payload }: Pick<Transaction, 'payload'>): Address | undefined {
  return 'recipientId' in payload ? payload.recipientId : undefined;
}

/** The error of a recipient, with the message of the reference; undefined if it is correct. */
export function recipientFault(recipientId: string): string | undefined {
  return recipientId === NAN_ADDRESS ? undefined : addressFault(recipientId);
}

/**
 * The number of a recipient in the bytes of a transfer.
 *
 * @param recipientId a correct recipient
 */
export function recipientNumberOf(recipientId: Address): bigint {
  return recipientId === NAN_ADDRESS ? NAN_NUMBER : BigInt(recipientId.slice(0, -1));
}

/** The text of a recipient if the bytes do not give it; otherwise undefined. */
export function recipientTextBeside(recipientId: Address): Buffer | undefined {
  return recipientId === NAN_ADDRESS ? Buffer.from(NAN_ADDRESS, 'utf8') : undefined;
}

/**
 * Checks and encodes the recipients of transactions. The network accepts addresses and the text `NaNL` as recipients.
 * The text `NaNL` is accepted because of the way in which lisk-sdk checks an address. lisk-sdk parses the text before
 * the `L` as a number, converts the number back to text, and compares the two texts. For `NaN`, the two texts are
 * equal. In the bytes of a transfer, lisk-sdk writes `NaNL` as the number 10. Two transfers that differ only in the
 * recipients `NaNL` and `10L` therefore have the same id and the same signature. However, the transfer to `NaNL`
 * credits the separate account `NaNL`. No node accepts a transfer to `NaNL` over HTTP, but peers pass such transfers
 * on.
 */

import { addressFault } from '../../crypto/keys.ts';
import type { Address, Transaction } from '../types.ts';

export const NAN_ADDRESS: Address = 'NaNL';
const NAN_NUMBER = 10n;

/** Returns the recipient of a transaction; undefined if the transaction has no recipient. */
export function recipientOf({ payload }: Pick<Transaction, 'payload'>): Address | undefined {
  return 'recipientId' in payload ? payload.recipientId : undefined;
}

/** Returns the error message of lisk-sdk for a recipient of a wrong form; undefined if the recipient is correct. */
export function recipientFault(recipientId: string): string | undefined {
  return recipientId === NAN_ADDRESS ? undefined : addressFault(recipientId);
}

/**
 * Returns the number that encodes a recipient in the bytes of a transfer.
 *
 * @param recipientId a recipient for which `recipientFault` returns undefined
 */
export function recipientNumberOf(recipientId: Address): bigint {
  return recipientId === NAN_ADDRESS ? NAN_NUMBER : BigInt(recipientId.slice(0, -1));
}

/**
 * Returns the text `NaNL` if the recipient is `NaNL`; undefined for every other recipient. The node stores this text in
 * addition to the bytes of a transfer to `NaNL`, because the bytes do not show this recipient.
 */
export function recipientTextBeside(recipientId: Address): Buffer | undefined {
  return recipientId === NAN_ADDRESS ? Buffer.from(NAN_ADDRESS, 'utf8') : undefined;
}

/**
 * Reads and applies transfers. A transfer moves an amount from the sender to a recipient. The account of the recipient
 * need not exist yet.
 */

import { AMOUNT_MAX, lskText } from '../../primitives/amount.ts';
import { emptyAccount, withBalance, type StateWriter } from '../state.ts';
import type { Address, JsonObject, Payload, Transaction } from '../types.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import { canonicalDigits, member } from './json.ts';
import { recipientFault } from './recipient.ts';
import { assetErrors, type ShapeCompiler } from './schema.ts';
import type { AssetReading } from './transaction-type.ts';

type Transfer = Extract<Payload, { kind: 'transfer' }>;

/** Schema of the member `data` in the asset of a transfer. This member contains a text that the sender chooses. */
export const TRANSFER_DATA = { type: 'string', format: 'transferData', maxLength: 64 } as const;

/**
 * Creates a function that reads the asset of a transfer. The function expects the form that generation 3 uses: the
 * asset contains the amount and the recipient. An amount that is not a string of digits counts as 0, and the amount 0
 * is refused.
 *
 * @param amountPath `dataPath` of the error about an invalid amount
 */
export function createTransferReader(
  compiler: ShapeCompiler,
  amountPath = '.asset.amount',
): (asset: unknown, id: string) => AssetReading {
  const shape = compiler.compile({
    type: 'object',
    required: ['recipientId', 'amount'],
    properties: {
      recipientId: { type: 'string', format: 'address' },
      amount: { type: 'string', format: 'amount' },
      data: TRANSFER_DATA,
    },
  });
  return (asset, id) => {
    const amount = canonicalDigits(member(asset, 'amount')) ?? '0';
    const recipientId = asset ? member(asset, 'recipientId') : '';
    const data = member(asset, 'data');
    const payload = transferOf(amount, recipientId, data);
    // If the payload could be built, only `data` can be wrong. A transfer without `data` therefore needs no schema
    // check.
    if (payload !== undefined && data === undefined) return { errors: [], payload };
    const errors = assetErrors(shape, { data, amount, recipientId }, id);
    if (!isTransferAmount(amount)) {
      const message = 'Amount must be a valid number in string format.';
      errors.push(transactionError(id, message, amountPath, amount));
    }
    if (!recipientId) errors.push(transactionError(id, '`recipientId` must be provided.', '.asset.recipientId'));
    return { errors, payload };
  };
}

const AMOUNT_DIGITS_MAX = AMOUNT_MAX.toString().length;

/**
 * True if a transfer is allowed to have this amount: above 0 and at most 2^63 - 1.
 *
 * @param digits the amount in beddows, in digits without leading zeros
 */
export function isTransferAmount(digits: string): boolean {
  return (
    digits !== '0' &&
    (digits.length < AMOUNT_DIGITS_MAX || (digits.length === AMOUNT_DIGITS_MAX && BigInt(digits) <= AMOUNT_MAX))
  );
}

/**
 * Returns the text that remains after the node has stored a text as UTF-8: each lone surrogate becomes U+FFFD.
 */
export function storableText(text: string): string {
  return /[\ud800-\udfff]/.test(text) ? Buffer.from(text, 'utf8').toString('utf8') : text;
}

function transferOf(amount: string, recipientId: unknown, data: unknown): Transfer | undefined {
  if (!isTransferAmount(amount) || typeof recipientId !== 'string' || recipientFault(recipientId) !== undefined) {
    return undefined;
  }
  if (data !== undefined && typeof data !== 'string') return undefined;
  const transfer = { kind: 'transfer', amount: BigInt(amount), recipientId } as const;
  return data === undefined || data === '' ? transfer : { ...transfer, data: storableText(data) };
}

/**
 * Returns `{ data: '' }` if the text of a transfer is present and empty; otherwise undefined. Nodes pass on an empty
 * text. However, the signed bytes are the same for a transfer with an empty text and for a transfer without a text. The
 * codec therefore keeps the empty text as original JSON.
 */
export function emptyData(asset: unknown): JsonObject | undefined {
  return member(asset, 'data') === '' ? { data: '' } : undefined;
}

/**
 * Moves the amount from the sender to the recipient. The caller has already subtracted the fee from the balance of the
 * sender.
 */
export function applyTransfer(
  state: StateWriter,
  transaction: Transaction,
  { amount, recipientId }: { readonly amount: bigint; readonly recipientId: Address },
): TransactionError[] {
  const errors: TransactionError[] = [];
  const sender = state.account(transaction.senderId) ?? emptyAccount(transaction.senderId);
  errors.push(...amountErrors(transaction, sender.balance, amount));
  state.setAccount(withBalance(sender, sender.balance - amount));
  const recipient = state.account(recipientId) ?? emptyAccount(recipientId);
  const balance = recipient.balance + amount;
  if (balance > AMOUNT_MAX) {
    errors.push(transactionError(transaction.id, 'Invalid amount', '.amount', amount.toString()));
  }
  state.setAccount(withBalance(recipient, balance));
  return errors;
}

/**
 * Returns a list with one error if the sender of a transaction cannot pay the amount of the transaction. Returns an
 * empty list if the sender can pay the amount. The list is also empty if the fee already made the balance negative,
 * because an earlier check has reported this error. The error in the list shows the balance before the fee was
 * subtracted.
 */
export function amountErrors(transaction: Transaction, balance: bigint, amount: bigint): TransactionError[] {
  if (balance < 0n || balance >= amount) return [];
  return [balanceError(transaction, balance + transaction.fee)];
}

/** @param balance balance in beddows; the message shows the balance in LSK */
export function balanceError(transaction: Transaction, balance: bigint): TransactionError {
  const text = `Account does not have enough LSK: ${transaction.senderId}, balance: ${lskText(balance)}`;
  return transactionError(transaction.id, text, '.balance');
}

/**
 * Converts transactions of generation 2 to JSON and back. In this module, a document is the JSON from which one
 * transaction is read.
 */

import { addressFault, addressOf } from '../../crypto/keys.ts';
import { AMOUNT_MAX } from '../../primitives/amount.ts';
import { isU64Decimal } from '../../primitives/bytes.ts';
import type { Exceptions } from '../params.ts';
import { GEN2_DIALECT } from '../tx/apply-context.ts';
import { isExcepted } from '../tx/exceptions.ts';
import { boundedList, canonicalDigits, member, numberIn } from '../tx/json.ts';
import { baseErrors, BASE_PROPERTIES, isPlainlyWritten } from '../tx/schema.ts';
import { emptyData } from '../tx/transfer.ts';
import { assetOf, keyAsWritten, writtenKey } from '../tx/unsigned-json.ts';
import type { JsonObject, Payload, Transaction, OriginalJson } from '../types.ts';
import { TransactionRejected, transactionError, type TransactionError } from '../verdict.ts';
import { computedId } from './transaction-bytes.ts';
import { addressOfHex, GEN2_SHAPES, type Gen2Type, type PayloadMembers } from './transaction-types.ts';

type Types = ReadonlyMap<number, Gen2Type>;

const DIGITS_IN_FULL_MAX = 21;
/** Number of digits of the largest amount. A fee with fewer digits needs no comparison with the maximum. */
const FEE_DIGITS_MAX = AMOUNT_MAX.toString().length;

export const BASE_SHAPE = GEN2_SHAPES.compile({
  type: 'object',
  required: ['id', 'type', 'amount', 'fee', 'senderPublicKey', 'timestamp', 'asset', 'signature'],
  properties: {
    id: BASE_PROPERTIES.id,
    blockId: BASE_PROPERTIES.blockId,
    height: BASE_PROPERTIES.height,
    confirmations: BASE_PROPERTIES.confirmations,
    amount: { type: 'string', format: 'amount' },
    fee: { type: 'string', format: 'fee' },
    type: BASE_PROPERTIES.type,
    timestamp: BASE_PROPERTIES.timestamp,
    senderId: { type: 'string', format: 'address' },
    senderPublicKey: BASE_PROPERTIES.senderPublicKey,
    recipientId: { type: 'string' },
    recipientPublicKey: { type: 'string', format: 'emptyOrPublicKey' },
    signature: BASE_PROPERTIES.signature,
    signSignature: BASE_PROPERTIES.signSignature,
    signatures: BASE_PROPERTIES.signatures,
    asset: BASE_PROPERTIES.asset,
  },
});

/**
 * Fees in beddows, by type number, for transactions whose documents state no fee. For the registration of a
 * multisignature group, the value is the fee for one key.
 */
const STATIC_FEES = [
  '10000000',
  '500000000',
  '2500000000',
  '100000000',
  '500000000',
  '2500000000',
  '10000000',
  '10000000',
];

/**
 * Reads a transaction. The function makes all checks that need neither the state nor a block, except the checks of the
 * signature, the id and the fee. The node makes these three checks together later (`validateTransaction`), as lisk-sdk
 * does. The id and the fee of the returned transaction come from the document. The function accepts a malformed
 * transaction if the network has an exception for this transaction.
 *
 * @throws TransactionRejected `TRANSACTION_TYPE_UNKNOWN`, or `TRANSACTION_INVALID` with the list of all errors. This
 *   list is empty if lisk-sdk throws a single `Error` for the fault instead of a list of errors
 */
export function transactionFromJson(json: unknown, types: Types, exceptions: Exceptions): Transaction {
  const { errors, transaction } = readTransaction(json, types);
  if (transaction !== undefined && (errors.length === 0 || isExcepted(errors, transaction, exceptions, GEN2_DIALECT))) {
    return transaction;
  }
  if (errors.length === 0) throw plainRefusal('the transaction cannot be written as bytes');
  throw new TransactionRejected('TRANSACTION_INVALID', errors);
}

/** True if a parsed transaction is malformed and the network has an exception for the transaction. */
export function isExceptedShape(transaction: Transaction, types: Types, exceptions: Exceptions): boolean {
  const { errors } = readTransaction(transactionToJson(transaction, types), types);
  return errors.length > 0 && isExcepted(errors, transaction, exceptions, GEN2_DIALECT);
}

/**
 * Returns an error for a wrong id, and an error for a wrong fee. The id and the fee of the argument come from the JSON
 * of the transaction, so either value can be wrong.
 */
export function statedErrors(transaction: Transaction, types: Types): readonly TransactionError[] {
  const errors: TransactionError[] = [];
  const { id, fee, payload } = transaction;
  const expectedId = computedId(transaction);
  if (id !== expectedId) errors.push(transactionError(id, 'Invalid transaction id', '.id', id, expectedId));
  const expectedFee = types.get(transaction.type)?.fee(payload);
  if (expectedFee !== undefined && fee !== expectedFee) {
    const message = payload.kind === 'multisignature' ? `Fee must be equal to ${expectedFee}` : 'Invalid fee';
    errors.push(transactionError(id, message, '.fee', fee.toString(), expectedFee.toString()));
  }
  return errors;
}

/**
 * Reads a transaction of a genesis block. The function makes two checks: whether the JSON satisfies the base schema,
 * and whether the bytes of a transaction can contain the payload. Other limits of the payload do not apply. Id and fee
 * come from the document. If the document has no id, the function computes the id. If the document has no fee, the
 * function uses the fee in `STATIC_FEES`.
 *
 * @throws TransactionRejected `TRANSACTION_TYPE_UNKNOWN`, or `TRANSACTION_INVALID` with the errors of these checks
 */
export function genesisTransactionFromJson(json: unknown, types: Types): Transaction {
  const type = typeFor(json, types);
  const document = documentOf(json, type);
  const given = document.id === undefined || document.id === null ? undefined : document.id;
  const errors = baseErrors(BASE_SHAPE, { ...document, id: given ?? '0' }, '');
  const { payload, errors: payloadErrors } = type.readPayload(payloadMembers(document, json), '');
  if (errors.length > 0 || payload === undefined) {
    throw new TransactionRejected('TRANSACTION_INVALID', [...errors, ...payloadErrors]);
  }
  const transaction = transactionOf(document as CheckedDocument, payload);
  return given === undefined ? { ...transaction, id: computedId(transaction) } : transaction;
}

export function transactionToJson(transaction: Transaction, types: Types): JsonObject {
  const { payload, recipientPublicKey, signSignature } = transaction;
  return {
    id: transaction.id,
    amount: ('amount' in payload ? payload.amount : 0n).toString(),
    type: transaction.type,
    timestamp: transaction.timestamp,
    senderPublicKey: keyAsWritten(transaction),
    senderId: transaction.senderId,
    recipientId: ('recipientId' in payload ? payload.recipientId : undefined) ?? '',
    ...(recipientPublicKey === undefined ? {} : { recipientPublicKey }),
    fee: transaction.fee.toString(),
    signature: transaction.signature,
    ...(signSignature === undefined ? {} : { signSignature }),
    signatures: transaction.signatures,
    asset: assetOf(transaction, types.get(transaction.type)?.assetToJson(payload) ?? {}),
  };
}

/**
 * The members of a document in the form that the schema checks: with defaults for missing members, and with `amount`
 * and `fee` as decimal text.
 */
export interface Document {
  readonly id: unknown;
  readonly blockId: unknown;
  readonly height: unknown;
  readonly confirmations: unknown;
  readonly amount: string;
  readonly fee: string;
  readonly type: number;
  readonly timestamp: number;
  readonly senderId: unknown;
  readonly senderPublicKey: unknown;
  readonly recipientId: unknown;
  readonly recipientPublicKey: unknown;
  readonly signature: unknown;
  readonly signSignature: unknown;
  readonly signatures: unknown;
  readonly asset: unknown;
}

interface CheckedDocument extends Document {
  readonly id: string;
  readonly senderPublicKey: string;
  readonly recipientPublicKey: string | undefined;
  readonly signature: string;
  readonly signSignature: string | undefined;
  readonly signatures: readonly string[];
}

interface Reading {
  readonly errors: readonly TransactionError[];
  /**
   * The transaction. The member is present even if `readPayload` finds errors, or if the list of signatures is too
   * long or has duplicates, because perhaps the network has an exception for the transaction. The member is undefined
   * in five cases: `readPayload` returns no payload, `signatures` is not a list, the base schema finds an error at a
   * path other than `EXCEPTABLE_PATH`, `senderId` is wrong, or the id has leading zeros.
   */
  readonly transaction: Transaction | undefined;
}

function readTransaction(json: unknown, types: Types): Reading {
  const type = typeFor(json, types);
  const document = documentOf(json, type);
  // If id, sender or signature is missing or empty, lisk-sdk throws a single `Error` instead of a list of errors.
  for (const name of ['id', 'senderPublicKey', 'senderId', 'signature'] as const) {
    if (!document[name]) throw plainRefusal(`${name} is required to be set before use`);
  }
  const id = typeof document.id === 'string' ? document.id.slice(0, 256) : '';
  const errors = isPlainDocument(document) ? [] : baseErrors(BASE_SHAPE, document, id);
  const isKeyFaulty = errors.some((error) => error.dataPath === '.senderPublicKey');
  if (!isKeyFaulty && typeof document.senderId === 'string') {
    const derived = addressOf(document.senderPublicKey as string);
    if (document.senderId.toUpperCase() !== derived.toUpperCase()) {
      const message = '`senderId` does not match `senderPublicKey`';
      errors.push(transactionError(id, message, '.senderId', derived, document.senderId));
    }
  }
  const isShapeless =
    !Array.isArray(document.signatures) || errors.some(({ dataPath }) => dataPath !== EXCEPTABLE_PATH);
  const reading = type.readPayload(payloadMembers(document, json), id);
  errors.push(...reading.errors);
  if (isShapeless || reading.payload === undefined) return { errors, transaction: undefined };
  const transaction = transactionOf(document as CheckedDocument, reading.payload);
  if (isU64Decimal(id)) return { errors, transaction };
  // The schema has accepted the id although the id has leading zeros. The id of a transaction never has leading zeros,
  // so the id is wrong.
  const expected = computedId(transaction);
  return {
    errors: [...errors, transactionError(id, 'Invalid transaction id', '.id', id, expected)],
    transaction: undefined,
  };
}

/**
 * True if a document has the form in which nodes write a transaction without members' signatures (signatures by members
 * of a multisignature group). The caller has checked that the document has an id. A document in this form satisfies the
 * base schema, so the caller skips the check of the schema. A document in another form can also be valid, so the caller
 * checks such a document with the schema.
 */
export function isPlainDocument(document: Document): boolean {
  const { amount, fee, senderId, recipientId, recipientPublicKey } = document;
  return (
    isPlainlyWritten(document) &&
    isU64Decimal(amount) &&
    isU64Decimal(fee) &&
    fee.length < FEE_DIGITS_MAX &&
    typeof senderId === 'string' &&
    addressFault(senderId) === undefined &&
    typeof recipientId === 'string' &&
    recipientPublicKey === undefined
  );
}

/**
 * An exception of the network can excuse an error of the base schema only at this path. The excused error means that
 * the list of signatures is too long or has duplicates. If `signatures` is not a list, the error has the same path, but
 * no exception excuses this error.
 */
const EXCEPTABLE_PATH = '.signatures';

function typeFor(json: unknown, types: Types): Gen2Type {
  const number = member(json, 'type');
  const type = typeof number === 'number' ? types.get(number) : undefined;
  if (type !== undefined) return type;
  throw new TransactionRejected('TRANSACTION_TYPE_UNKNOWN', [], 'Transaction type not found.');
}

function documentOf(json: unknown, type: Gen2Type): Document {
  const senderPublicKey = member(json, 'senderPublicKey') || '';
  return {
    id: member(json, 'id'),
    blockId: member(json, 'blockId'),
    height: member(json, 'height'),
    confirmations: member(json, 'confirmations'),
    amount: numberText(member(json, 'amount')) ?? '0',
    fee: numberText(member(json, 'fee')) ?? STATIC_FEES[type.type] ?? '0',
    type: type.type,
    timestamp: numberIn(json, 'timestamp'),
    senderId: member(json, 'senderId') || (addressOfHex(senderPublicKey) ?? ''),
    senderPublicKey,
    recipientId: member(json, 'recipientId') || '',
    recipientPublicKey: member(json, 'recipientPublicKey') || undefined,
    signature: member(json, 'signature'),
    signSignature: member(json, 'signSignature') || undefined,
    signatures: boundedList(member(json, 'signatures') || []),
    asset: member(json, 'asset') || {},
  };
}

function payloadMembers(document: Document, json: unknown): PayloadMembers {
  const { amount, recipientId, recipientPublicKey } = document;
  return { asset: member(json, 'asset'), amount, recipientId, recipientPublicKey };
}

function transactionOf(document: CheckedDocument, payload: Payload): Transaction {
  const senderPublicKey = document.senderPublicKey.toLowerCase();
  const { recipientPublicKey, signSignature } = document;
  const written = writtenIn(document, payload);
  return {
    id: document.id,
    type: document.type,
    timestamp: document.timestamp,
    senderPublicKey,
    senderId: addressOf(senderPublicKey),
    fee: BigInt(document.fee),
    payload,
    signature: document.signature.toLowerCase(),
    ...(signSignature === undefined ? {} : { signSignature: signSignature.toLowerCase() }),
    signatures: document.signatures,
    ...(recipientPublicKey === undefined ? {} : { recipientPublicKey: recipientPublicKey.toLowerCase() }),
    ...(written === undefined ? {} : { written }),
  };
}

/**
 * Returns the value for the member `written` of the transaction: the members whose original form cannot be computed
 * from the parsed transaction. These are a sender's key with upper-case letters, a second public key with upper-case
 * letters, and an empty `data` of a transfer. Generation 2 does not keep unknown members of assets.
 *
 * @returns undefined if the document has no such member
 */
function writtenIn({ senderPublicKey, asset }: CheckedDocument, payload: Payload): OriginalJson | undefined {
  const written: OriginalJson = writtenKey(senderPublicKey);
  const publicKey = payload.kind === 'secondSignature' ? member(member(asset, 'signature'), 'publicKey') : undefined;
  if (payload.kind === 'secondSignature' && publicKey !== payload.publicKey) {
    return { ...written, asset: JSON.stringify({ signature: { publicKey } }) };
  }
  const unsigned = payload.kind === 'transfer' ? emptyData(asset) : undefined;
  if (unsigned !== undefined) return { ...written, asset: JSON.stringify(unsigned) };
  return written.senderPublicKey === undefined ? undefined : written;
}

/**
 * For a number, returns the decimal text of the number. For a string of decimal digits, removes the leading zeros. If
 * at most 21 digits remain, returns these digits. If more digits remain, returns the number with an exponent
 * (`digitsText`). Returns undefined for a value that is neither a number nor such a string.
 *
 * @throws TransactionRejected for a number whose text has more than 15 significant digits and no exponent; lisk-sdk's
 *   number library refuses such a number
 */
function numberText(value: unknown): string | undefined {
  if (typeof value !== 'number') return digitsText(canonicalDigits(value));
  const text = String(value);
  if (!text.includes('e') && text.replace(/^-/, '').replace(/^0\.0*|\./, '').length > 15) {
    throw plainRefusal(`new BigNumber() number type has more than 15 significant digits: ${text}`);
  }
  return value === 0 ? '0' : text;
}

/**
 * Writes digits like the number library of lisk-sdk. The library writes an integer of more than 21 digits with an
 * exponent (`1.5e+22`). An integer of at most 21 digits stays unchanged.
 */
function digitsText(digits: string | undefined): string | undefined {
  if (digits === undefined || digits.length <= DIGITS_IN_FULL_MAX) return digits;
  const [first = '', ...rest] = digits.replace(/0+$/, '');
  return `${first}${rest.length === 0 ? '' : `.${rest.join('')}`}e+${digits.length - 1}`;
}

function plainRefusal(message: string): TransactionRejected {
  return new TransactionRejected('TRANSACTION_INVALID', [], message);
}

/**
 * Converts transactions of generation 3 to JSON and back. In this file, a document is the JSON of one transaction, as
 * the node receives it.
 */

import { addressOf } from '../../crypto/keys.ts';
import { isCanonicalHex, isU64Decimal } from '../../primitives/bytes.ts';
import type { Exceptions } from '../params.ts';
import { GEN3_DIALECT } from '../tx/apply-context.ts';
import { isExcepted } from '../tx/exceptions.ts';
import { boundedList, member, numberIn } from '../tx/json.ts';
import { baseErrors, BASE_PROPERTIES, isPlainlyWritten, type SharedMembers } from '../tx/schema.ts';
import type { TransactionType } from '../tx/transaction-type.ts';
import { assetOf, keyAsWritten, unwritableAsset, writtenKey } from '../tx/unsigned-json.ts';
import type { Address, JsonObject, Payload, Signature, Transaction, OriginalJson } from '../types.ts';
import { TransactionRejected, transactionError, type TransactionError } from '../verdict.ts';
import { withId } from './transaction-bytes.ts';
import { GEN3_SHAPES } from './transaction-types.ts';

const BASE_SHAPE = GEN3_SHAPES.compile({
  type: 'object',
  required: ['type', 'senderPublicKey', 'timestamp', 'asset', 'signature'],
  properties: BASE_PROPERTIES,
});

type Types = ReadonlyMap<number, TransactionType>;

const NO_ID = 'incalculable-id';
/** Maximum length of a document's id in an error message. For a longer id, the message contains `NO_ID` instead. */
const ID_CHARACTERS_MAX = 256;

/**
 * Reads a transaction. The function makes all checks that need no state, except the checks of
 * `Rules.validateTransaction`. The function computes id, fee and sender's address, and ignores the values in the
 * document. However, an id of a wrong form is an error. The function accepts a malformed transaction if the network has
 * an exception for this transaction. Only a malformed transaction of this kind keeps the id of the document, because
 * the exceptions refer to this id.
 *
 * @throws TransactionRejected `TRANSACTION_TYPE_UNKNOWN` or `TRANSACTION_INVALID` with all errors
 */
export function transactionFromJson(json: unknown, types: Types, exceptions: Exceptions): Transaction {
  const { errors, transaction } = readTransaction(json, types);
  if (transaction !== undefined && errors.length === 0) return withId(transaction);
  if (transaction !== undefined && isExcepted(errors, transaction, exceptions, GEN3_DIALECT)) return transaction;
  throw new TransactionRejected('TRANSACTION_INVALID', errors);
}

/** True if a parsed transaction is malformed and the network has an exception for the transaction. */
export function isExceptedShape(transaction: Transaction, types: Types, exceptions: Exceptions): boolean {
  const { errors } = readTransaction(transactionToJson(transaction, types), types);
  return errors.length > 0 && isExcepted(errors, transaction, exceptions, GEN3_DIALECT);
}

/**
 * Reads a transaction of a genesis block. The function checks only the base schema, and whether the bytes can contain
 * the payload. Limits for the values of the payload, such as the maximum number of votes, do not apply. The function
 * computes the id, and sets the fee to 0.
 *
 * @throws TransactionRejected `TRANSACTION_TYPE_UNKNOWN` or `TRANSACTION_INVALID`
 */
export function genesisTransactionFromJson(json: unknown, types: Types): Transaction {
  const type = typeFor(json, types);
  const base = baseMembers(json, type);
  const errors = baseErrors(BASE_SHAPE, base, NO_ID);
  const senderId = senderIdOf(base.senderPublicKey);
  const { payload, errors: assetErrors } = type.readAsset(member(json, 'asset'), NO_ID, senderId);
  if (errors.length > 0 || payload === undefined) {
    throw new TransactionRejected('TRANSACTION_INVALID', [...errors, ...assetErrors]);
  }
  return withId(
    draftOf(base as CheckedMembers, senderId, payload, 0n, type.writtenAsset(member(json, 'asset'), payload)),
  );
}

/** @param blockId id of the block, for a transaction inside a block */
export function transactionToJson(transaction: Transaction, types: Types, blockId?: string): JsonObject {
  const type = types.get(transaction.type);
  return {
    id: transaction.id,
    ...(blockId === undefined ? {} : { blockId }),
    type: transaction.type,
    timestamp: transaction.timestamp,
    senderPublicKey: keyAsWritten(transaction),
    senderId: transaction.senderId,
    fee: transaction.fee.toString(),
    signature: transaction.signature,
    ...(transaction.signSignature === undefined ? {} : { signSignature: transaction.signSignature }),
    signatures: transaction.signatures,
    asset: assetOf(transaction, type?.assetToJson(transaction.payload) ?? {}),
  };
}

/** The members that the base schema checks, with lisk-sdk's defaults for members that the document lacks. */
interface BaseMembers extends SharedMembers {
  readonly type: number;
}

interface CheckedMembers extends BaseMembers {
  readonly senderPublicKey: string;
  readonly signature: Signature;
  readonly signSignature: Signature | undefined;
  readonly signatures: readonly Signature[];
}

function typeFor(json: unknown, types: Types): TransactionType {
  const number = member(json, 'type');
  const type = typeof number === 'number' ? types.get(number) : undefined;
  if (type !== undefined) return type;
  const message = 'Transaction type not found.';
  const errors: readonly TransactionError[] = [transactionError('', message, '')];
  throw new TransactionRejected('TRANSACTION_TYPE_UNKNOWN', errors, message);
}

function baseMembers(json: unknown, type: TransactionType): BaseMembers {
  return {
    id: member(json, 'id'),
    blockId: member(json, 'blockId'),
    height: member(json, 'height'),
    confirmations: member(json, 'confirmations'),
    type: type.type,
    timestamp: numberIn(json, 'timestamp'),
    senderPublicKey: member(json, 'senderPublicKey') || '',
    signature: member(json, 'signature'),
    signSignature: member(json, 'signSignature') || undefined,
    signatures: boundedList(member(json, 'signatures') || []),
    asset: type.assetForBaseCheck(member(json, 'asset')),
  };
}

function senderIdOf(senderPublicKey: unknown): Address {
  const key = typeof senderPublicKey === 'string' ? senderPublicKey.toLowerCase() : '';
  return isCanonicalHex(key, 32) ? addressOf(key) : '';
}

interface Reading {
  readonly errors: readonly TransactionError[];
  /**
   * The transaction. Its id is the id in the document, or an empty text if the document has no valid id. The member is
   * present even if the payload or the list of signatures has errors, because perhaps the network has an exception for
   * the transaction. The member is undefined in three cases: the function cannot read the payload, `signatures` is not
   * a list, or the base schema reports an error at a path other than `EXCEPTABLE_PATH`.
   */
  readonly transaction: Transaction | undefined;
}

/**
 * An exception of the network can excuse an error of the base schema only at this path. Such an error means that the
 * list of signatures is too long or has duplicates.
 */
const EXCEPTABLE_PATH = '.signatures';

function readTransaction(json: unknown, types: Types): Reading {
  const type = typeFor(json, types);
  const base = baseMembers(json, type);
  const id = typeof base.id === 'string' && base.id !== '' && base.id.length <= ID_CHARACTERS_MAX ? base.id : NO_ID;
  const isPlain = isPlainlyWritten(base);
  const errors = isPlain ? [] : baseErrors(BASE_SHAPE, base, id);
  const isShapeless = !Array.isArray(base.signatures) || errors.some(({ dataPath }) => dataPath !== EXCEPTABLE_PATH);
  const senderId = isPlain ? addressOf(base.senderPublicKey as string) : senderIdOf(base.senderPublicKey);
  const { payload, errors: assetErrors } = type.readAsset(member(json, 'asset'), id, senderId);
  errors.push(...assetErrors);
  if (isShapeless || payload === undefined) return { errors, transaction: undefined };
  let asset: string | undefined;
  try {
    if (errors.length === 0) asset = type.writtenAsset(member(json, 'asset'), payload);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    errors.push(unwritableAsset(id));
  }
  // `isPlainlyWritten` or the schema check has verified the types that this cast states.
  return { errors, transaction: draftOf(base as CheckedMembers, senderId, payload, type.fee(payload), asset) };
}

function draftOf(
  base: CheckedMembers,
  senderId: Address,
  payload: Payload,
  fee: bigint,
  asset: string | undefined,
): Transaction {
  const { signSignature } = base;
  const written: OriginalJson = { ...writtenKey(base.senderPublicKey), ...(asset === undefined ? {} : { asset }) };
  return {
    id: typeof base.id === 'string' && isU64Decimal(base.id) ? base.id : '',
    type: base.type,
    timestamp: base.timestamp,
    senderPublicKey: base.senderPublicKey.toLowerCase(),
    senderId,
    fee,
    payload,
    signature: base.signature.toLowerCase(),
    ...(signSignature === undefined ? {} : { signSignature: signSignature.toLowerCase() }),
    signatures: base.signatures,
    ...(isEmpty(written) ? {} : { written }),
  };
}

function isEmpty(written: OriginalJson): boolean {
  return written.senderPublicKey === undefined && written.asset === undefined;
}

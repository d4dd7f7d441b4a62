/**
 * Shapes of transactions as JSON schemas. The words of a refusal are part of the interface (clients show them), and they
 * are those of Ajv 6 with all errors collected, so this is what checks here.
 */

import Ajv from 'ajv';
import type { ErrorObject, ValidateFunction } from 'ajv';
import { AMOUNT_MAX } from '../../primitives/amount.ts';
import { isCanonicalHex, isHex, isU64Decimal } from '../../primitives/bytes.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import { canonicalDigits } from './json.ts';
import { recipientFault } from './recipient.ts';

/** What is wrong with the shape of a value, by a schema; nothing when it fits. */
export type Shape = (value: unknown) => readonly ErrorObject[];

/** The reference's validator is an older one, whose schemes of addresses may have a comma. */
const LOOSE_URI = /^[a-z][a-z0-9+,.-]*:[^\s]*$/i;

/** Makes shapes of one generation, whose idea of a forbidden NUL character goes into the formats. */
export interface ShapeCompiler {
  compile(schema: object): Shape;
}

/**
 * @param containsNul whether a text holds what this generation takes for a NUL character
 * @param isId the generation's idea of an id
 */
export function createShapeCompiler(
  containsNul: (text: string) => boolean,
  isId: (text: string) => boolean = isLooseId,
): ShapeCompiler {
  const makeAjv = (): Ajv.Ajv => {
    // The schemas are our own: to compile the schema of schemas for them takes longer than all else here.
    const ajv = new Ajv({ allErrors: true, schemaId: 'auto', useDefaults: false, meta: false, validateSchema: false });
    ajv.addFormat('id', isId);
    ajv.addFormat('address', (text: string) => recipientFault(text) === undefined);
    ajv.addFormat('amount', (text: string) => canonicalDigits(text) !== undefined);
    ajv.addFormat('fee', (text: string) => isUpTo(text, AMOUNT_MAX));
    ajv.addFormat('publicKey', isPublicKey);
    ajv.addFormat('emptyOrPublicKey', (text: string) => text === '' || isPublicKey(text));
    ajv.addFormat('signature', (text: string) => text.length === 128 && isHex(text));
    ajv.addFormat('signedPublicKey', (text: string) => /^[+-]/.test(text) && isPublicKey(text.slice(1)));
    ajv.addFormat('additionPublicKey', (text: string) => text.startsWith('+') && isPublicKey(text.slice(1)));
    ajv.addFormat('username', (text: string) => !containsNul(text) && isUsername(text));
    ajv.addFormat('transferData', (text: string) => !containsNul(text) && Buffer.byteLength(text, 'utf8') <= 64);
    ajv.addFormat('uri', LOOSE_URI);
    ajv.addFormat('noNullByte', (text: string) => !containsNul(text));
    // The keyword is our own, too: to compile the schema of keywords for it takes as long as a type of transactions.
    ajv.validateKeyword = () => true;
    ajv.addKeyword('uniqueSignedPublicKeys', { type: 'array', validate: haveDistinctKeys, errors: false });
    return ajv;
  };
  let ajv: Ajv.Ajv | undefined;
  return {
    // When it is first asked: a process meets few of the types of both generations, and each costs milliseconds.
    compile: (schema) => {
      let validate: ValidateFunction | undefined;
      return (value) => {
        ajv ??= makeAjv();
        validate ??= ajv.compile(schema);
        return validate(value) === true ? [] : (validate.errors ?? []);
      };
    },
  };
}

/** Members that all transactions share; both generations build their base schema on it. */
export const BASE_PROPERTIES = {
  id: { type: 'string', format: 'id' },
  blockId: { type: 'string', format: 'id' },
  height: { type: 'integer', minimum: 0 },
  confirmations: { type: 'integer', minimum: 0 },
  type: { type: 'integer', minimum: 0 },
  timestamp: { type: 'integer', minimum: -2_147_483_648, maximum: 2_147_483_647 },
  senderPublicKey: { type: 'string', format: 'publicKey' },
  signature: { type: 'string', format: 'signature' },
  signSignature: { type: 'string', format: 'signature' },
  signatures: {
    type: 'array',
    uniqueItems: true,
    items: { type: 'string', format: 'signature' },
    minItems: 0,
    maxItems: 15,
  },
  asset: { type: 'object' },
} as const;

/** Members of a document that the base schemas of both generations ask the same of. */
export interface SharedMembers {
  readonly id: unknown;
  readonly blockId: unknown;
  readonly height: unknown;
  readonly confirmations: unknown;
  readonly timestamp: number;
  readonly senderPublicKey: unknown;
  readonly signature: unknown;
  readonly signSignature: unknown;
  readonly signatures: unknown;
  readonly asset: unknown;
}

/**
 * Whether the shared members are written as nodes write those of a transaction without a group. Then the base schema has
 * nothing against them, and need not be asked: it takes longer than all the rest of reading. False says nothing.
 */
export function isPlainlyWritten(members: SharedMembers): boolean {
  const { id, blockId, height, confirmations, timestamp, signSignature, signatures, asset } = members;
  return (
    isHexOf(members.signature, 64) &&
    isHexOf(members.senderPublicKey, 32) &&
    (signSignature === undefined || isHexOf(signSignature, 64)) &&
    isMissingOrId(id) &&
    isMissingOrId(blockId) &&
    isMissingOrCount(height) &&
    isMissingOrCount(confirmations) &&
    timestamp === (timestamp | 0) &&
    Array.isArray(signatures) &&
    signatures.length === 0 &&
    typeof asset === 'object' &&
    asset !== null &&
    !Array.isArray(asset)
  );
}

function isHexOf(value: unknown, byteLength: number): boolean {
  return typeof value === 'string' && isCanonicalHex(value, byteLength);
}

function isMissingOrId(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && isU64Decimal(value));
}

function isMissingOrCount(value: unknown): boolean {
  return value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0);
}

/** Errors of a whole transaction's shape. */
export function baseErrors(shape: Shape, value: unknown, id: string): TransactionError[] {
  return shape(value).map((error) =>
    transactionError(id, `'${error.dataPath}' ${error.message ?? ''}`, error.dataPath),
  );
}

/** Errors of an asset's shape: paths are relative to the asset, and the asset itself is `.asset`. */
export function assetErrors(shape: Shape, value: unknown, id: string): TransactionError[] {
  return shape(value).map((error) => {
    const path = error.dataPath === '' ? '.asset' : error.dataPath;
    return transactionError(id, `'${path}' ${error.message ?? ''}`, path);
  });
}

function isPublicKey(text: string): boolean {
  return text.length === 64 && isHex(text);
}

/** The published format of ids lets a sign and leading zeros pass; ids are recomputed, so nothing follows from it. */
function isLooseId(text: string): boolean {
  if (text.startsWith('-')) return canonicalDigits(text.slice(1)) !== undefined;
  return isDigitId(text.replace(/^\+/, ''));
}

/** Digits only, leading zeros among them, of a number that fits 64 bits. */
export function isDigitId(text: string): boolean {
  return isUpTo(text, 18_446_744_073_709_551_615n);
}

function isUpTo(text: string, limit: bigint): boolean {
  const digits = canonicalDigits(text);
  return digits !== undefined && digits.length <= 20 && BigInt(digits) <= limit;
}

function isUsername(text: string): boolean {
  return text === text.trim().toLowerCase() && !/^[0-9]{1,21}[Ll|]$/.test(text) && /^[a-z0-9!@$&_.]+$/.test(text);
}

function haveDistinctKeys(_schema: unknown, votes: readonly unknown[]): boolean {
  const keys = votes.filter((vote) => typeof vote === 'string').map((vote) => vote.slice(1));
  return new Set(keys).size === votes.length;
}

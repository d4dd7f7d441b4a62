/**
 * Compiles the schemas of transactions. The text of a schema error is part of the HTTP interface, because clients show
 * this text. The reference (lisk-sdk) reports the errors of Ajv 6 with the option `allErrors`, so this node uses Ajv 6
 * with the same option.
 */

import Ajv from 'ajv';
import type { ErrorObject, ValidateFunction } from 'ajv';
import { AMOUNT_MAX } from '../../primitives/amount.ts';
import { isCanonicalHex, isHex, isU64Decimal } from '../../primitives/bytes.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import { canonicalDigits } from './json.ts';
import { recipientFault } from './recipient.ts';

/** Checks a value against a schema, and returns the errors; an empty list if the value is valid. */
export type Shape = (value: unknown) => readonly ErrorObject[];

/**
 * Format of a URI in lisk-sdk. Unlike the URI format in this node's version of Ajv 6, this format accepts a comma in
 * the scheme.
 */
const LOOSE_URI = /^[a-z][a-z0-9+,.-]*:[^\s]*$/i;

/**
 * Compiles schemas. A schema can contain the names of text formats, such as `id`. The rules of these formats depend on
 * the generation.
 */
export interface ShapeCompiler {
  compile(schema: object): Shape;
}

/**
 * @param containsNul returns whether a text contains a NUL character, by the rule of the generation
 * @param isId returns whether a text is an id, by the rule of the generation
 */
export function createShapeCompiler(
  containsNul: (text: string) => boolean,
  isId: (text: string) => boolean = isLooseId,
): ShapeCompiler {
  const makeAjv = (): Ajv.Ajv => {
    // Ajv need not validate the schemas, because the schemas are part of this program. To validate a schema, Ajv would
    // compile its meta-schema. This compilation takes longer than all other work in this file.
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
    // Ajv also need not validate the definition of the keyword `uniqueSignedPublicKeys`. To validate the definition,
    // Ajv would compile another meta-schema. This compilation takes as long as compiling the schema of a transaction
    // type.
    ajv.validateKeyword = () => true;
    ajv.addKeyword('uniqueSignedPublicKeys', { type: 'array', validate: haveDistinctKeys, errors: false });
    return ajv;
  };
  let ajv: Ajv.Ajv | undefined;
  return {
    // A schema is compiled only at its first use. Compiling takes milliseconds, and a process uses only a few of the
    // transaction types of the two generations.
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

/**
 * Schemas of the members that transactions of both generations can have. Each generation combines these schemas into a
 * base schema. The base schema covers the members that do not depend on the type of the transaction.
 */
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

/** The members of a transaction's JSON that `isPlainlyWritten` checks. */
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
 * Returns true if `members` have the form in which nodes write a transaction without members' signatures. Members in
 * this form satisfy `BASE_PROPERTIES`. If the other members of the base schema are also valid, the caller skips the
 * schema check, because this check takes longer than all other steps of reading a transaction. If the result is false,
 * the transaction can still be valid, so the caller must make the schema check.
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

/** Checks the members of a transaction against a base schema, and returns the errors. */
export function baseErrors(shape: Shape, value: unknown, id: string): TransactionError[] {
  return shape(value).map((error) =>
    transactionError(id, `'${error.dataPath}' ${error.message ?? ''}`, error.dataPath),
  );
}

/**
 * Checks an asset against its schema, and returns the errors. The path of an error is relative to the asset. For an
 * error of the whole asset, the path is `.asset`.
 */
export function assetErrors(shape: Shape, value: unknown, id: string): TransactionError[] {
  return shape(value).map((error) => {
    const path = error.dataPath === '' ? '.asset' : error.dataPath;
    return transactionError(id, `'${path}' ${error.message ?? ''}`, path);
  });
}

function isPublicKey(text: string): boolean {
  return text.length === 64 && isHex(text);
}

/**
 * In generation 3, the format `id` accepts a plus or minus sign before the digits, and leading zeros, as in lisk-sdk.
 * If the JSON of a valid transaction of generation 3 states an id, nodes ignore this id, and compute the id from the
 * bytes.
 */
function isLooseId(text: string): boolean {
  if (text.startsWith('-')) return canonicalDigits(text.slice(1)) !== undefined;
  return isDigitId(text.replace(/^\+/, ''));
}

/**
 * Returns true if a text has only decimal digits, and if the number that the text states fits into 64 bits. Leading
 * zeros are allowed.
 */
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

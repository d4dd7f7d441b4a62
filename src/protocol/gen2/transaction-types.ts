/**
 * Defines transaction types 0 to 7 with the JSON of generation 2. In the JSON of generation 2, amount and recipient are
 * outside the asset.
 */

import { addressFault, addressOf } from '../../crypto/keys.ts';
import { isHex } from '../../primitives/bytes.ts';
import { assert } from '../../primitives/errors.ts';
import type { TransactionContext } from '../rules.ts';
import { GEN2_DIALECT } from '../tx/apply-context.ts';
import { DELEGATE_SCHEMA } from '../tx/delegate.ts';
import { boundedList, canonicalDigits, member } from '../tx/json.ts';
import { MULTISIGNATURE_SCHEMA, registrationOf } from '../tx/multisignature.ts';
import { assetErrors, createShapeCompiler, isDigitId, type Shape } from '../tx/schema.ts';
import { isPlainAsset, SECOND_SIGNATURE_SCHEMA, secondSignatureOf } from '../tx/second-signature.ts';
import { payloadOf, type AssetReading, type TransactionLayout } from '../tx/transaction-type.ts';
import { isTransferAmount, storableText, TRANSFER_DATA } from '../tx/transfer.ts';
import { isVoteList, VOTE_SCHEMA } from '../tx/vote.ts';
import type { Address, JsonObject, Payload, PayloadKind } from '../types.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import { createDappReader, dappErrors } from './dapp.ts';
import { recipientFault as recipientTextFault } from '../tx/recipient.ts';
import { beddowsOf, LEGACY_LAYOUTS, looseMovementOf, movementOf } from './layouts.ts';

/**
 * Finds the NUL character. The function also finds the text `U00000000`, because a wrong escape in the pattern of
 * lisk-sdk matches this text.
 */
const containsNul = (text: string): boolean => text.includes('\0') || text.includes('U00000000');

/** Compiles schemas. `containsNul` and `isDigitId` check the formats that differ between the generations. */
export const GEN2_SHAPES = createShapeCompiler(containsNul, isDigitId);

/** The members of a transaction's JSON that `readPayload` reads or checks. */
export interface PayloadMembers {
  readonly asset: unknown;
  /** Decimal text of a number. The number need not be a valid amount. */
  readonly amount: string;
  /** The recipient as in the JSON; an empty string if there is no recipient. */
  readonly recipientId: unknown;
  readonly recipientPublicKey: unknown;
}

/**
 * A transaction type of generation 2. The type has a byte layout, a function that reads a payload from JSON, and a
 * function that writes an asset to JSON.
 */
export interface Gen2Type extends TransactionLayout {
  readPayload(members: PayloadMembers, id: string): AssetReading;
  assetToJson(payload: Payload): JsonObject;
  /**
   * True if a block at the height of the context (`context`) is allowed to contain the type. If the function is absent,
   * every block is allowed to contain the type.
   */
  matches?(context: TransactionContext): boolean;
}

/** Collects the errors of one transaction. */
class DocumentErrors {
  readonly all: TransactionError[];
  readonly #id: string;

  constructor(id: string, errors: TransactionError[]) {
    this.#id = id;
    this.all = errors;
  }

  add(message: string, path: string, actual?: unknown, expected?: string): void {
    const shown = typeof actual === 'string' || typeof actual === 'number' ? actual : undefined;
    this.all.push(transactionError(this.#id, message, path, shown, expected));
  }

  addUnlessZero(amount: string, message: string): void {
    if (amount !== '0') this.add(message, '.amount', amount, '0');
  }
}

function typeOf<K extends PayloadKind>(
  type: number,
  kind: K,
  readPayload: Gen2Type['readPayload'],
  assetToJson: (payload: Extract<Payload, { kind: K }>) => JsonObject,
): Gen2Type {
  const layout = LEGACY_LAYOUTS.get(type);
  assert(layout !== undefined, `type ${type} has a layout`);
  return { ...layout, readPayload, assetToJson: (payload) => assetToJson(payloadOf(payload, kind)) };
}

/** Compiles the schema of an asset that has a single member. */
function wrapped(name: string, schema: object): Shape {
  return GEN2_SHAPES.compile({ type: 'object', required: [name], properties: { [name]: schema } });
}

/**
 * Copies only one member of an asset: the member that the argument `name` names. If the value of this member is an
 * object, the copy of the value has only the members that the argument `members` lists. A value that is not an object
 * stays unchanged. If the asset is missing or falsy, the function returns a new asset in which the value of this one
 * member is an empty object. Any other asset that is not an object stays unchanged.
 */
function unwrapped(asset: unknown, name: string, members: readonly string[]): unknown {
  if (!asset) return { [name]: {} };
  if (!isPlainAsset(asset)) return asset;
  const inner = member(asset, name);
  if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return { [name]: inner };
  return { [name]: Object.fromEntries(members.map((each) => [each, boundedList(member(inner, each))])) };
}

const TRANSFER_SHAPE = GEN2_SHAPES.compile({ type: 'object', properties: { data: TRANSFER_DATA } });

const transfer = typeOf(
  0,
  'transfer',
  ({ asset, amount, recipientId, recipientPublicKey }, id) => {
    const data = member(asset, 'data');
    const errors = new DocumentErrors(id, assetErrors(TRANSFER_SHAPE, isPlainAsset(asset) ? { data } : asset, id));
    if (canonicalDigits(amount) === undefined || !isTransferAmount(amount)) {
      errors.add('Amount must be a valid number in string format.', '.amount', amount);
    }
    if (!recipientId) errors.add('`recipientId` must be provided.', '.recipientId');
    const fault = recipientFault(recipientId);
    if (fault !== undefined) errors.add(fault, '.recipientId', recipientId);
    const expected = addressOfHex(recipientPublicKey);
    if (expected !== undefined && recipientId !== expected) {
      errors.add('recipientId does not match recipientPublicKey.', '.recipientId', recipientId, expected);
    }
    const moved = movementOf(amount, recipientId);
    if (moved === undefined || (data !== undefined && typeof data !== 'string')) {
      return { errors: errors.all, payload: undefined };
    }
    const text = data === undefined || data === '' ? {} : { data: storableText(data) };
    return { errors: errors.all, payload: { kind: 'transfer', ...moved, ...text } };
  },
  ({ data }) => (data === undefined ? {} : { data }),
);

const SECOND_SIGNATURE_SHAPE = wrapped('signature', SECOND_SIGNATURE_SCHEMA);

const secondSignature = typeOf(
  1,
  'secondSignature',
  ({ asset, amount, recipientId, recipientPublicKey }, id) => {
    const seen = unwrapped(asset, 'signature', ['publicKey']);
    const errors = new DocumentErrors(id, assetErrors(SECOND_SIGNATURE_SHAPE, seen, id));
    errors.addUnlessZero(amount, 'Amount must be zero for second signature registration transaction');
    if (recipientId) errors.add('RecipientId is expected to be undefined.', '.recipientId', recipientId, '');
    if (recipientPublicKey) {
      const message = 'RecipientPublicKey is expected to be undefined.';
      errors.add(message, '.recipientPublicKey', recipientPublicKey, '');
    }
    return { errors: errors.all, payload: secondSignatureOf(member(member(seen, 'signature'), 'publicKey')) };
  },
  ({ publicKey }) => ({ signature: { publicKey } }),
);

const DELEGATE_SHAPE = wrapped('delegate', DELEGATE_SCHEMA);

const delegate = typeOf(
  2,
  'delegate',
  ({ asset, amount, recipientId, recipientPublicKey }, id) => {
    const seen = unwrapped(asset, 'delegate', ['username']);
    const errors = new DocumentErrors(id, assetErrors(DELEGATE_SHAPE, seen, id));
    errors.addUnlessZero(amount, 'Amount must be zero for delegate registration transaction');
    if (recipientId) errors.add('RecipientId is expected to be undefined', '.recipientId', recipientId);
    if (recipientPublicKey) errors.add('Invalid recipientPublicKey', '.recipientPublicKey');
    const username = member(member(seen, 'delegate'), 'username');
    return {
      errors: errors.all,
      payload: typeof username === 'string' ? { kind: 'delegate', username } : undefined,
    };
  },
  ({ username }) => ({ delegate: { username } }),
);

const VOTE_SHAPE = GEN2_SHAPES.compile(VOTE_SCHEMA);

const vote = typeOf(
  3,
  'vote',
  ({ asset, amount, recipientId, recipientPublicKey }, id) => {
    const votes = boundedList(member(asset, 'votes'));
    const errors = new DocumentErrors(id, assetErrors(VOTE_SHAPE, isPlainAsset(asset) ? { votes } : asset, id));
    errors.addUnlessZero(amount, 'Amount must be zero for vote transaction');
    if (recipientFault(recipientId) !== undefined) {
      errors.add('RecipientId must be set for vote transaction', '.recipientId', recipientId);
    }
    const expected = addressOfHex(recipientPublicKey);
    if (expected !== undefined && recipientId !== expected) {
      errors.add('recipientId does not match recipientPublicKey.', '.recipientId');
    }
    const moved = movementOf(amount, recipientId);
    if (moved === undefined || !isVoteList(votes)) return { errors: errors.all, payload: undefined };
    return { errors: errors.all, payload: { kind: 'vote', votes, ...moved } };
  },
  ({ votes }) => ({ votes }),
);

const MULTISIGNATURE_SHAPE = wrapped('multisignature', MULTISIGNATURE_SCHEMA);

const multisignature = typeOf(
  4,
  'multisignature',
  ({ asset, amount, recipientId, recipientPublicKey }, id) => {
    const seen = unwrapped(asset, 'multisignature', ['min', 'lifetime', 'keysgroup']);
    const errors = new DocumentErrors(id, assetErrors(MULTISIGNATURE_SHAPE, seen, id));
    errors.addUnlessZero(amount, 'Amount must be zero for multisignature registration transaction');
    const group = member(seen, 'multisignature');
    const payload = registrationOf(member(group, 'min'), member(group, 'lifetime'), member(group, 'keysgroup'));
    if (errors.all.length > 0 || payload === undefined) return { errors: errors.all, payload };
    if (payload.min > payload.keysgroup.length) {
      const message = 'Invalid multisignature min. Must be less than or equal to keysgroup size';
      errors.add(message, GEN2_DIALECT.multisignatureMinPath, payload.min);
    }
    if (recipientId) errors.add('RecipientId is expected to be undefined', '.recipientId', recipientId);
    if (recipientPublicKey) {
      errors.add('RecipientPublicKey is expected to be undefined', '.recipientPublicKey', recipientPublicKey);
    }
    return { errors: errors.all, payload };
  },
  ({ min, lifetime, keysgroup }) => ({ multisignature: { min, lifetime, keysgroup } }),
);

const readDapp = createDappReader(GEN2_SHAPES);

const dapp = typeOf(
  5,
  'dapp',
  ({ asset, amount, recipientId }, id) => {
    const reading = readDapp(asset, id);
    const errors = new DocumentErrors(id, reading.errors);
    errors.addUnlessZero(amount, 'Amount must be zero for dapp transaction');
    if (recipientId) errors.add('RecipientId is expected to be undefined', '.recipientId');
    if (errors.all.length > 0 || reading.payload === undefined) return reading;
    return { errors: dappErrors(reading.payload.dapp, id), payload: reading.payload };
  },
  ({ dapp: description }) => ({ dapp: { ...description } }),
);

const ID = { type: 'string', format: 'id' } as const;
const IN_TRANSFER_SHAPE = wrapped('inTransfer', { type: 'object', required: ['dappId'], properties: { dappId: ID } });
const OUT_TRANSFER_SHAPE = wrapped('outTransfer', {
  type: 'object',
  required: ['dappId', 'transactionId'],
  properties: { dappId: ID, transactionId: ID },
});

const inTransfer = typeOf(
  6,
  'inTransfer',
  ({ asset, amount, recipientId, recipientPublicKey }, id) => {
    const seen = unwrapped(asset, 'inTransfer', ['dappId']);
    const errors = new DocumentErrors(id, assetErrors(IN_TRANSFER_SHAPE, seen, id));
    if (recipientId) errors.add('RecipientId is expected to be undefined.', '.recipientId', recipientId);
    if (recipientPublicKey) {
      const message = 'RecipientPublicKey is expected to be undefined.';
      errors.add(message, '.recipientPublicKey', recipientPublicKey);
    }
    if (!isPositive(amount)) errors.add('Amount must be greater than 0', '.amount', amount, '0');
    const dappId = member(member(seen, 'inTransfer'), 'dappId');
    const beddows = beddowsOf(amount);
    if (beddows === undefined || typeof dappId !== 'string') return { errors: errors.all, payload: undefined };
    return { errors: errors.all, payload: { kind: 'inTransfer', amount: beddows, dappId } };
  },
  ({ dappId }) => ({ inTransfer: { dappId } }),
);

const DAPP_ID_CHARACTERS_MAX = 255;

const outTransfer = typeOf(
  7,
  'outTransfer',
  ({ asset, amount, recipientId }, id) => {
    const seen = unwrapped(asset, 'outTransfer', ['dappId', 'transactionId']);
    const errors = new DocumentErrors(id, assetErrors(OUT_TRANSFER_SHAPE, seen, id));
    if (!isPositive(amount)) {
      errors.add('Amount must be greater than zero for outTransfer transaction', '.amount', amount);
    }
    if (!recipientId) errors.add('RecipientId must be set for outTransfer transaction', '.recipientId', recipientId);
    const dappId = member(member(seen, 'outTransfer'), 'dappId');
    const transactionId = member(member(seen, 'outTransfer'), 'transactionId');
    const moved = looseMovementOf(amount, recipientId);
    if (moved === undefined || typeof dappId !== 'string' || typeof transactionId !== 'string') {
      return { errors: errors.all, payload: undefined };
    }
    // The store of this node writes the length of the application's id in one byte, so the id has at most 255
    // characters. This limit refuses no id that lisk-sdk can store, because the database of lisk-sdk limits an id to 20
    // characters.
    if (dappId.length > DAPP_ID_CHARACTERS_MAX) {
      return { errors: errors.all, payload: undefined };
    }
    return { errors: errors.all, payload: { kind: 'outTransfer', ...moved, dappId, transactionId } };
  },
  ({ dappId, transactionId }) => ({ outTransfer: { dappId, transactionId } }),
);

/** All types of this generation, by number. */
export const GEN2_TYPES: ReadonlyMap<number, Gen2Type> = new Map(
  [transfer, secondSignature, delegate, vote, multisignature, dapp, inTransfer, outTransfer].map((entry) => [
    entry.type,
    entry,
  ]),
);

/** True for the decimal text of a number above 0. */
function isPositive(amount: string): boolean {
  return Number(amount) > 0;
}

/**
 * The error of a recipient; undefined if the recipient is correct. The reference (lisk-sdk) checks a JSON list, or any
 * other JSON value, in the same way as the text of an address. In the reference and in this node, a list with a wrong
 * number of elements therefore gets the error for a wrong length. In this node, all other lists and values get the
 * error for a missing `L` at the end. If the last element of a list is `L`, the reference reports another error than
 * this node.
 */
function recipientFault(recipientId: unknown): string | undefined {
  if (typeof recipientId === 'string') return recipientTextFault(recipientId);
  return addressFault(Array.isArray(recipientId) && (recipientId.length < 2 || recipientId.length > 22) ? '' : '??');
}

/**
 * Address of a public key in hexadecimal text; undefined for any value that is not hexadecimal text. The text can have
 * any number of bytes. The format check of the schema decides whether the text is a public key.
 */
export function addressOfHex(publicKey: unknown): Address | undefined {
  return typeof publicKey === 'string' && isHex(publicKey) ? addressOf(publicKey.toLowerCase()) : undefined;
}

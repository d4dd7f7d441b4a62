/**
 * Handles the parts of a transaction's original JSON that no signature covers: the letter case of the sender's key, and
 * members of the asset that are unknown or in an unusual form. Nodes pass these parts on.
 */

import type { StateWriter } from '../state.ts';
import type { Address, JsonObject, PublicKey, Transaction, TransactionId, OriginalJson } from '../types.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import { member } from './json.ts';
import { integerOf, type Decimal } from '../../primitives/decimal.ts';
import { countedAmount } from './amounts.ts';

/**
 * Maximum depth of nested arrays and objects in an asset of a transaction in a block. The reference (lisk-sdk) copies
 * assets recursively when it stores them. The number of levels that lisk-sdk can copy depends on how much of the
 * lisk-sdk code V8 has compiled. In a fresh process, lisk-sdk can copy up to 1,780 levels. In a process that has run
 * for a long time, lisk-sdk can copy up to 3,141 levels. The limit of this node is above 3,141, because this node must
 * accept every asset that any lisk-sdk node can store. The limit is below 4,000, because V8 cannot write JSON of more
 * than about 4,000 levels in this node.
 */
const ASSET_NESTING_MAX = 3_400;

/**
 * Maximum depth of nested arrays and objects in an asset that this node accepts for its pool and for its own blocks.
 * All nodes of lisk-sdk can store an asset of this depth.
 */
const POOLED_NESTING_MAX = 256;

/**
 * The pool refuses an asset with unknown members if the asset has more than this number of bytes. The network limits an
 * asset with unknown members only by the maximum size of a message, 3 MB. For the pool, this maximum is too large: the
 * pool can hold 5,000 transactions by default, and all transactions of a block must fit into one message.
 */
const POOLED_ASSET_BYTES_MAX = 8_192;

const CAPITALS = /[A-F]/;
const ESCAPE = /\\(?:u([0-9a-f]{4})|.)/g;

/** Returns the sender's public key in the letter case in which the node received it. */
export function keyAsWritten({ senderPublicKey, written }: Transaction): string {
  return written?.senderPublicKey ?? senderPublicKey;
}

/**
 * Converts the public keys of the given accounts to lower case after all transactions of a block have been applied,
 * because lisk-sdk stores these keys as bytes.
 */
export function lowerKeys(state: StateWriter, addresses: Iterable<Address>): void {
  for (const address of addresses) {
    const account = state.account(address);
    if (account?.publicKey === undefined || isLowerCase(account.publicKey)) continue;
    state.setAccount({ ...account, publicKey: account.publicKey.toLowerCase() });
  }
}

/** True if a key is in lower case. */
export function isLowerCase(publicKey: PublicKey): boolean {
  return !CAPITALS.test(publicKey);
}

/**
 * Returns the JSON text of `asset` if `asset` is an object that differs from `known`. Otherwise, returns undefined.
 *
 * @param asset the member `asset` of the transaction in JSON
 * @param known the asset that the node writes from the payload
 * @throws RangeError if `asset` has more levels than `JSON.stringify` can write
 */
export function writtenAsset(asset: unknown, known: JsonObject): string | undefined {
  if (typeof asset !== 'object' || asset === null) return undefined;
  const names = Object.keys(asset);
  const isKnown =
    names.length === Object.keys(known).length &&
    names.every((name) => Object.hasOwn(known, name) && isSameText(member(asset, name), known[name]));
  if (isKnown) return undefined;
  const amount = member(asset, 'amount');
  // `JSON.parse` reads a number that is too large for JavaScript as infinite. `JSON.stringify` would write an infinite
  // amount as `null`, which `countedAmount` would count as 0. This code therefore writes the amount as the text
  // `Infinity` or `-Infinity`, which is no valid amount.
  const isInfinite = typeof amount === 'number' && !Number.isFinite(amount);
  return JSON.stringify(isInfinite ? { ...asset, amount: String(amount) } : asset);
}

/**
 * Returns the asset of a transaction as JSON. If the node stored the original form of the asset, the function returns
 * this form. Otherwise, the function returns `known`.
 */
export function assetOf({ written }: Transaction, known: JsonObject): JsonObject {
  return written?.asset === undefined ? known : (JSON.parse(written.asset) as JsonObject);
}

/**
 * Returns the reason why lisk-sdk cannot store an otherwise valid transaction. Returns undefined if lisk-sdk can store
 * the transaction. The database of lisk-sdk refuses JSON that contains a NUL or a lone surrogate. Too deep nesting of
 * an asset is another reason, because lisk-sdk copies assets recursively. If a block contains a transaction that
 * lisk-sdk cannot store, lisk-sdk passes the block on to its peers, and then refuses the block.
 */
export function storageFault({ id, written }: Transaction): TransactionError | undefined {
  const asset = written?.asset;
  if (asset === undefined) return undefined;
  for (const [, code] of asset.matchAll(ESCAPE)) {
    if (code === '0000') return transactionError(id, 'unsupported Unicode escape sequence', '.asset');
    if (code?.startsWith('d') === true && code >= 'd800') {
      return transactionError(id, 'invalid input syntax for type json', '.asset');
    }
  }
  return nestingOf(asset) <= ASSET_NESTING_MAX ? undefined : tooDeep(id, ASSET_NESTING_MAX);
}

/**
 * The error of a transaction whose asset `JSON.stringify` cannot write (`writtenAsset`). Node.js 20 writes 4,100 nested
 * levels, but only 2,200 levels of objects with a member whose name is an integer. The nodes of lisk-sdk 3.0.2, with
 * Node.js 12, write 1,847 levels of such objects, and 3,900 levels of other objects.
 */
export function unwritableAsset(id: TransactionId): TransactionError {
  return transactionError(id, 'should NOT nest deeper than JSON can be written', '.asset');
}

function tooDeep(id: TransactionId, levelsMax: number): TransactionError {
  return transactionError(id, `should NOT nest deeper than ${levelsMax} levels`, '.asset');
}

/**
 * Returns the reason why the pool must refuse a transaction, even though a block with this transaction can be valid.
 * Returns undefined if there is no such reason.
 */
export function poolFault(transaction: Transaction): TransactionError | undefined {
  const { id, written } = transaction;
  if (written?.asset === undefined) return undefined;
  if (Buffer.byteLength(written.asset) > POOLED_ASSET_BYTES_MAX) {
    const message = `Unknown members make the asset longer than ${POOLED_ASSET_BYTES_MAX} bytes`;
    return transactionError(id, message, '.asset');
  }
  const counted = countedAmount(transaction);
  if (typeof counted !== 'bigint' && !couldExist(counted)) {
    return transactionError(id, 'Unknown member is not an amount of beddows that could exist', '.asset.amount');
  }
  if (nestingOf(written.asset) > POOLED_NESTING_MAX) return tooDeep(id, POOLED_NESTING_MAX);
  return storageFault(transaction);
}

function couldExist(counted: Decimal | undefined): boolean {
  const amount = counted && integerOf(counted);
  return amount !== undefined && amount >= 0n && amount <= SUPPLY_MAX;
}

/**
 * Upper limit, in beddows, for the supply of any network. The limit is so low that the total amount of a block fits
 * into 64 bits even if each transaction of the block has this amount.
 */
const SUPPLY_MAX = 20_000_000_000_000_000n;

function nestingOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  let isInText = false;
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (isInText) {
      if (character === '\\') at += 1;
      else if (character === '"') isInText = false;
    } else if (character === '"') isInText = true;
    else if (character === '[' || character === '{') {
      depth += 1;
      deepest = Math.max(deepest, depth);
    } else if (character === ']' || character === '}') depth -= 1;
  }
  return deepest;
}

/**
 * Returns whether two JSON values are equal. The function compares lists and objects by their members. The recursion
 * ends at the depth of `b`, which is only a few levels, because `b` is part of an asset that the node has built from a
 * payload.
 */
function isSameText(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((value, index) => isSameText(value, (b as readonly unknown[])[index]));
  }
  if (typeof a === 'object' && a !== null && typeof b === 'object' && b !== null && !Array.isArray(b)) {
    const names = Object.keys(a);
    return (
      !Array.isArray(a) &&
      names.length === Object.keys(b).length &&
      names.every((name) => isSameText(member(a, name), member(b, name)))
    );
  }
  return a === b;
}

/**
 * Returns an object with the member `senderPublicKey` of `Transaction.written`. This member stores the key with its
 * upper-case letters. Returns an empty object if `key` is in lower case, because the node does not store lower-case
 * keys in `Transaction.written`.
 */
export function writtenKey(key: string): Pick<OriginalJson, 'senderPublicKey'> {
  return isLowerCase(key) ? {} : { senderPublicKey: key };
}

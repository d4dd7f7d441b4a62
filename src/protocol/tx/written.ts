/**
 * What a sender wrote and nobody signed. The network keeps members of an asset that no rule knows, the letter case of a key and
 * of members' signatures.
 */

import type { StateWriter } from '../state.ts';
import type { Address, JsonObject, PublicKey, Transaction, TransactionId, Written } from '../types.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import { member } from './json.ts';
import { integerOf, type Decimal } from '../../primitives/decimal.ts';
import { countedAmount } from './amounts.ts';

/**
 * Levels of arrays and objects of an asset in a block. The reference copies assets by recursion when it stores them, and where
 * its stack ends depends on what its engine has compiled: below 1,780 levels in a fresh process, up to 3,141 in one that has
 * run for long. What any of them stores must be taken here. The engine of this node writes JSON of some 4,000 levels.
 */
const ASSET_NESTING_MAX = 3_400;

/** The same of what this node forges: every real node stores it. */
const POOLED_NESTING_MAX = 256;

/**
 * Bytes of an asset with unknown members that the pool takes. The network sets no bound but that of a message, 3 MB; the
 * queues of the pool hold 5,000 transactions, and a block of them must fit in a message.
 */
const POOLED_ASSET_BYTES_MAX = 8_192;

const CAPITALS = /[A-F]/;
const ESCAPE = /\\(?:u([0-9a-f]{4})|.)/g;

/** The sender's public key in the letter case that it was written in. */
export function keyAsWritten({ senderPublicKey, written }: Transaction): string {
  return written?.senderPublicKey ?? senderPublicKey;
}

/** Brings keys of accounts to the form in which they outlast their block: the reference stores their bytes. */
export function settleKeys(state: StateWriter, addresses: Iterable<Address>): void {
  for (const address of addresses) {
    const account = state.account(address);
    if (account?.publicKey === undefined || isSettled(account.publicKey)) continue;
    state.setAccount({ ...account, publicKey: account.publicKey.toLowerCase() });
  }
}

/** True for a key as blocks before the present one have left it. */
export function isSettled(publicKey: PublicKey): boolean {
  return !CAPITALS.test(publicKey);
}

/**
 * The asset as JSON where a sender wrote more or otherwise than `known`, undefined where that says it all.
 *
 * @param asset of a document
 * @param known what is written of the asset when it is left to the rules
 * @throws RangeError for one that nests deeper than this process can follow, far above any bound
 */
export function writtenAsset(asset: unknown, known: JsonObject): string | undefined {
  if (typeof asset !== 'object' || asset === null) return undefined;
  const names = Object.keys(asset);
  const isKnown =
    names.length === Object.keys(known).length &&
    names.every((name) => Object.hasOwn(known, name) && isSameText(member(asset, name), known[name]));
  if (isKnown) return undefined;
  const amount = member(asset, 'amount');
  // JSON has numbers beyond those of this runtime. Written as null such an amount would count as 0; as a text it is no amount.
  const isInfinite = typeof amount === 'number' && !Number.isFinite(amount);
  return JSON.stringify(isInfinite ? { ...asset, amount: String(amount) } : asset);
}

/** Assets as documents have them: that of `known` with what was written. */
export function assetOf({ written }: Transaction, known: JsonObject): JsonObject {
  return written?.asset === undefined ? known : (JSON.parse(written.asset) as JsonObject);
}

/**
 * Why the reference cannot store a transaction that is valid else: its database has no NUL and no half of a surrogate pair in
 * JSON, and its copying ends at a depth. It refuses a block with such a transaction after it has passed it on.
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

function tooDeep(id: TransactionId, levelsMax: number): TransactionError {
  return transactionError(id, `should NOT nest deeper than ${levelsMax} levels`, '.asset');
}

/** Why a pool keeps no such transaction although blocks may hold it. */
export function poolFault(transaction: Transaction): TransactionError | undefined {
  const { id, written } = transaction;
  if (written?.asset === undefined) return undefined;
  if (Buffer.byteLength(written.asset) > POOLED_ASSET_BYTES_MAX) {
    const message = `Unknown members make the asset longer than ${POOLED_ASSET_BYTES_MAX} bytes`;
    return transactionError(id, message, '.asset');
  }
  const counted = countedAmount(transaction);
  if (typeof counted !== 'bigint' && !couldExist(counted)) {
    return transactionError(id, 'Unknown member is no amount of beddows that could exist', '.asset.amount');
  }
  if (nestingOf(written.asset) > POOLED_NESTING_MAX) return tooDeep(id, POOLED_NESTING_MAX);
  return storageFault(transaction);
}

function couldExist(counted: Decimal | undefined): boolean {
  const amount = counted && integerOf(counted);
  return amount !== undefined && amount >= 0n && amount <= SUPPLY_MAX;
}

/** Above the supply of every network, and low enough that a block of such amounts has a total. */
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

/** True for values of JSON that are written alike; lists of texts are the only ones that known members have. */
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

/** As `written`, of a transaction whose key was given as `key`. */
export function writtenKey(key: string): Pick<Written, 'senderPublicKey'> {
  return isSettled(key) ? {} : { senderPublicKey: key };
}

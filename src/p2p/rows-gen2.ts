/**
 * Converts between blocks and rows. In generation 2, nodes send blocks as rows, in the order of the blocks. A row is a
 * JSON object without inner objects. Each row contains the members of a block and the members of one of its
 * transactions. A block without transactions has one row, in which the members of the transaction are null. This file
 * does not validate the values of rows. The block codec (`blockFromJson`) validates them later.
 */

import { type Fields, isListOfRecords, isRecord, own } from './frame-validation.ts';

/**
 * Each entry describes a member of a block: the name of the member, the column of the row that contains the member, and
 * the form of the value in this column.
 */
const BLOCK_COLUMNS = [
  ['id', 'b_id', 'plain'],
  ['version', 'b_version', 'number'],
  ['timestamp', 'b_timestamp', 'number'],
  ['height', 'b_height', 'number'],
  ['previousBlock', 'b_previousBlock', 'plain'],
  ['numberOfTransactions', 'b_numberOfTransactions', 'number'],
  ['totalAmount', 'b_totalAmount', 'amount'],
  ['totalFee', 'b_totalFee', 'amount'],
  ['reward', 'b_reward', 'amount'],
  ['payloadLength', 'b_payloadLength', 'number'],
  ['payloadHash', 'b_payloadHash', 'plain'],
  ['generatorPublicKey', 'b_generatorPublicKey', 'plain'],
  ['blockSignature', 'b_blockSignature', 'plain'],
] as const;

const TRANSACTION_COLUMNS = [
  ['id', 't_id', 'plain'],
  ['type', 't_type', 'number'],
  ['timestamp', 't_timestamp', 'number'],
  ['senderPublicKey', 't_senderPublicKey', 'plain'],
  ['senderId', 't_senderId', 'plain'],
  ['recipientId', 't_recipientId', 'plain'],
  ['amount', 't_amount', 'amount'],
  ['fee', 't_fee', 'amount'],
  ['signature', 't_signature', 'plain'],
  ['signSignature', 't_signSignature', 'plain'],
  ['requesterPublicKey', 't_requesterPublicKey', 'plain'],
  ['signatures', 't_signatures', 'list'],
] as const;

/**
 * Each entry describes a member of an asset. The entry consists of the name of the inner object that contains the
 * member, the name of the member, the column of the member, and the form of the value. The name of the inner object is
 * undefined if the asset itself contains the member. The columns have the same order as in lisk-sdk.
 */
const ASSET_COLUMNS = [
  [undefined, 'data', 'tf_data', 'plain'],
  ['signature', 'publicKey', 's_publicKey', 'plain'],
  ['delegate', 'username', 'd_username', 'plain'],
  [undefined, 'votes', 'v_votes', 'list'],
  ['multisignature', 'min', 'm_min', 'number'],
  ['multisignature', 'lifetime', 'm_lifetime', 'number'],
  ['multisignature', 'keysgroup', 'm_keysgroup', 'list'],
  ['dapp', 'name', 'dapp_name', 'plain'],
  ['dapp', 'description', 'dapp_description', 'plain'],
  ['dapp', 'tags', 'dapp_tags', 'plain'],
  ['dapp', 'type', 'dapp_type', 'number'],
  ['dapp', 'link', 'dapp_link', 'plain'],
  ['dapp', 'category', 'dapp_category', 'number'],
  ['dapp', 'icon', 'dapp_icon', 'plain'],
  ['inTransfer', 'dappId', 'in_dappId', 'plain'],
  ['outTransfer', 'dappId', 'ot_dappId', 'plain'],
  ['outTransfer', 'transactionId', 'ot_outTransactionId', 'plain'],
] as const;

/**
 * Maximum number of rows in one answer. An answer has this number of rows if it contains a hundred blocks, each with
 * the largest number of transactions that a network can allow.
 */
const ROWS_MAX = 15_000;
const LIST_ENTRIES_MAX = 200;
/**
 * Matches an integer in text form. Instead of a number, a peer can send the text that a column of its database
 * contains.
 */
const INTEGER = /^-?[0-9]{1,15}$/;

type Writing = 'plain' | 'number' | 'amount' | 'list';

/** Turns blocks into rows. `blocks` contains blocks in the JSON form of the block codec. */
export function rowsOf(blocks: readonly unknown[]): readonly object[] {
  return blocks.flatMap((block) => {
    const fields: Fields = isRecord(block) ? block : {};
    const head = cells(BLOCK_COLUMNS, fields);
    const transactions = own(fields, 'transactions');
    const some = Array.isArray(transactions) && transactions.length > 0 ? (transactions as readonly unknown[]) : [{}];
    return some.map((transaction) => ({ ...head, ...transactionCells(isRecord(transaction) ? transaction : {}) }));
  });
}

/**
 * Turns rows into blocks in the JSON form that the block codec reads. The blocks have the order of the rows. The result
 * is undefined if `rows` is not a list of at most `ROWS_MAX` rows, or if a row has no block id.
 */
export function blocksOf(rows: unknown): readonly object[] | undefined {
  if (!isListOfRecords(rows, ROWS_MAX)) return undefined;
  const blocks = new Map<string, { readonly block: object; readonly transactions: object[] }>();
  for (const row of rows) {
    const id = own(row, 'b_id');
    if (typeof id !== 'string') return undefined;
    let entry = blocks.get(id);
    if (entry === undefined) {
      const transactions: object[] = [];
      entry = { block: { ...members(BLOCK_COLUMNS, row), transactions }, transactions };
      blocks.set(id, entry);
    }
    if (isGiven(own(row, 't_id'))) entry.transactions.push(transactionOf(row));
  }
  return [...blocks.values()].map(({ block }) => block);
}

function transactionCells(transaction: Fields): object {
  const asset = own(transaction, 'asset');
  const row: Record<string, unknown> = cells(TRANSACTION_COLUMNS, transaction);
  for (const [group, member, column, writing] of ASSET_COLUMNS) {
    const holder = isRecord(asset) ? (group === undefined ? asset : own(asset, group)) : undefined;
    row[column] = isRecord(holder) ? cell(own(holder, member), writing) : null;
  }
  return row;
}

function transactionOf(row: Fields): object {
  const asset: Record<string, unknown> = {};
  for (const [group, member, column, writing] of ASSET_COLUMNS) {
    const value = own(row, column);
    if (!isGiven(value)) continue;
    const read = valueOf(value, writing);
    if (group === undefined) asset[member] = read;
    else asset[group] = { ...(asset[group] as object | undefined), [member]: read };
  }
  return { signatures: [], ...members(TRANSACTION_COLUMNS, row), asset };
}

function cells(columns: readonly (readonly [string, string, Writing])[], fields: Fields): Record<string, unknown> {
  return Object.fromEntries(columns.map(([member, column, writing]) => [column, cell(own(fields, member), writing)]));
}

function members(columns: readonly (readonly [string, string, Writing])[], row: Fields): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  for (const [member, column, writing] of columns) {
    const value = own(row, column);
    if (isGiven(value)) read[member] = valueOf(value, writing);
  }
  return read;
}

function cell(value: unknown, writing: Writing): unknown {
  if (value === undefined || value === null) return null;
  if (writing === 'list') return Array.isArray(value) ? value.join(',') : null;
  return writing === 'amount' ? String(value) : value;
}

function valueOf(value: unknown, writing: Writing): unknown {
  if (writing === 'number' && typeof value === 'string' && INTEGER.test(value)) return Number(value);
  // `split` truncates a list with more than `LIST_ENTRIES_MAX` entries. The truncated list is still longer than the
  // protocol allows, so the block codec refuses it.
  if (writing === 'list' && typeof value === 'string') return value.split(',', LIST_ENTRIES_MAX);
  return value;
}

/** True if a column has a value. Null, an empty text and a missing column count as no value. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

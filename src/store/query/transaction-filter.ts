/** What the filters of a question about transactions ask for: as a claim, and as the shortest list that holds all that fit. */

import { addressOf } from '../../crypto/keys.ts';
import type { TransactionQuery } from '../../ports/queries.ts';
import type { TransactionPlace } from '../../ports/store.ts';
import type { Transaction } from '../../protocol/types.ts';
import { transactionTotal } from '../tables/stored-transactions.ts';
import type { StoredChain } from '../chain/chain-store.ts';
import { amountOf, dataOf, recipientOf } from '../index/indexes.ts';
import { prefixRange, type KeyRange } from '../tables/key-value.ts';
import { TABLES } from '../tables/layout.ts';
import { isU16, orderedBigint, placeAtEnd, timestampBytes } from '../tables/ordered-bytes.ts';
import { LikePattern } from './like.ts';
import type { ValueBounds } from './ordered-keys.ts';
import type { ListFilter } from './ordered-places.ts';
import { listLength } from '../index/transaction-lists.ts';

export type Claim = (transaction: Transaction, place: TransactionPlace) => boolean;

/** Some transactions in the order of the chain, all of them that can fit one of the filters. */
export interface Candidates {
  readonly size: number;
  places(): Iterable<TransactionPlace>;
}

const PUBLIC_KEY_TEXT = /^[0-9a-f]{64}$/;
const ADDRESS_BYTES_MAX = 255;
const TIMESTAMP_MIN = -0x8000_0000;
const TIMESTAMP_MAX = 0x7fff_ffff;
const NOTHING: Candidates = { size: 0, places: () => [] };

/** All filters as one claim; undefined when nothing can fit. */
export function claimOf(store: StoredChain, query: TransactionQuery): Claim | undefined {
  const senderPublicKey = query.senderPublicKey?.toLowerCase();
  const height = query.blockId === undefined ? query.height : store.heightOf(query.blockId);
  if (query.blockId !== undefined && height === undefined) return undefined;
  const recipientKey = query.recipientPublicKey?.toLowerCase();
  const recipientOfKey = recipientKey === undefined ? undefined : addressWithKey(store, recipientKey);
  if (recipientKey !== undefined && recipientOfKey === undefined) return undefined;
  const data = query.dataPattern === undefined ? undefined : new LikePattern(Buffer.from(query.dataPattern, 'utf8'));
  const { senderIdOrRecipientId: either } = query;
  return (transaction, place) => {
    const recipientId = recipientOf(transaction);
    const isSender = query.senderId === undefined || transaction.senderId === query.senderId;
    const isRecipient = query.recipientId === undefined || recipientId === query.recipientId;
    const isParty =
      either === undefined
        ? isSender && isRecipient
        : // Each half of the OR replaces the filter of its own side.
          (transaction.senderId === either && isRecipient) || (recipientId === either && isSender);
    return (
      isParty &&
      (query.id === undefined || transaction.id === query.id) &&
      (height === undefined || place.height === height) &&
      (query.height === undefined || place.height === query.height) &&
      (query.type === undefined || transaction.type === query.type) &&
      (senderPublicKey === undefined || transaction.senderPublicKey === senderPublicKey) &&
      (recipientOfKey === undefined || recipientId === recipientOfKey) &&
      (query.minAmount === undefined || amountOf(transaction) >= query.minAmount) &&
      (query.maxAmount === undefined || amountOf(transaction) <= query.maxAmount) &&
      (query.fromTimestampS === undefined || transaction.timestamp >= query.fromTimestampS) &&
      (query.toTimestampS === undefined || transaction.timestamp <= query.toTimestampS) &&
      (data === undefined || fitsData(data, transaction))
    );
  };
}

/** Lists, of those that may be kept sorted, that hold all that fits; the whole chain comes last. */
export function listFiltersOf(store: StoredChain, query: TransactionQuery): readonly ListFilter[] {
  const lists: ListFilter[] = [];
  const { type, senderId, recipientId, senderIdOrRecipientId } = query;
  if (senderIdOrRecipientId !== undefined) lists.push({ kind: 'party', address: senderIdOrRecipientId });
  else {
    if (senderId !== undefined) lists.push({ kind: 'sender', address: senderId });
    if (recipientId !== undefined) lists.push({ kind: 'recipient', address: recipientId });
  }
  const sender = query.senderPublicKey?.toLowerCase();
  if (sender !== undefined && PUBLIC_KEY_TEXT.test(sender)) lists.push({ kind: 'sender', address: addressOf(sender) });
  const recipient = query.recipientPublicKey?.toLowerCase();
  const ofRecipient = recipient === undefined ? undefined : addressWithKey(store, recipient);
  if (ofRecipient !== undefined) lists.push({ kind: 'recipient', address: ofRecipient });
  if (type !== undefined && isU16(type)) lists.push({ kind: 'type', type });
  const possible = lists.filter((list) => !('address' in list) || Buffer.byteLength(list.address) <= ADDRESS_BYTES_MAX);
  return [...possible, { kind: 'all' }];
}

/** The list that the filters, bounds apart, name exactly; undefined when they name none, or more than one. */
export function exactListOf(store: StoredChain, query: TransactionQuery): ListFilter | undefined {
  const { id, blockId, height, dataPattern, senderPublicKey } = query;
  if (id !== undefined || blockId !== undefined || height !== undefined || dataPattern !== undefined) return undefined;
  const names = [
    query.type,
    query.senderId,
    query.recipientId,
    query.senderIdOrRecipientId,
    senderPublicKey,
    query.recipientPublicKey,
  ].filter((value) => value !== undefined);
  if (names.length > 1) return undefined;
  const [list] = listFiltersOf(store, query);
  if (names.length === 1 && list?.kind === 'all') return undefined;
  // The rules let nobody send under another key than the account's own.
  const sender = senderPublicKey?.toLowerCase();
  return sender === undefined || addressWithKey(store, sender) !== undefined ? list : undefined;
}

/** Bounds of the value that is sorted by; undefined when bounds of another value are given. */
export function boundsOf(query: TransactionQuery): ValueBounds | undefined {
  const { minAmount, maxAmount, fromTimestampS, toTimestampS } = query;
  const hasAmounts = minAmount !== undefined || maxAmount !== undefined;
  const hasTimes = fromTimestampS !== undefined || toTimestampS !== undefined;
  if (!hasAmounts && !hasTimes) return {};
  if (query.sort.field === 'amount' && !hasTimes) {
    return {
      ...(minAmount === undefined ? {} : { from: orderedBigint(minAmount) }),
      ...(maxAmount === undefined ? {} : { to: orderedBigint(maxAmount) }),
    };
  }
  if (query.sort.field !== 'timestamp' || hasAmounts) return undefined;
  const [from, to] = [Math.ceil(fromTimestampS ?? TIMESTAMP_MIN), Math.floor(toTimestampS ?? TIMESTAMP_MAX)];
  if (from > TIMESTAMP_MAX || to < TIMESTAMP_MIN) return undefined;
  return {
    from: timestampBytes(Math.max(from, TIMESTAMP_MIN)),
    to: timestampBytes(Math.min(to, TIMESTAMP_MAX)),
  };
}

/** The fewest candidates that one filter leaves. */
export function candidatesOf(store: StoredChain, query: TransactionQuery): Candidates {
  const choices: Candidates[] = [];
  if (query.id !== undefined) choices.push(withId(store, query.id));
  if (query.blockId !== undefined) choices.push(ofBlock(store, store.heightOf(query.blockId) ?? 0));
  if (query.height !== undefined) choices.push(ofBlock(store, query.height));
  if (query.senderIdOrRecipientId !== undefined) choices.push(ofParty(store, query.senderIdOrRecipientId));
  else if (query.senderId !== undefined) choices.push(ofAddress(store, 'transactionsBySender', query.senderId));
  else if (query.recipientId !== undefined) {
    choices.push(ofAddress(store, 'transactionsByRecipient', query.recipientId));
  }
  if (query.senderPublicKey !== undefined) {
    const key = query.senderPublicKey.toLowerCase();
    choices.push(PUBLIC_KEY_TEXT.test(key) ? ofAddress(store, 'transactionsBySender', addressOf(key)) : NOTHING);
  }
  if (query.recipientPublicKey !== undefined) {
    const address = addressWithKey(store, query.recipientPublicKey.toLowerCase());
    choices.push(address === undefined ? NOTHING : ofAddress(store, 'transactionsByRecipient', address));
  }
  if (query.type !== undefined)
    choices.push(isU16(query.type) ? ofList(store, TABLES.transactionsByType.prefix(query.type)) : NOTHING);
  if (query.minAmount !== undefined || query.maxAmount !== undefined) choices.push(ofRange(store, amountRange(query)));
  if (query.fromTimestampS !== undefined || query.toTimestampS !== undefined) {
    choices.push(ofRange(store, timestampRange(query)));
  }
  if (query.dataPattern !== undefined) choices.push(withData(store, query.dataPattern));
  const all = {
    size: transactionTotal(store.tables, store.tip()?.height ?? 0),
    places: () => allPlaces(store),
  };
  return choices.reduce<Candidates>((best, choice) => (choice.size < best.size ? choice : best), all);
}

/** Places of the registrations of a type, in the order of the chain. */
export function placesOfType(store: StoredChain, type: number): Iterable<TransactionPlace> {
  return ofList(store, TABLES.transactionsByType.prefix(type)).places();
}

function withId(store: StoredChain, id: string): Candidates {
  const place = store.transactionPlace(id);
  return place === undefined ? NOTHING : { size: 1, places: () => [place] };
}

function ofBlock(store: StoredChain, height: number): Candidates {
  if (store.header(height) === undefined) return NOTHING;
  const size = transactionTotal(store.tables, height) - transactionTotal(store.tables, height - 1);
  return { size, places: () => Array.from({ length: size }, (_, index) => ({ height, index })) };
}

function ofAddress(
  store: StoredChain,
  table: 'transactionsBySender' | 'transactionsByRecipient',
  address: string,
): Candidates {
  if (Buffer.byteLength(address) > ADDRESS_BYTES_MAX) return NOTHING;
  return ofList(store, TABLES[table].prefix(address));
}

function ofParty(store: StoredChain, address: string): Candidates {
  const sent = ofAddress(store, 'transactionsBySender', address);
  const received = ofAddress(store, 'transactionsByRecipient', address);
  return {
    size: sent.size + received.size,
    places: () => {
      // A transaction to oneself stands in both lists and is one transaction.
      const places = new Map<string, TransactionPlace>();
      for (const list of [sent, received]) {
        for (const place of list.places()) places.set(`${place.height}.${place.index}`, place);
      }
      return places.values();
    },
  };
}

function ofList({ tables }: StoredChain, list: Buffer): Candidates {
  return {
    size: listLength(tables, list),
    places: () => Array.from(tables.keys(prefixRange(list)), placeAtEnd),
  };
}

function ofRange(store: StoredChain, range: Pick<KeyRange, 'gte' | 'lt'>): Candidates {
  if (Buffer.compare(range.gte, range.lt) >= 0) return NOTHING;
  return { size: store.tables.count(range), places: () => placesOf(store, range) };
}

function withData(store: StoredChain, pattern: string): Candidates {
  const prefix = new LikePattern(Buffer.from(pattern, 'utf8')).literalPrefix();
  return ofRange(store, TABLES.transactionsByData.range(Buffer.from(prefix)));
}

function allPlaces({ tables }: StoredChain): readonly TransactionPlace[] {
  const places: TransactionPlace[] = [];
  for (const { key, value } of tables.entries(TABLES.transactionTotals.all)) {
    const from = places.length;
    const [height] = TABLES.transactionTotals.read(key);
    for (const total = Number(value.readBigUInt64BE()); places.length < total;) {
      places.push({ height, index: places.length - from });
    }
  }
  return places;
}

function placesOf({ tables }: StoredChain, range: Pick<KeyRange, 'gte' | 'lt'>): readonly TransactionPlace[] {
  return Array.from(tables.keys(range), placeAtEnd);
}

function addressWithKey(store: StoredChain, publicKey: string): string | undefined {
  if (!PUBLIC_KEY_TEXT.test(publicKey)) return undefined;
  const address = addressOf(publicKey);
  return store.account(address)?.publicKey === publicKey ? address : undefined;
}

function fitsData(pattern: LikePattern, transaction: Transaction): boolean {
  const data = dataOf(transaction);
  return data !== undefined && pattern.matches(data);
}

function amountRange({ minAmount, maxAmount }: TransactionQuery): Pick<KeyRange, 'gte' | 'lt'> {
  const table = TABLES.transactionsByAmount.all;
  return {
    gte: minAmount === undefined ? table.gte : TABLES.transactionsByAmount.prefix(minAmount),
    lt: maxAmount === undefined ? table.lt : TABLES.transactionsByAmount.range(maxAmount).lt,
  };
}

function timestampRange({ fromTimestampS, toTimestampS }: TransactionQuery): Pick<KeyRange, 'gte' | 'lt'> {
  const table = TABLES.transactionsByTimestamp.all;
  const from = Math.ceil(fromTimestampS ?? TIMESTAMP_MIN);
  const to = Math.floor(toTimestampS ?? TIMESTAMP_MAX);
  return {
    gte: from > TIMESTAMP_MAX ? table.lt : TABLES.transactionsByTimestamp.prefix(Math.max(from, TIMESTAMP_MIN)),
    lt: to < TIMESTAMP_MIN ? table.gte : TABLES.transactionsByTimestamp.range(Math.min(to, TIMESTAMP_MAX)).lt,
  };
}

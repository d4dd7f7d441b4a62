/**
 * Reads `exceptions.json`, which lists the known deviations of a live network from the rules of the protocol. The file
 * has the same format as the member `modules.chain.exceptions` in the configuration files of Lisk Core.
 */

import type { ProtocolError } from '../primitives/errors.ts';
import { NO_EXCEPTIONS, type Exceptions, type HeightRange } from '../protocol/params.ts';
import type { RecordReader } from './record.ts';

const ENTRIES_MAX = 100_000;

/**
 * Reads the exceptions of a network. Each key of the file is a kind of exception. If the file lacks a key, the network
 * has no exceptions of this kind.
 *
 * @throws ProtocolError with the error code of `record`, for an unknown key or a wrong value. The error names the file
 *   and the key. For a wrong value, the error also names the expected value
 */
export function readExceptions(record: RecordReader): Exceptions {
  const ids = (key: string): ReadonlySet<string> =>
    record.has(key) ? new Set(record.list(key, digits, ENTRIES_MAX)) : new Set();
  const addresses = (key: string): ReadonlyMap<string, string> =>
    mapOf(record, key, (entry, id) => entry.text(id, 'an address', (text) => /^[0-9]{1,100}L$/.test(text)));

  const exceptions: Exceptions = {
    senderPublicKey: ids('senderPublicKey'),
    signatures: ids('signatures'),
    signSignature: ids('signSignature'),
    votes: ids('votes'),
    transactionWithNullByte: ids('transactionWithNullByte'),
    multisignatures: ids('multisignatures'),
    recipientLeadingZero: addresses('recipientLeadingZero'),
    recipientExceedingUint64: addresses('recipientExceedingUint64'),
    duplicatedSignatures: mapOf(record, 'duplicatedSignatures', (entry, id) => entry.list(id, signature, 100)),
    inertTransactions: ids('inertTransactions'),
    roundVotes: ids('roundVotes'),
    blockRewards: ids('blockRewards'),
    blockVersions: numbered(mapOf(record, 'blockVersions', (entry, version) => heightRange(entry.object(version)))),
    rounds: numbered(mapOf(record, 'rounds', (entry, round) => roundFactors(entry.object(round)))),
    ignoreDelegateListCacheForRounds: record.has('ignoreDelegateListCacheForRounds')
      ? new Set(record.list('ignoreDelegateListCacheForRounds', roundNumber, ENTRIES_MAX))
      : new Set(),
    precedent: record.has('precedent') ? precedent(record.object('precedent')) : NO_EXCEPTIONS.precedent,
  };
  record.end();
  return exceptions;
}

function mapOf<T>(record: RecordReader, key: string, read: (entry: RecordReader, id: string) => T): Map<string, T> {
  const entries = new Map<string, T>();
  if (!record.has(key)) return entries;
  const members = record.object(key);
  for (const id of members.keys()) {
    if (!/^[0-9]{1,20}$/.test(id)) throw members.wrong(id, 'named by decimal digits');
    entries.set(id, read(members, id));
  }
  return entries;
}

function numbered<T>(entries: ReadonlyMap<string, T>): Map<number, T> {
  return new Map([...entries].map(([key, value]) => [Number(key), value]));
}

function heightRange(record: RecordReader): HeightRange {
  const start = record.integer('start', 0);
  const end = record.integer('end', start);
  record.end();
  return { start, end };
}

function roundFactors(record: RecordReader): { rewardsFactor: number; feesFactor: number; feesBonus: bigint } {
  const rewardsFactor = record.integer('rewards_factor', 0);
  const feesFactor = record.integer('fees_factor', 0);
  const feesBonus = BigInt(record.integer('fees_bonus', 0));
  record.end();
  return { rewardsFactor, feesFactor, feesBonus };
}

function precedent(record: RecordReader): Exceptions['precedent'] {
  const height = (key: string): number => (record.has(key) ? record.integer(key, 0) : 0);
  const heights = {
    disableDappTransfer: height('disableDappTransfer'),
    disableDappTransaction: height('disableDappTransaction'),
    disableV1Transactions: height('disableV1Transactions'),
  };
  record.end();
  return heights;
}

type Wrong = (expected: string) => ProtocolError;

function digits(value: unknown, wrong: Wrong): string {
  if (typeof value === 'string' && /^[0-9]{1,20}$/.test(value)) return value;
  throw wrong('a string of decimal digits');
}

function signature(value: unknown, wrong: Wrong): string {
  if (typeof value === 'string' && /^[0-9a-f]{128}$/.test(value)) return value;
  throw wrong('128 lower-case hexadecimal digits');
}

function roundNumber(value: unknown, wrong: Wrong): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw wrong('a round number');
}

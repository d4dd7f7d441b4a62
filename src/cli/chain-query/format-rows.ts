/** Formats blocks and transactions as lines for people. */

import { amountOfDigits, lskText } from '../../primitives/amount.ts';
import type { TransactionJson } from './shapes.ts';

export type Row = readonly [label: string, value: string];

const LABEL_CHARACTERS = 16;
/**
 * Minimum space between a label and its value. Some labels of block headers are so long that the column of labels must
 * be wider than `LABEL_CHARACTERS` characters.
 */
const GAP = '  ';
const NAMES: Readonly<Record<number, string>> = {
  0: 'transfer',
  1: 'second signature',
  2: 'delegate registration',
  3: 'vote',
  4: 'multisignature registration',
};
/**
 * Lowest and highest number of those transaction types of generation 3 that exist in generation 2, too. Generation 2
 * has these types in the same order, but numbers them from 0.
 */
const FIRST_TYPE_GEN3 = 8;
const LAST_TYPE_GEN3 = 12;

export function rowLines(rows: readonly Row[]): readonly string[] {
  const width = Math.max(LABEL_CHARACTERS, ...rows.map(([label]) => label.length + GAP.length));
  return rows.map(([label, value]) => `${label.padEnd(width)}${value}`);
}

/** True for a value that is present. For a missing value, nodes send null or an empty text. */
export function isSet(text: string | null | undefined): text is string {
  return typeof text === 'string' && text !== '';
}

/**
 * Converts an amount of beddows into a text in LSK, for example `12.5 LSK`.
 *
 * @param digits amount in beddows, as decimal digits from a node; other texts give `0 LSK`
 */
export function lsk(digits: string): string {
  return `${lskText(amountOfDigits(digits) ?? 0n)} LSK`;
}

/**
 * Returns the date and time in UTC. For a time that `Date` cannot show, the text states the number of seconds from the
 * epoch of the network to this time.
 *
 * @param timestampS whole seconds since the epoch
 * @param epochMs epoch of the network, as Unix time in milliseconds
 */
export function timeText(timestampS: number, epochMs: number): string {
  const date = new Date(epochMs + timestampS * 1000);
  if (Number.isNaN(date.valueOf())) return `${timestampS} s after the epoch of the network`;
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Describes a transaction in a few words: `sends 12.5 LSK to 17L`. */
export function descriptionOf({ type, amount, recipientId, asset }: TransactionJson): string {
  const content = isRecord(asset) ? asset : {};
  switch (kindOf(type)) {
    case 0: {
      const sent = lsk(amount ?? textOf(content['amount']));
      return `sends ${sent} to ${recipientId ?? textOf(content['recipientId'])}${dataOf(content)}`;
    }
    case 1:
      return 'registers a second passphrase';
    case 2:
      return `registers the delegate ${textOf(content['username'] ?? recordOf(content['delegate'])['username'])}`;
    case 3:
      return votesOf(content['votes']);
    case 4: {
      const group = isRecord(content['multisignature']) ? content['multisignature'] : content;
      const { min, keysgroup } = group;
      return `registers a group of ${listOf(keysgroup).length}, of whom ${textOf(min)} must sign`;
    }
    default:
      return `is of type ${type}`;
  }
}

/** Name of a transaction type, for example `transfer`; `type 13` for a type without a name. */
export function typeName(type: number): string {
  return NAMES[kindOf(type)] ?? `type ${type}`;
}

/** Returns the number of a type in generation 2. If generation 2 lacks the type, the result is `type` itself. */
function kindOf(type: number): number {
  return type >= FIRST_TYPE_GEN3 && type <= LAST_TYPE_GEN3 ? type - FIRST_TYPE_GEN3 : type;
}

function dataOf({ data }: Readonly<Record<string, unknown>>): string {
  return typeof data === 'string' && data !== '' ? ` with the text ${JSON.stringify(data)}` : '';
}

function votesOf(votes: unknown): string {
  const all = listOf(votes).map(textOf);
  const parts = [
    ['votes for', all.filter((vote) => vote.startsWith('+'))],
    ['takes its vote back from', all.filter((vote) => vote.startsWith('-'))],
  ] as const;
  const phrases = parts.flatMap(([words, list]) =>
    list.length === 0 ? [] : [`${words} ${list.map(keyOf).join(', ')}`],
  );
  return phrases.length === 0 ? 'votes for nobody' : phrases.join('; ');
}

function keyOf(vote: string): string {
  return vote.slice(1);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '?';
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

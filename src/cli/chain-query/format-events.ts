/** Formats the server-sent events of `bloomery events` as lines for people. */

import type { NodeEventJson } from '../event-stream.ts';
import { descriptionOf, lsk } from './format-rows.ts';
import type { TransactionJson } from './shapes.ts';

const ID_CHARACTERS = 18;
const NAME_CHARACTERS = 21;

/**
 * Formats one event in columns: its id (`-` for an event without id), its name, and its content (for example `block 17
 * at height 12 by KEY, 3 transactions`).
 */
export function eventLine({ id = '-', event, data }: NodeEventJson): string {
  return `${id.padEnd(ID_CHARACTERS)}  ${event.padEnd(NAME_CHARACTERS)}  ${contentOf(event, data)}`;
}

function contentOf(event: string, data: unknown): string {
  const content = (typeof data === 'object' && data !== null ? data : {}) as Readonly<Record<string, unknown>>;
  const shown = (name: string): string => {
    const value = content[name];
    return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '?';
  };
  if (event.startsWith('blocks/')) {
    const count = shown('numberOfTransactions');
    const transactions = `${count} ${count === '1' ? 'transaction' : 'transactions'}`;
    return `block ${shown('id')} at height ${shown('height')} by ${shown('generatorPublicKey')}, ${transactions}`;
  }
  if (event.startsWith('transactions/')) {
    const fee = typeof content['fee'] === 'string' ? content['fee'] : '';
    const type = typeof content['type'] === 'number' ? content['type'] : -1;
    return `${shown('id')}: ${shown('senderId')} ${descriptionOf({ ...content, type } as TransactionJson)}, fee ${lsk(fee)}`;
  }
  if (event.startsWith('peers/')) return `${shown('ip')}:${shown('wsPort')}`;
  return Object.keys(content)
    .map((name) => `${name} ${shown(name)}`)
    .join(', ');
}

/** Readers of values that actions and expectations share. */

import { addressFault } from '../../../crypto/keys.ts';
import { beddowsOfLskText } from '../../../primitives/amount.ts';
import { nodesOfText } from '../fault-words.ts';
import type { Place } from './place.ts';

export const ACCOUNT_NAME = /^[a-z][a-z0-9_]{0,31}$/;

export function nodeIn(place: Place, nodes: number): number {
  return place.integer('the number of a node', 0, nodes - 1);
}

/** Reads a list of numbers, a single number, or `1,2`. */
export function nodesIn(place: Place, nodes: number): readonly number[] {
  if (place.isList) return place.items('nodes').map((item) => nodeIn(item, nodes));
  return checkedNodes(place, place.parsed('nodes', (text) => nodesOfText([text])) ?? [], nodes);
}

export function checkedNodes(place: Place, found: readonly number[], nodes: number): readonly number[] {
  const wrong = found.find((node) => node >= nodes);
  if (wrong !== undefined) throw place.fault(`there is no node ${wrong}: the last one is ${nodes - 1}`);
  return found;
}

/** Reads an address, or the name of an account of the network. */
export function accountIn(place: Place): string {
  const account = place.text('an account');
  if (ACCOUNT_NAME.test(account) || addressFault(account) === undefined) return account;
  throw place.fault(`\`${account}\` is neither the name of an account, such as account_1, nor an address`);
}

/**
 * @returns the amount in beddows
 */
export function lskIn(place: Place): bigint {
  const amount = beddowsOfLskText(place.text('an amount'));
  if (amount === undefined) throw place.fault('an amount must be a number of LSK with at most 8 decimals');
  return amount;
}

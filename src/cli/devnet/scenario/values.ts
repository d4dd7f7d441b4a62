/** Reads the YAML values that occur both in actions and in conditions of a scenario. */

import { addressFault } from '../../../crypto/keys.ts';
import { beddowsOfLskText } from '../../../primitives/amount.ts';
import { nodesOfText } from '../parse-faults.ts';
import type { YamlValue } from './yaml-value.ts';

export const ACCOUNT_NAME = /^[a-z][a-z0-9_]{0,31}$/;

export function nodeIn(yaml: YamlValue, nodes: number): number {
  return yaml.integer('the number of a node', 0, nodes - 1);
}

/** Reads the numbers of one or more nodes, from a list, a single number, or a text such as `1,2`. */
export function nodesIn(yaml: YamlValue, nodes: number): readonly number[] {
  if (yaml.isList) return yaml.items('nodes').map((item) => nodeIn(item, nodes));
  return checkedNodes(yaml, yaml.parsed('nodes', (text) => nodesOfText([text])) ?? [], nodes);
}

export function checkedNodes(yaml: YamlValue, found: readonly number[], nodes: number): readonly number[] {
  const wrong = found.find((node) => node >= nodes);
  if (wrong !== undefined) throw yaml.fault(`there is no node ${wrong}: the last one is ${nodes - 1}`);
  return found;
}

/** Reads an address, or the name of an account of the network. */
export function accountIn(yaml: YamlValue): string {
  const account = yaml.text('an account');
  if (ACCOUNT_NAME.test(account) || addressFault(account) === undefined) return account;
  throw yaml.fault(`\`${account}\` is neither the name of an account, such as account_1, nor an address`);
}

/**
 * @returns the amount in beddows
 */
export function lskIn(yaml: YamlValue): bigint {
  const amount = beddowsOfLskText(yaml.text('an amount'));
  if (amount === undefined) throw yaml.fault('an amount must be a number of LSK with at most 8 decimals');
  return amount;
}

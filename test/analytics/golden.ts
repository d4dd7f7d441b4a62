/**
 * Reads chains that were recorded from a node of the reference (lisk-sdk). Compares the rows that a sink would store
 * for such a chain with the accounts in the database of the same node.
 */

import { join } from 'node:path';
import { createRules } from '../../src/protocol/generations.ts';
import type { Rules } from '../../src/protocol/rules.ts';
import type { Block } from '../../src/protocol/types.ts';
import { RowMaker } from '../../src/sinks/row-maker.ts';
import { joinedRows } from '../../src/sinks/tables.ts';
import { devnetParams, linesOf } from '../golden/recorded-node.ts';

export interface GoldenChain {
  readonly rules: Rules;
  readonly blocks: readonly Block[];
  readonly accounts: readonly RecordedAccount[];
}

interface RecordedAccount {
  readonly address: string;
  readonly balance: string;
  readonly missedBlocks: number;
  readonly fees: string;
  readonly rewards: string;
}

export function goldenChain(generation: 2 | 3, folder: string): GoldenChain {
  const [genesisJson, ...rest] = linesOf(join(folder, 'chain.ndjson.gz'));
  const { id, payloadHash } = genesisJson as { readonly id: string; readonly payloadHash: string };
  const rules = createRules(devnetParams(generation, id, payloadHash));
  const blocks = [rules.codec.genesisFromJson(genesisJson), ...rest.map((json) => rules.codec.blockFromJson(json))];
  return { rules, blocks, accounts: linesOf(join(folder, 'accounts.ndjson.gz')) as RecordedAccount[] };
}

/**
 * Compares the recorded values of each account with the sums of the rows that a sink would store for the account.
 *
 * @returns a text for each account whose values differ
 */
export function goldenDifferences({ rules, blocks, accounts }: GoldenChain): readonly string[] {
  const maker = new RowMaker(rules);
  const rows = joinedRows(blocks.map((block) => maker.rowsOf(block)));
  const sums = new Map<string, { balance: bigint; missed: number; fees: bigint; rewards: bigint }>();
  const of = (address: string) => {
    const known = sums.get(address) ?? { balance: 0n, missed: 0, fees: 0n, rewards: 0n };
    sums.set(address, known);
    return known;
  };
  for (const { address, amount } of rows.balance_changes) of(address).balance += amount;
  for (const { delegate, missed, fees, rewards } of rows.rounds) {
    const sum = of(delegate);
    sum.missed += missed;
    sum.fees += fees;
    sum.rewards += rewards;
  }
  return accounts.flatMap(({ address, balance, missedBlocks, fees, rewards }) => {
    const sum = of(address);
    const said = `${sum.balance} ${sum.missed} ${sum.fees} ${sum.rewards}`;
    const recorded = `${balance} ${missedBlocks} ${fees} ${rewards}`;
    return said === recorded ? [] : [`${address}: ${said}, recorded ${recorded}`];
  });
}

/** Compares the account table of a real (lisk-sdk) node with our state after the same chain. */

import { join } from 'node:path';
import type { Generation } from '../../src/protocol/params.ts';
import type { StateReader } from '../../src/protocol/state.ts';
import { type Comparison, type RecordedAnswer, recordedFacts } from './compare-answers.ts';
import { linesOf, startRecordedNode } from './recorded-node.ts';

interface RecordedAccount {
  readonly address: string;
  readonly [column: string]: unknown;
}

/**
 * Columns of the account tables to which no rule of the network assigns a value. In the recordings, these columns
 * contain only default values.
 */
const UNUSED_COLUMNS = new Set(['delegates', 'multisignatures', 'nameexist', 'asset']);

export async function compareAccounts(folder: string, generation: Generation): Promise<Comparison> {
  const rows = linesOf(join(folder, 'accounts.ndjson.gz')) as readonly RecordedAccount[];
  const node = await startRecordedNode({
    generation,
    chainFile: join(folder, 'chain.ndjson.gz'),
    ...recordedFacts(linesOf(join(folder, 'answers.ndjson.gz')) as readonly RecordedAnswer[]),
  });
  try {
    const complaints = rows.flatMap((row) => complaintsOf(row, generation, node.state));
    const { total } = node.api.chain.accounts({ sort: { field: 'balance', direction: 'asc' }, limit: 1, offset: 0 });
    if (total !== rows.length) complaints.push(`${rows.length} accounts became ${total}`);
    return { compared: rows.length, complaints };
  } finally {
    await node.close();
  }
}

function complaintsOf(row: RecordedAccount, generation: Generation, state: StateReader): readonly string[] {
  const ours: Readonly<Record<string, unknown>> = rowOf(row.address, generation, state);
  const differing = Object.keys(row).filter(
    (column) => !UNUSED_COLUMNS.has(column) && JSON.stringify(row[column]) !== JSON.stringify(ours[column]),
  );
  return differing.map(
    (column) => `${row.address} ${column}: ${JSON.stringify(row[column])} became ${JSON.stringify(ours[column])}`,
  );
}

function rowOf(address: string, generation: Generation, state: StateReader): Readonly<Record<string, unknown>> {
  const account = state.account(address);
  if (account === undefined) return {};
  const { publicKey, secondPublicKey, username, group } = account;
  const delegate = username === undefined || publicKey === undefined ? undefined : state.delegate(publicKey);
  const both = {
    address,
    username: username ?? null,
    isDelegate: username === undefined ? 0 : 1,
    secondSignature: secondPublicKey === undefined ? 0 : 1,
    publicKey: publicKey ?? null,
    secondPublicKey: secondPublicKey ?? null,
    balance: String(account.balance),
    multimin: group?.min ?? 0,
    multilifetime: group?.lifetime ?? 0,
    producedBlocks: account.producedBlocks,
    missedBlocks: account.missedBlocks,
    fees: String(account.forgedFees),
    rewards: String(account.forgedRewards),
  };
  const voteWeight = String(delegate?.voteWeight ?? 0n);
  if (generation === 2)
    return { ...both, vote: voteWeight, rank: delegate === undefined ? null : String(delegate.rank) };
  return {
    ...both,
    voteWeight,
    votedDelegatesPublicKeys: account.votes.length === 0 ? null : account.votes,
    membersPublicKeys: group?.members ?? null,
  };
}

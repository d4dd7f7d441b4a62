/** `bloomery tx`: shows a transaction from the chain or the pool of a node. */

import { ProtocolError } from '../../primitives/errors.ts';
import { epochMsOf } from '../chain-query/epoch.ts';
import { SEARCH_ORDER } from '../chain-query/pool-states.ts';
import { POOLED_TRANSACTIONS, TRANSACTIONS, type TransactionJson } from '../chain-query/shapes.ts';
import { askSource, type Source } from '../chain-query/chain-source.ts';
import { descriptionOf, lsk, rowLines, timeText, typeName } from '../chain-query/format-rows.ts';
import type { QueryFlags } from '../flags.ts';
import { printJson, printLines } from '../output.ts';

/**
 * @throws ProtocolError `TRANSACTION_UNKNOWN` if neither the chain nor the pool has the transaction; errors of
 *   `askSource` and `Source.ask`
 */
export async function showTransaction(id: string, flags: QueryFlags): Promise<void> {
  await askSource(flags, (source) => show(source, id, flags));
}

async function show(source: Source, id: string, flags: QueryFlags): Promise<void> {
  const { transaction, state } = await findTransaction(source, id);
  if (flags.json === true) {
    printJson({ transaction, state });
    return;
  }
  const { type, senderId, fee, height, blockId, confirmations, timestamp, signatures = [] } = transaction;
  const place = height === undefined ? `waits in the pool (${state})` : `block ${blockId} at height ${height}`;
  printLines(
    rowLines([
      ['transaction', id],
      ['type', `${type}, ${typeName(type)}`],
      ['sender', `${senderId} ${descriptionOf(transaction)}`],
      ['fee', lsk(fee)],
      ...(timestamp === undefined ? [] : [['time', timeText(timestamp, await epochMsOf(source))] as const]),
      ...(signatures.length === 0 ? [] : [['signatures', `${signatures.length} of members`] as const]),
      ['place', `${place}${confirmations === undefined ? '' : `, ${confirmations} confirmations`}`],
    ]),
  );
}

async function findTransaction(
  source: Source,
  id: string,
): Promise<{ readonly transaction: TransactionJson; readonly state: string }> {
  const confirmed = await findConfirmed(source, id);
  if (confirmed !== undefined) return { transaction: confirmed, state: 'confirmed' };
  for (const state of SEARCH_ORDER) {
    const [waiting] = await source.ask<readonly TransactionJson[]>(
      `node/transactions/${state}?id=${id}`,
      POOLED_TRANSACTIONS,
    );
    if (waiting !== undefined) return { transaction: waiting, state };
  }
  // During the search, a block possibly took the transaction out of the pool.
  const includedSince = await findConfirmed(source, id);
  if (includedSince !== undefined) return { transaction: includedSince, state: 'confirmed' };
  throw new ProtocolError('TRANSACTION_UNKNOWN', { id }, `${source.base} knows no transaction ${id}`);
}

async function findConfirmed(source: Source, id: string): Promise<TransactionJson | undefined> {
  return (await source.ask<readonly TransactionJson[]>(`transactions?id=${id}`, TRANSACTIONS))[0];
}

/**
 * Makes events from the records of the event log. For the same value of `Finality`, the same records always give the
 * same events in the same order. The place of an event can therefore serve as its id. The content of an event is
 * computed when the first subscriber wants it.
 *
 * The events of a record come in parts, each of at most one block. After a time without finality, one record can make
 * thousands of blocks final. The caller can stop after each part, so the caller never needs all these blocks in memory
 * at the same time.
 */

import type { ChainRecord } from '../../ports/chain-log.ts';
import type { NodeApi } from '../../ports/node-api.ts';
import { addressOf } from '../../crypto/keys.ts';
import { isLastOfRound, roundOf } from '../../protocol/rounds.ts';
import type { Block, Transaction } from '../../protocol/types.ts';
import type { HttpDialect } from '../dialect.ts';
import { recipientOf } from '../../protocol/tx/recipient.ts';
import { blockView } from '../views/block.ts';
import { confirmedView } from '../views/transaction.ts';
import type { NodeEvent } from './event.ts';

/**
 * `any`: the stream sends the events of a block when the block is applied, and when it is reverted. `final`: the stream
 * sends the events of a block only when the block becomes final, and sends no events of reverts.
 */
export type Finality = 'any' | 'final';

/**
 * Returns the number of parts of a record (see the comment at the start of this file). With `final`, the result is 0 if
 * the record makes no block final. With `any`, the result is always 1, even if the store no longer has the block of the
 * record.
 */
export function partsOf({ finalizedBefore, finalizedAfter }: ChainRecord, finality: Finality): number {
  return finality === 'final' ? Math.max(0, finalizedAfter - finalizedBefore) : 1;
}

/**
 * Makes the events of one part of a record.
 *
 * @param part number of the part, from 0 to `partsOf` - 1
 */
export function eventsOfPart(
  api: NodeApi,
  record: ChainRecord,
  part: number,
  finality: Finality,
  dialect: HttpDialect,
): readonly NodeEvent[] {
  const { finalizedBefore, finalizedAfter, height } = record;
  if (finality === 'final') {
    const finalHeight = finalizedBefore + 1 + part;
    const finalized = finalHeight === finalizedAfter ? finalizedAfter : undefined;
    return blockEvents(api, api.chain.blockByHeight(finalHeight), finalized, dialect);
  }
  const block = api.log.block(record);
  if (record.kind === 'applied')
    return blockEvents(api, block, finalizedAfter > finalizedBefore ? finalizedAfter : undefined, dialect);
  const transactions = [...(block?.transactions ?? [])].reverse();
  return [
    ...transactions.map((transaction) => transactionEvent('transactions/reverted', api, transaction, block, dialect)),
    ...(isLastOfRound(height, api.params) ? [roundEvent(roundOf(height, api.params))] : []),
    ...(block === undefined ? [] : [blockEvent('blocks/delete', block, dialect)]),
  ];
}

/**
 * Makes the events of an applied block.
 *
 * @param finalizedHeight finalized height after the block. If it is at least 1, the result also has the event
 *   `finalized/change`
 */
export function blockEvents(
  api: NodeApi,
  block: Block | undefined,
  finalizedHeight: number | undefined,
  dialect: HttpDialect,
): readonly NodeEvent[] {
  return [
    ...appliedEvents(api, block, dialect),
    ...(finalizedHeight === undefined || finalizedHeight < 1 ? [] : [finalizedEvent(finalizedHeight)]),
  ];
}

function appliedEvents(api: NodeApi, block: Block | undefined, dialect: HttpDialect): readonly NodeEvent[] {
  if (block === undefined) return [];
  return [
    blockEvent('blocks/new', block, dialect),
    ...block.transactions.map((transaction) =>
      transactionEvent('transactions/included', api, transaction, block, dialect),
    ),
    ...(isLastOfRound(block.height, api.params) ? [roundEvent(roundOf(block.height, api.params) + 1)] : []),
  ];
}

function blockEvent(name: 'blocks/new' | 'blocks/delete', block: Block, dialect: HttpDialect): NodeEvent {
  const { generatorPublicKey } = block;
  // The event shows the block as it was when it was the tip, so the block has one confirmation.
  const data = (): unknown => blockView(block, block.height, dialect);
  return { name, data, addresses: [addressOf(generatorPublicKey)], delegates: [generatorPublicKey] };
}

function transactionEvent(
  name: 'transactions/included' | 'transactions/reverted',
  api: NodeApi,
  transaction: Transaction,
  block: Block | undefined,
  dialect: HttpDialect,
): NodeEvent {
  const height = block?.height ?? 0;
  const entry = { transaction, blockId: block?.id ?? '', height };
  const data = (): unknown =>
    confirmedView(entry, height, { ready: api.readyOf(transaction), receivedAtMs: undefined }, dialect);
  return { name, data, ...partiesOf(transaction) };
}

/**
 * Returns the accounts and the delegates that the events of a transaction concern. The accounts are the sender and, if
 * there is one, the recipient. The delegates are the sender (whether or not the sender is a delegate), and each
 * delegate for whom the transaction adds or removes a vote.
 */
export function partiesOf(transaction: Transaction): Required<Pick<NodeEvent, 'addresses' | 'delegates'>> {
  const { payload, senderId, senderPublicKey } = transaction;
  const recipientId = recipientOf(transaction);
  const votes = payload.kind === 'vote' ? payload.votes.map((vote) => vote.slice(1).toLowerCase()) : [];
  return {
    addresses: recipientId === undefined ? [senderId] : [senderId, recipientId],
    delegates: [senderPublicKey, ...votes],
  };
}

function finalizedEvent(height: number): NodeEvent {
  return { name: 'finalized/change', data: () => ({ height }) };
}

function roundEvent(number: number): NodeEvent {
  return { name: 'rounds/change', data: () => ({ number }) };
}

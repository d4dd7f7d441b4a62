/**
 * Selects the events that a subscriber of the event stream wants. `LogFeed` first checks a record of the event log
 * (`mayWant`), and reads the block of the record only if the subscriber possibly wants events of this record. Then
 * `LogFeed` checks each event (`isWanted`).
 */

import type { ChainRecord } from '../../ports/chain-log.ts';
import type { ChainParams } from '../../protocol/params.ts';
import { isLastOfRound } from '../../protocol/rounds.ts';
import type { EventName, NodeEvent } from './event.ts';
import type { Finality } from './expand.ts';

export interface EventFilter {
  /** Names of the events that the subscriber wants; empty if the subscriber wants all events. */
  readonly names: ReadonlySet<EventName>;
  readonly address: string | undefined;
  readonly delegate: string | undefined;
  readonly finality: Finality;
  /** Present if the stream must end after the last record of the log, and not wait for new records. */
  readonly endsWithLog?: true;
  /** True when the subscriber is allowed to see which delegates forge on this node. */
  readonly maySeeForging: boolean;
}

const OF_APPLIED: readonly EventName[] = ['blocks/new', 'transactions/included'];
const OF_REVERTED: readonly EventName[] = ['blocks/delete', 'transactions/reverted'];
const OF_ROUND_END: readonly EventName[] = ['rounds/change'];
const OF_FINALIZED: readonly EventName[] = ['finalized/change'];
const OF_RECORDS = [...OF_APPLIED, ...OF_REVERTED, ...OF_ROUND_END, ...OF_FINALIZED];

/** True when the subscriber wants events that come from the records of the log. */
export function wantsRecords({ names }: EventFilter): boolean {
  return names.size === 0 || OF_RECORDS.some((name) => names.has(name));
}

/** True when a record possibly has events for the subscriber. The check ignores `address` and `delegate`. */
export function mayWant({ names, finality }: EventFilter, record: ChainRecord, params: ChainParams): boolean {
  const { kind, height, finalizedBefore, finalizedAfter } = record;
  const wants = (among: readonly EventName[]): boolean => names.size === 0 || among.some((name) => names.has(name));
  const isFinalizing = finalizedAfter > finalizedBefore;
  if (finality === 'final') return isFinalizing && [OF_APPLIED, OF_ROUND_END, OF_FINALIZED].some(wants);
  return (
    wants(kind === 'reverted' ? OF_REVERTED : OF_APPLIED) ||
    (isLastOfRound(height, params) && wants(OF_ROUND_END)) ||
    (kind === 'applied' && isFinalizing && wants(OF_FINALIZED))
  );
}

export function isWanted({ name, addresses, delegates }: NodeEvent, filter: EventFilter): boolean {
  return (
    (filter.names.size === 0 || filter.names.has(name)) &&
    (filter.address === undefined || addresses === undefined || addresses.includes(filter.address)) &&
    (filter.delegate === undefined || delegates === undefined || delegates.includes(filter.delegate)) &&
    (name !== 'forging/change' || filter.maySeeForging)
  );
}

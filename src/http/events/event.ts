/** Defines the events of the event stream (SSE) as subscribers get them: names, content and text format. */

import { crc32 } from 'node:zlib';
import type { ChainRecord } from '../../ports/chain-log.ts';
import type { Schema } from '../schema.ts';
import { COUNT, FLAG, ID, objectOf, PUBLIC_KEY } from '../views/shapes.ts';
import { blockShape } from '../views/block.ts';
import { peerShape } from '../views/peer.ts';
import { confirmedShape, receivedShape } from '../views/transaction.ts';
import type { HttpDialect } from '../dialect.ts';

export const EVENT_NAMES = [
  'blocks/new',
  'blocks/delete',
  'transactions/new',
  'transactions/included',
  'transactions/reverted',
  'finalized/change',
  'rounds/change',
  'forging/change',
  'peers/connected',
  'peers/disconnected',
  'log/gap',
] as const;

export type EventName = (typeof EVENT_NAMES)[number];

export interface NodeEvent {
  readonly name: EventName;
  /**
   * Computes the content of the event. If the event comes from the event log, the node calls this method only when a
   * subscriber wants the event.
   */
  data(): unknown;
  /** Accounts that the event concerns; undefined when the event concerns no particular account. */
  readonly addresses?: readonly string[];
  /** Delegates that the event concerns, by public key; undefined when the event concerns no particular delegate. */
  readonly delegates?: readonly string[];
}

/**
 * The place of an event in the stream consists of the number of a record in the event log (`sequence`), and the index
 * among the events of that record. A stream that starts at a requested height first sends blocks that it reads from the
 * chain. The place of an event of such a block also has the height of the block.
 */
export interface EventPlace {
  readonly sequence: number;
  /**
   * Tag of the record (a checksum, see `tagOf`); undefined if the tag is unknown, for example if a client sent an id
   * without a tag.
   */
  readonly tag?: number | undefined;
  /**
   * The height of a block. The block belongs to the chain as it was when the record `sequence` had just been written.
   * Present only while a stream that started at a requested height sends blocks that it reads from the chain.
   */
  readonly height?: number;
  /**
   * Index of the event among the events of the record. If `height` is present, the index counts the events of the block
   * instead. The index -1 means the place before the first event.
   */
  readonly index: number;
}

/** Index of the place after all events of a record. */
export const AFTER_RECORD = Number.MAX_SAFE_INTEGER;

/** Greatest index in an id of an event. No record and no block has as many events. */
const INDEX_MAX = 999_999_999;

/**
 * The first number in the id of an event is the tag of the record (a checksum, see `tagOf`) times `TAG_UNIT`, plus the
 * number of the record.
 */
const TAG_UNIT = 1_000_000_000;
const TAG_MAX = 999_999;

/**
 * Returns the tag of a record: a number from 1 to `TAG_MAX`, computed from the kind and the block id of the record. The
 * id of a block depends on all earlier blocks. If two logs belong to different chains, the records with the same number
 * therefore almost always have different tags.
 */
export function tagOf({ kind, blockId }: ChainRecord): number {
  return 1 + (crc32(`${kind} ${blockId}`) % TAG_MAX);
}

/**
 * Reads a place from the id of an event. For example, `483920000000012.3` means the event with index 3 of record 12.
 * The number 483920 is the tag of this record (a checksum, see `tagOf`). The id `483920000000012:345.6` also has the
 * height 345, and has the index 6. An id without a tag, such as `12.3`, is also allowed. The result is undefined for
 * any other text.
 */
export function placeOf(id: string): EventPlace | undefined {
  const [, sequence, height, index] = /^([0-9]{1,15})(?::([0-9]{1,15}))?\.([0-9]{1,9})$/.exec(id) ?? [];
  if (sequence === undefined) return undefined;
  const tag = Math.floor(Number(sequence) / TAG_UNIT);
  const place = {
    sequence: Number(sequence) % TAG_UNIT,
    ...(tag === 0 ? {} : { tag }),
    index: Number(index),
  };
  return height === undefined ? place : { ...place, height: Number(height) };
}

/** Returns the id of the event at a place. For a place between two records or blocks, use `idBefore`. */
export function idOf({ sequence, tag = 0, height, index }: EventPlace): string {
  const record = tag * TAG_UNIT + sequence;
  return height === undefined ? `${record}.${index}` : `${record}:${height}.${index}`;
}

/**
 * Returns an id that `placeOf` can read, also for a place between two records or blocks. A stream that resumes at this
 * id gets all events after the place. There is one exception: no id stands for the place before the first event of
 * block 1. For this place, the function returns the id of this event, so the resumed stream does not contain this
 * event.
 */
export function idBefore(place: EventPlace): string {
  const { sequence, height, index } = place;
  if (index > INDEX_MAX) return idOf({ ...place, index: INDEX_MAX });
  if (index >= 0) return idOf(place);
  if (height !== undefined)
    return idOf(height > 1 ? { ...place, height: height - 1, index: INDEX_MAX } : { ...place, index: 0 });
  // The tag is a checksum of the record `sequence`. The new id names the record before it, so the new id has no tag.
  return sequence > 0 ? idOf({ sequence: sequence - 1, index: INDEX_MAX }) : idOf({ ...place, index: 0 });
}

/** @param place undefined for an event that is not in the log; a subscriber cannot resume at such an event later */
export function eventText(event: NodeEvent, place: EventPlace | undefined): string {
  const id = place === undefined ? '' : `id: ${idOf(place)}\n`;
  return `${id}event: ${event.name}\ndata: ${JSON.stringify(event.data())}\n\n`;
}

export function eventShapes(
  dialect: HttpDialect,
): Readonly<Record<EventName, { readonly summary: string; readonly data: Schema }>> {
  const confirmed = confirmedShape(dialect);
  return {
    'blocks/new': { summary: 'A block was applied; the events of its transactions follow.', data: blockShape(dialect) },
    'blocks/delete': {
      summary: 'A block was reverted; the events of its transactions were sent before this event.',
      data: blockShape(dialect),
    },
    'transactions/new': {
      summary:
        'The pool accepted a transaction. This event has no id, and the node does not send it again after a reconnect.',
      data: receivedShape(),
    },
    'transactions/included': { summary: 'A block with the transaction was applied.', data: confirmed },
    'transactions/reverted': { summary: 'The block of the transaction was reverted.', data: confirmed },
    'finalized/change': {
      summary: 'The block at `height` and all earlier blocks are now final.',
      data: objectOf({ height: COUNT }),
    },
    'rounds/change': {
      summary: 'A new round began, or a revert returned to an earlier round.',
      data: objectOf({ number: COUNT }),
    },
    'forging/change': {
      summary:
        'Forging was enabled or disabled for a delegate of this node. This event has no id. Only clients in `http.forgingWhitelist` get this event.',
      data: objectOf({ publicKey: PUBLIC_KEY, forging: FLAG }),
    },
    'peers/connected': { summary: 'A connection to a peer opened. This event has no id.', data: peerShape(dialect) },
    'peers/disconnected': { summary: 'A connection to a peer closed. This event has no id.', data: peerShape(dialect) },
    'log/gap': {
      summary:
        'Events are missing in the stream: the event log of the node no longer contains the events between the id `after` and the record `next`, or the id `after` comes from another log. The client must compare its blocks with the blocks of the node. The client must then read each block that differs, and each block that the client does not have. The stream continues with the record `next`.',
      data: objectOf({ after: { type: 'string' }, next: COUNT, height: COUNT, blockId: ID }),
    },
  };
}

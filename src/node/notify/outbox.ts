/**
 * Stores, in an append-only file, the events of the notifier (`notifier.ts`) that wait for delivery to one receiver.
 * Each line of the file has a checksum. Unless the disk fails, an event is on the disk before its first delivery. The
 * outbox records a delivery only after the receiver has accepted the event, so a kill of the node loses no event that
 * was on the disk. If the node is killed after a delivery, but before the delivery is recorded, the notifier delivers
 * the event again after the restart, with the same id.
 */

import { renameSync, statSync } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readBounded } from '../../config/bounded-file.ts';
import { messageOf } from '../../primitives/errors.ts';
import type { Observer } from '../../ports/observer.ts';
import { makeFolder } from '../../store/disk/folder.ts';
import { checkedLine, contentOf } from '../checked-lines.ts';

/**
 * Maximum number of events that wait in one outbox. If more events wait, the outbox drops the oldest event. Without
 * this maximum, a receiver that is unreachable for weeks could fill the disk.
 */
export const EVENTS_MAX = 1000;
/**
 * Upper estimate of the size of an event in bytes: ten text fields of 300 characters, and the other members. A usual
 * event has a few hundred bytes. The outbox does not check this size.
 */
export const EVENT_BYTES_MAX = 8 * 1024;
const FILE_BYTES_MAX = 4 * EVENTS_MAX * EVENT_BYTES_MAX;
/**
 * The maximum size of the file is `EVENT_BYTES_MAX` bytes for each waiting event, plus this number of bytes. If an
 * append would make the file larger than this maximum, the outbox does not append. Instead, the outbox rewrites the
 * file with only the waiting events and `OutboxPlace` (how far the notifier has examined the chain).
 */
const SPARE_BYTES = 256 * 1024;
const FILE_MODE = 0o600;

export interface OutboxEvent {
  /**
   * Id of the event. If the notifier delivers an event again after a restart, the event has the same id, so that the
   * receiver recognises an event that it already has.
   */
  readonly id: string;
  /** Time at which the node recorded the event; ISO 8601, in UTC. */
  readonly time: string;
  /** Stable code of the event in upper case, the same as in the log. */
  readonly code: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

/**
 * Position of the notifier: the height up to which it has examined the blocks, and the slots that it has reported.
 * After a restart, the notifier continues from this position.
 */
export interface OutboxPlace {
  /** The notifier has looked for missed slots in all blocks up to this height. */
  readonly height: number;
  /**
   * The last reported slot for each kind of slot event (`missed`, `reverted`) and each delegate. The keys have the form
   * `<kind> <public key>`.
   */
  readonly reportedSlots: Readonly<Record<string, number>>;
}

export class Outbox {
  readonly #file: string;
  #handle: FileHandle;
  #fileBytes: number;
  readonly #waiting: Map<string, OutboxEvent>;
  #place: OutboxPlace;
  #isPlaceNew = false;
  #dropped = 0;
  #lines: Buffer[] = [];
  #isRewriteDue: boolean;
  #writing: Promise<void> = Promise.resolve();

  private constructor(file: string, handle: FileHandle, loaded: Loaded) {
    this.#file = file;
    this.#handle = handle;
    this.#waiting = loaded.waiting;
    this.#place = loaded.place;
    this.#fileBytes = loaded.bytes;
    this.#isRewriteDue = loaded.isDamaged;
  }

  /**
   * Opens the file, or creates it. An unreadable file is renamed, and a warning is logged.
   *
   * @throws errors of the system
   */
  static async open(file: string, observer: Observer): Promise<Outbox> {
    makeFolder(dirname(file));
    const loaded = load(file, observer);
    return new Outbox(file, await open(file, 'a', FILE_MODE), loaded);
  }

  /** Returns the events that wait for delivery, oldest first. */
  waiting(): readonly OutboxEvent[] {
    return [...this.#waiting.values()];
  }

  get place(): OutboxPlace {
    return this.#place;
  }

  /** Number of events that this object has dropped because too many events waited (`EVENTS_MAX`). */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Adds an event. The outbox ignores an event that has the same id as a waiting event. The caller must call `flush`
   * before it delivers the event.
   */
  add(event: OutboxEvent): void {
    if (this.#waiting.has(event.id)) return;
    this.#waiting.set(event.id, event);
    this.#lines.push(checkedLine({ event }));
    if (this.#waiting.size <= EVENTS_MAX) return;
    const [oldest] = this.#waiting.keys();
    if (oldest === undefined) return;
    this.#dropped += 1;
    this.delivered(oldest);
  }

  delivered(id: string): void {
    if (this.#waiting.delete(id)) this.#lines.push(checkedLine({ delivered: id }));
  }

  /**
   * Sets the position of the notifier: how far the notifier has searched the chain for missed slots, and which slots it
   * has reported. The next call of `flush` saves this position.
   */
  moveTo(place: OutboxPlace): void {
    this.#place = place;
    this.#isPlaceNew = true;
  }

  /**
   * Writes the outstanding changes to the file. Resolves when these changes are on the disk.
   *
   * @throws errors of the system. After such an error, the next call of `flush` rewrites the whole file
   */
  flush(): Promise<void> {
    this.#writing = this.#writing.catch(() => undefined).then(() => this.#write());
    return this.#writing;
  }

  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      await this.#handle.close();
    }
  }

  async #write(): Promise<void> {
    if (this.#isPlaceNew) this.#lines.push(checkedLine({ place: this.#place }));
    this.#isPlaceNew = false;
    const bytes = Buffer.concat(this.#lines);
    this.#lines = [];
    if (bytes.length === 0 && !this.#isRewriteDue) return;
    try {
      if (this.#isRewriteDue || this.#fileBytes + bytes.length > SPARE_BYTES + this.#waiting.size * EVENT_BYTES_MAX) {
        await this.#rewrite();
      } else {
        await this.#handle.appendFile(bytes);
        await this.#handle.datasync();
        this.#fileBytes += bytes.length;
      }
    } catch (error) {
      this.#isRewriteDue = true;
      throw error;
    }
  }

  async #rewrite(): Promise<void> {
    const draft = `${this.#file}.new`;
    await rm(draft, { force: true });
    const handle = await open(draft, 'ax', FILE_MODE);
    try {
      const events = this.waiting().map((event) => checkedLine({ event }));
      const content = Buffer.concat([checkedLine({ place: this.#place }), ...events]);
      await handle.appendFile(content);
      await handle.datasync();
      await rename(draft, this.#file);
      this.#fileBytes = content.length;
    } catch (error) {
      await handle.close();
      throw error;
    }
    const old = this.#handle;
    this.#handle = handle;
    this.#isRewriteDue = false;
    await old.close();
  }
}

interface Loaded {
  readonly waiting: Map<string, OutboxEvent>;
  readonly place: OutboxPlace;
  readonly bytes: number;
  readonly isDamaged: boolean;
}

const NO_PLACE: OutboxPlace = { height: 0, reportedSlots: {} };

function load(file: string, observer: Observer): Loaded {
  const waiting = new Map<string, OutboxEvent>();
  if (statSync(file, { throwIfNoEntry: false }) === undefined)
    return { waiting, place: NO_PLACE, bytes: 0, isDamaged: false };
  let content: Buffer;
  try {
    content = readBounded(file, { bytesMax: FILE_BYTES_MAX });
  } catch (error) {
    const aside = `${file}.unreadable`;
    renameSync(file, aside);
    const message = 'events of an earlier run cannot be read; the file is put aside';
    observer.log('warn', 'NOTIFY_OUTBOX_UNREADABLE', message, { file: aside, reason: messageOf(error) });
    return { waiting, place: NO_PLACE, bytes: 0, isDamaged: false };
  }
  let place = NO_PLACE;
  const lines = content.toString('utf8').split('\n');
  // If the last line is incomplete, a kill or a disk error interrupted its write, and the line is ignored. An event in
  // this line is lost unless the notifier finds the same event a second time. The notifier can find missed slots a
  // second time, but no events of other kinds.
  const rest = lines.pop() ?? '';
  let damaged = 0;
  for (const line of lines) {
    const { event, delivered, place: newer } = (contentOf(line) ?? {}) as Readonly<Record<string, unknown>>;
    if (isEvent(event)) waiting.set(event.id, event);
    else if (typeof delivered === 'string') waiting.delete(delivered);
    else {
      const read = placeOf(newer);
      if (read === undefined) damaged += 1;
      else place = read;
    }
  }
  if (damaged > 0) {
    const message = 'lines of events of an earlier run are damaged and were skipped';
    observer.log('warn', 'NOTIFY_OUTBOX_DAMAGED', message, { file, lines: damaged });
  }
  return { waiting, place, bytes: content.length, isDamaged: damaged > 0 || rest !== '' };
}

function isEvent(value: unknown): value is OutboxEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { id, time, code, message, fields } = value as Readonly<Record<string, unknown>>;
  return [id, time, code, message].every((each) => typeof each === 'string') && typeof fields === 'object';
}

function placeOf(value: unknown): OutboxPlace | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  // Earlier versions of the node wrote the member `reportedSlots` with the name `toldSlots`.
  const { height, toldSlots, reportedSlots = toldSlots } = value as Readonly<Record<string, unknown>>;
  if (typeof height !== 'number' || !Number.isSafeInteger(height)) return undefined;
  if (typeof reportedSlots !== 'object' || reportedSlots === null) return undefined;
  if (!Object.values(reportedSlots).every((slot) => Number.isSafeInteger(slot))) return undefined;
  return { height, reportedSlots: reportedSlots as OutboxPlace['reportedSlots'] };
}

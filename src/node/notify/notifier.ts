/**
 * Sends events to the receivers (a webhook, a command) that the operator has configured. There are three kinds of
 * events: a diagnostic of the node (`Diagnostic`, for example about a refused block), a slot event (`OwnSlotsEvent`),
 * and the start of the node. A slot event reports that a delegate of this node missed slots, or that the node reverted
 * blocks of the delegate. The notifier selects events by their codes (`notify.events`), and keeps the selected events
 * on the disk until they are delivered. Each receiver gets its events one after another, the oldest event first. The
 * notifier repeats a failed delivery until the receiver accepts the event. If more than `EVENTS_MAX` events wait for
 * one receiver, the notifier drops the oldest of these events.
 */

import { SLOT_CODES, type OwnSlotsEvent } from '../../engine/forge/own-slot-outcomes.ts';
import type { Clock, Random, Timer } from '../../ports/clock.ts';
import type { Diagnostic } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import { messageOf } from '../../primitives/errors.ts';
import type { Channel } from './channels.ts';
import type { Outbox, OutboxEvent } from './outbox.ts';

export interface NotifierOptions {
  /** Each channel has its own outbox, so that an unreachable receiver does not delay other receivers. */
  readonly channels: readonly { readonly channel: Channel; readonly outbox: Outbox }[];
  /** Codes of the events to send; `all` for every event. */
  readonly codes: ReadonlySet<string> | 'all';
  /**
   * Name of the node from the option `notify.name`. If this option is empty, the name is the host name of the machine.
   */
  readonly nodeName: string;
  readonly networkName: string;
  readonly version: string;
  /** Random text of this run of the node, for the ids of all events except slot events (`SLOT_CODES`). */
  readonly nonce: string;
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
  readonly observer: Observer;
}

const BACKOFF_MS_MIN = 1000;
const BACKOFF_MS_MAX = 300_000;
/**
 * Number of failed deliveries in a row after which the delay between attempts begins to double. Up to this number of
 * failures, the delay is about one second. If a receiver restarts within 30 s, it therefore gets a waiting event about
 * one second after its restart.
 */
const BACKOFF_CONSTANT_FAILURES = 30;
const HEIGHTS_UNSAVED_MAX = 100;
/** Minimum time in milliseconds between two warnings while all deliveries to a receiver fail. */
const FAILURE_LOG_MS = 3_600_000;

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #deliveries: readonly Delivery[];
  #count = 0;

  constructor(options: NotifierOptions) {
    this.#options = options;
    this.#deliveries = options.channels.map((parts) => new Delivery({ ...options, ...parts }));
  }

  /**
   * Height up to which the notifier has looked for missed slots, for every receiver. Undefined if at least one receiver
   * is new, because the notifier has never looked for missed slots for a new receiver.
   */
  get examinedHeight(): number | undefined {
    const heights = this.#deliveries.map(({ outbox }) => outbox.place.height);
    return heights.includes(0) ? undefined : Math.min(...heights);
  }

  start(): void {
    for (const delivery of this.#deliveries) delivery.wake();
  }

  take({ code, timeMs, message, fields }: Pick<Diagnostic, 'code' | 'timeMs' | 'message' | 'fields'>): void {
    // This method ignores slot events. `takeSlots` sends the slot events, without the slots that an earlier run of the
    // node has already reported.
    if (!this.#isSubscribed(code) || Object.values(SLOT_CODES).some((each) => each === code)) return;
    this.#count += 1;
    const id = `${code}-${this.#options.nonce}-${this.#count}`;
    for (const delivery of this.#deliveries)
      delivery.add({ id, code, time: new Date(timeMs).toISOString(), message, fields });
  }

  /** Sends a slot event, without the slots that this run or an earlier run of the node has already reported. */
  takeSlots({ kind, delegate, slots, height }: OwnSlotsEvent, name: string): void {
    const code = SLOT_CODES[kind];
    if (!this.#isSubscribed(code)) return;
    const timeMs = this.#options.clock.nowMs();
    for (const delivery of this.#deliveries) {
      const { reportedSlots } = delivery.outbox.place;
      const key = `${kind} ${delegate}`;
      const fresh = slots.filter((slot) => slot > (reportedSlots[key] ?? -1));
      const last = fresh.at(-1);
      if (last === undefined) continue;
      const count = fresh.length;
      const message =
        kind === 'missed'
          ? `${name} missed ${count === 1 ? `slot ${last}` : `${count} slots up to ${last}`}`
          : `reverted for another branch: ${count === 1 ? 'a block' : `${count} blocks`} of ${name}`;
      delivery.outbox.moveTo({ ...delivery.outbox.place, reportedSlots: { ...reportedSlots, [key]: last } });
      const fields = { delegate, username: name, count, firstSlot: fresh[0] ?? last, lastSlot: last, height };
      delivery.add({ id: `${code}-${delegate}-${last}`, code, time: new Date(timeMs).toISOString(), message, fields });
    }
  }

  /** Records that the notifier has examined all blocks up to this height. */
  recordExamined(height: number): void {
    for (const { outbox } of this.#deliveries) {
      const before = outbox.place.height;
      outbox.moveTo({ ...outbox.place, height });
      // The height is saved when the next event is saved, or after at most `HEIGHTS_UNSAVED_MAX` blocks. After a kill
      // of the node, the notifier can therefore examine some blocks a second time.
      const isDue =
        before === 0 || Math.floor(before / HEIGHTS_UNSAVED_MAX) !== Math.floor(height / HEIGHTS_UNSAVED_MAX);
      if (isDue) outbox.flush().catch(() => undefined);
    }
  }

  /**
   * Ends the deliveries, and saves the waiting events. If `close` interrupts a delivery, the next run of the node
   * delivers the event again.
   */
  async close(): Promise<void> {
    await Promise.all(this.#deliveries.map((delivery) => delivery.close()));
  }

  #isSubscribed(code: string): boolean {
    return this.#options.codes === 'all' || this.#options.codes.has(code);
  }
}

interface DeliveryOptions extends Omit<NotifierOptions, 'channels' | 'codes' | 'nonce'> {
  readonly channel: Channel;
  readonly outbox: Outbox;
}

/** Delivers events to one receiver. */
class Delivery {
  readonly #options: DeliveryOptions;
  readonly #ending = new AbortController();
  #failures = 0;
  /**
   * Unix time in milliseconds of the first failure after the last successful delivery. `#loggedMs` (the last report of
   * a failure) and `#deliveredMs` (the last delivery) are also Unix times in milliseconds.
   */
  #failingSinceMs = 0;
  #loggedMs = 0;
  #deliveredMs: number | undefined;
  /** True if `#run` could not save the waiting events on the disk before it last delivered events. */
  #isUnkept = false;
  #timer: Timer | undefined;
  #work: Promise<void> | undefined;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  get outbox(): Outbox {
    return this.#options.outbox;
  }

  add(event: OutboxEvent): void {
    this.outbox.add(event);
    this.wake();
  }

  wake(): void {
    // No second run begins while a run is in progress, or while the delivery waits for the timer that it started after
    // a failure.
    if (this.#work !== undefined || this.#timer !== undefined || this.#ending.signal.aborted) return;
    this.#work = this.#run().finally(() => {
      this.#work = undefined;
      // An event can be added after `#run` got the list of waiting events. For such an event, a new run begins here.
      if (this.#timer === undefined && this.outbox.waiting().length > 0) this.wake();
    });
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#ending.abort();
    await this.#work;
    await this.outbox.close();
  }

  async #run(): Promise<void> {
    const { channel, observer, nodeName, networkName, version } = this.#options;
    try {
      await this.outbox.flush();
      this.#isUnkept = false;
    } catch (error) {
      // The events are sent even when they cannot be saved, because the operator must learn of a full disk.
      if (!this.#isUnkept)
        observer.log('warn', 'NOTIFY_OUTBOX_FAILED', 'events cannot be kept on the disk', { reason: messageOf(error) });
      this.#isUnkept = true;
    }
    for (const event of this.outbox.waiting()) {
      if (this.#ending.signal.aborted) return;
      try {
        await channel.deliver({ ...event, node: nodeName, network: networkName, version }, this.#ending.signal);
      } catch (error) {
        if (this.#ending.signal.aborted) return;
        this.#failures += 1;
        observer.count('notify_failures_total', 1, { channel: channel.name });
        this.#logFailure(messageOf(error));
        this.#wait(this.#backoffMs());
        return;
      }
      this.outbox.delivered(event.id);
      this.#deliveredMs = this.#options.clock.nowMs();
      observer.count('notify_delivered_total', 1, { channel: channel.name });
      if (this.#failures > 0)
        observer.log('info', 'NOTIFY_RECOVERED', 'events are delivered again', { channel: channel.name });
      this.#failures = 0;
      await this.outbox.flush().catch(() => undefined);
    }
  }

  /**
   * Logs the first failed delivery of a series. Logs later failures of the same series at most once in
   * `FAILURE_LOG_MS`.
   */
  #logFailure(reason: string): void {
    const { channel, clock, observer } = this.#options;
    const nowMs = clock.nowMs();
    if (this.#failures === 1) this.#failingSinceMs = nowMs;
    // If the clock was set back, the time of the last log line can be in the future. In this case, the method logs the
    // failure, too.
    else if (nowMs >= this.#loggedMs && nowMs < this.#loggedMs + FAILURE_LOG_MS) return;
    this.#loggedMs = nowMs;
    observer.log('warn', 'NOTIFY_FAILED', 'an event could not be delivered; it is tried again', {
      ...{ channel: channel.name, waiting: this.outbox.waiting().length, reason },
      failingSince: new Date(this.#failingSinceMs).toISOString(),
      ...(this.#deliveredMs === undefined ? {} : { lastDelivered: new Date(this.#deliveredMs).toISOString() }),
    });
  }

  /**
   * Returns the delay before the next attempt. The delay doubles with each failure after the first
   * `BACKOFF_CONSTANT_FAILURES`, up to `BACKOFF_MS_MAX`. A random factor from 0.75 to 1.25 keeps nodes with the same
   * receiver from trying again at the same time.
   */
  #backoffMs(): number {
    const doublings = Math.min(Math.max(this.#failures - BACKOFF_CONSTANT_FAILURES, 0), 20);
    const doubledMs = BACKOFF_MS_MIN * 2 ** doublings;
    return Math.min(doubledMs, BACKOFF_MS_MAX) * (0.75 + 0.5 * this.#options.random.fraction());
  }

  #wait(delayMs: number): void {
    this.#timer = this.#options.clock.after(delayMs, () => {
      this.#timer = undefined;
      this.wake();
    });
  }
}

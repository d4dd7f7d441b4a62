/** Subscribers of the event stream that rebuild the chain from the events. */

import { request, type ClientRequest } from 'node:http';

export interface ReceivedEvent {
  readonly id: string | undefined;
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Splits a stream into events. Comments are skipped. */
export class EventParser {
  #rest = '';

  read(chunk: string): readonly ReceivedEvent[] {
    const parts = (this.#rest + chunk).split('\n\n');
    this.#rest = parts.pop() ?? '';
    return parts.flatMap((part) => {
      const fields = new Map(
        part.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      const name = fields.get('event');
      if (name === undefined) return [];
      return [{ id: fields.get('id'), name, data: JSON.parse(fields.get('data') ?? '{}') as ReceivedEvent['data'] }];
    });
  }
}

/**
 * A subscriber reads events until its connection ends. A new connection of the subscriber continues after the last
 * event.
 */
export class EventSubscriber {
  readonly events: ReceivedEvent[] = [];
  readonly complaints: string[] = [];
  /** Block ids by height. */
  readonly blocks = new Map<number, string>();
  /** Transaction ids. */
  readonly transactions = new Set<string>();
  #last: { readonly sequence: number; readonly index: number } | undefined;
  #lastId: string | undefined;
  #request: ClientRequest | undefined;
  readonly #query: string;

  /** @param query query without the question mark; the subscriber checks for gaps only if the query is empty */
  constructor(query = '') {
    this.#query = query;
  }

  get isConnected(): boolean {
    return this.#request !== undefined;
  }

  /** Resolves when the stream is open. */
  connect(origin: string, lastEventId = this.lastEventId): Promise<void> {
    return new Promise((resolve, reject) => {
      const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
      const sent = request(`${origin}/api/events?${this.#query}`, { headers }, (response) => {
        if (response.statusCode !== 200) return reject(new Error(`status ${response.statusCode}`));
        const parser = new EventParser();
        response.setEncoding('utf8');
        // Ignore events that arrive after the disconnect.
        response.on('data', (chunk: string) => {
          if (this.#request === sent) for (const event of parser.read(chunk)) this.#take(event);
        });
        response.on('error', () => undefined);
        response.on('close', () => {
          if (this.#request === sent) this.#request = undefined;
        });
        resolve();
      });
      sent.on('error', (error) => {
        if (this.#request === sent) this.#request = undefined;
        reject(error);
      });
      this.#request = sent;
      sent.end();
    });
  }

  disconnect(): void {
    const sent = this.#request;
    this.#request = undefined;
    sent?.destroy();
  }

  get lastEventId(): string | undefined {
    return this.#lastId;
  }

  #take(event: ReceivedEvent): void {
    this.events.push(event);
    if (event.id === undefined) return;
    this.#lastId = event.id;
    // An event with `:` in its id comes from the chain instead of the log. Such events all have the same record number,
    // so the checks below do not apply to them.
    if (event.id.includes(':')) return this.#rebuild(event);
    const [record = 0, index = 0] = event.id.split('.').map(Number);
    // The last nine digits of `record` are the sequence number.
    const sequence = record % 1_000_000_000;
    const last = this.#last;
    this.#last = { sequence, index };
    if (last !== undefined) {
      const isLater = sequence > last.sequence || (sequence === last.sequence && index > last.index);
      if (!isLater) this.complaints.push(`${event.id} came after ${last.sequence}.${last.index}`);
      const isNext =
        sequence === last.sequence ? index === last.index + 1 : sequence === last.sequence + 1 && index === 0;
      if (this.#query === '' && !isNext)
        this.complaints.push(`${event.id} left a gap after ${last.sequence}.${last.index}`);
    }
    this.#rebuild(event);
  }

  #rebuild({ name, data }: ReceivedEvent): void {
    const id = String(data['id']);
    const height = Number(data['height']);
    if (name === 'blocks/new') {
      if (this.blocks.has(height)) this.complaints.push(`block ${height} came twice`);
      this.blocks.set(height, id);
    } else if (name === 'blocks/delete') {
      if (this.blocks.get(height) !== id) this.complaints.push(`block ${id} was deleted and never new`);
      this.blocks.delete(height);
    } else if (name === 'transactions/included') {
      if (this.transactions.has(id)) this.complaints.push(`transaction ${id} was included twice`);
      this.transactions.add(id);
    } else if (name === 'transactions/reverted') {
      if (!this.transactions.delete(id)) this.complaints.push(`transaction ${id} was reverted and never included`);
    }
  }
}

/** Waits until a condition holds. */
export async function until(holds: () => boolean, what: string, deadlineMs = 60_000): Promise<void> {
  const endMs = Date.now() + deadlineMs;
  while (!holds()) {
    if (Date.now() > endMs) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

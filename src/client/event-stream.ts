/** Reads a stream of server-sent events in the form that a node sends. */

export interface RawEvent {
  readonly type: string;
  readonly id: string | undefined;
  readonly data: string;
}

/**
 * Maximum length of an event, in characters. The largest events of a node contain a transaction or a block header, and
 * are far shorter.
 */
const EVENT_CHARACTERS_MAX = 16 * 1024 * 1024;

/** The error for an event that is longer than any event of a node. */
export class EventTooLong extends Error {}

/**
 * Yields the events of an HTTP response, and skips comments. The generator ends when the response ends. If the last
 * event is incomplete at this time, the generator drops this event.
 *
 * @throws EventTooLong for an event longer than `EVENT_CHARACTERS_MAX`
 * @throws Error for a broken connection
 */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<RawEvent, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      if (text.length > EVENT_CHARACTERS_MAX) throw new EventTooLong();
      const parts = text.split('\n\n');
      text = parts.pop() ?? '';
      for (const part of parts) {
        const event = eventOf(part);
        if (event !== undefined) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Parses the text of one event. The function returns undefined for a text without data, such as a comment. */
function eventOf(text: string): RawEvent | undefined {
  let [type, id]: [string, string | undefined] = ['message', undefined];
  const data: string[] = [];
  for (const line of text.split('\n')) {
    const [, field = '', value = ''] = /^([a-z]+): ?(.*)$/s.exec(line) ?? [];
    if (field === 'event') type = value;
    else if (field === 'id') id = value;
    else if (field === 'data') data.push(value);
  }
  return data.length === 0 ? undefined : { type, id, data: data.join('\n') };
}

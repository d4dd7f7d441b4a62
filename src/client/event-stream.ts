/** Reads a stream of server-sent events in the form that a node sends. */

export interface RawEvent {
  readonly type: string;
  readonly id: string | undefined;
  readonly data: string;
}

/** Limit for one event; far larger than the largest event of a node, a block with its transactions. */
const EVENT_CHARACTERS_MAX = 16 * 1024 * 1024;

/**
 * @throws Error for an event above the limit, which no node sends
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
      if (text.length > EVENT_CHARACTERS_MAX) throw new Error('an event of the node does not end');
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

/** Reads one event; returns undefined for a comment. */
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

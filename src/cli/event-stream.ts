/** Reads the server-sent events of a node. */

import { ProtocolError } from '../primitives/errors.ts';

export interface NodeEventJson {
  /** Absent for an event that the node does not store in its event log. */
  readonly id?: string;
  readonly event: string;
  readonly data: unknown;
}

/**
 * Maximum size of one event, in characters. Most events are much smaller. The largest events contain a transaction of
 * generation 2 with almost 3 MB of unknown members in its asset.
 */
const EVENT_CHARACTERS_MAX = 16 * 1024 * 1024;

/**
 * Reads the events of a server-sent event stream.
 *
 * @throws ProtocolError `NODE_ANSWER_MALFORMED` for a malformed or too long event; any error of reading `body`
 */
export async function* eventsIn(body: AsyncIterable<Uint8Array>): AsyncIterable<NodeEventJson> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true });
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    if (text.length > EVENT_CHARACTERS_MAX)
      throw malformed(`an event has more than ${EVENT_CHARACTERS_MAX} characters`);
    for (const part of parts) {
      const event = eventOf(part);
      if (event !== undefined) yield event;
    }
  }
}

/** Reads one event. Returns undefined for a text that lacks `event` or `data`, such as a comment. */
function eventOf(text: string): NodeEventJson | undefined {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, name, value] = /^([a-z]+): ?(.*)$/s.exec(line) ?? [];
    if (name !== undefined && value !== undefined) fields.set(name, value);
  }
  const [id, event, data] = [fields.get('id'), fields.get('event'), fields.get('data')];
  if (event === undefined || data === undefined) return undefined;
  if (id !== undefined && !/^[0-9]{1,15}(?::[0-9]{1,15})?\.[0-9]{1,9}$/.test(id))
    throw malformed(`\`${id.slice(0, 40)}\` is not the id of an event`);
  try {
    return { ...(id === undefined ? {} : { id }), event, data: JSON.parse(data) as unknown };
  } catch {
    throw malformed('an event carries no JSON');
  }
}

function malformed(what: string): ProtocolError {
  const message = `the answer is not an event stream of a node: ${what}; name the address of a node with --node`;
  return new ProtocolError('NODE_ANSWER_MALFORMED', {}, message);
}

/** Turns whatever a room hands to the log into small plain values: no secrets, no cycles, no end of text. */

/** Deep enough for an error with its cause and data; a log line is no dump. */
const DEPTH_MAX = 5;
const ITEMS_MAX = 50;
const TEXT_CHARS_MAX = 2_000;
const BYTES_SHOWN_MAX = 128;

const SECRET_NAME = /pass_?phrase|password|secret|private_?key|mnemonic/i;
const HIDDEN = '[hidden]';

export type Printable = null | boolean | number | string | readonly Printable[] | { readonly [key: string]: Printable };

/**
 * Fields of a log line as plain values. Members whose name speaks of a secret show `[hidden]`, at any depth; bigints are
 * decimal text, bytes hexadecimal, errors their name, code, message and cause. Never throws.
 */
export function printableFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, Printable>> {
  return membersOf(fields, DEPTH_MAX);
}

function printable(value: unknown, depth: number): Printable {
  switch (typeof value) {
    case 'string':
      return value.length > TEXT_CHARS_MAX ? `${value.slice(0, TEXT_CHARS_MAX)}…` : value;
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'boolean':
      return value;
    case 'object':
      return value === null ? null : printableObject(value, depth);
    case 'undefined':
      return null;
    default:
      return typeof value === 'bigint' ? value.toString() : `[${typeof value}]`;
  }
}

function printableObject(value: object, depth: number): Printable {
  if (value instanceof Uint8Array) {
    const shown = Buffer.from(value.buffer, value.byteOffset, Math.min(value.length, BYTES_SHOWN_MAX)).toString('hex');
    return value.length > BYTES_SHOWN_MAX ? `${shown}… (${value.length} bytes)` : shown;
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString();
  if (depth === 0) return Array.isArray(value) ? '[list]' : '[object]';
  if (value instanceof Error) return errorOf(value, depth);
  if (Array.isArray(value) || value instanceof Set) return listOf([...value], depth);
  if (value instanceof Map) return listOf([...value], depth);
  return membersOf(value, depth);
}

function errorOf(error: Error, depth: number): Printable {
  const { code, data } = error as { code?: unknown; data?: unknown };
  return membersOf(
    {
      name: error.name,
      ...(code === undefined ? {} : { code }),
      message: error.message,
      ...(data === undefined ? {} : { data }),
      ...(error.cause === undefined ? {} : { cause: error.cause }),
      stack: error.stack,
    },
    depth,
  );
}

function listOf(items: readonly unknown[], depth: number): Printable {
  const shown = items.slice(0, ITEMS_MAX).map((item) => printable(item, depth - 1));
  return items.length > ITEMS_MAX ? [...shown, `… (${items.length} items)`] : shown;
}

function membersOf(value: object, depth: number): Readonly<Record<string, Printable>> {
  const shown: Record<string, Printable> = {};
  for (const key of Object.keys(value).slice(0, ITEMS_MAX)) {
    if (key === '__proto__') continue;
    try {
      const member: unknown = (value as Record<string, unknown>)[key];
      if (member !== undefined) shown[key] = SECRET_NAME.test(key) ? HIDDEN : printable(member, depth - 1);
    } catch {
      // A getter that throws says nothing worth a lost log line.
      shown[key] = '[unreadable]';
    }
  }
  return shown;
}

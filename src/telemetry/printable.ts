/** Turns the fields of a log line into JSON values of limited size, without secrets and without cycles. */

/**
 * Maximum number of nested levels that a log line shows. Five levels are enough for an error with its cause and data.
 */
const DEPTH_MAX = 5;
const ITEMS_MAX = 50;
const TEXT_CHARS_MAX = 2_000;
const BYTES_SHOWN_MAX = 128;
/**
 * A secret can be an object that contains further objects. `learn` reads at most this number of objects to find the
 * texts in one secret.
 */
const LEARNED_MAX = 200;

const SECRET_NAME = /pass_?phrase|password|secret|private_?key|mnemonic/i;
const HIDDEN = '[hidden]';
/**
 * Minimum length of a secret that `finished` replaces in texts. A shorter secret could be part of many ordinary words.
 */
const SECRET_CHARS_MIN = 4;

export type Printable = null | boolean | number | string | readonly Printable[] | { readonly [key: string]: Printable };

/**
 * Converts the fields of a log line to JSON values. The value of a member is a secret if the name of the member matches
 * `SECRET_NAME`. The result shows `[hidden]` instead of a secret. If the same secret is part of another text of the
 * fields, `[hidden]` also replaces the secret in that text, because an error message can quote a secret. A secret
 * shorter than `SECRET_CHARS_MIN` is not replaced in other texts. The function does not search for secrets in members
 * that the result omits because of `DEPTH_MAX` or `ITEMS_MAX`. If another text quotes such a secret, the text still
 * shows the secret. Bigints become decimal text, and bytes become hexadecimal text. The function shortens texts, byte
 * arrays and lists that are too long. The result has only the first `ITEMS_MAX` members of an object. An error becomes
 * an object with the members `name`, `message` and `stack`, and with `code`, `data` and `cause` if the error has these
 * members. The function never throws.
 */
export function printableFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, Printable>> {
  const secrets = new Set<string>();
  const shown = membersOf(fields, DEPTH_MAX, secrets);
  // Longer secrets are replaced first, because a shorter secret can be part of a longer secret.
  const sought = [...secrets].sort((a, b) => b.length - a.length);
  return finished(shown, sought) as Readonly<Record<string, Printable>>;
}

function printable(value: unknown, depth: number, secrets: Set<string>): Printable {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'boolean':
      return value;
    case 'object':
      return value === null ? null : printableObject(value, depth, secrets);
    case 'undefined':
      return null;
    default:
      return typeof value === 'bigint' ? value.toString() : `[${typeof value}]`;
  }
}

function printableObject(value: object, depth: number, secrets: Set<string>): Printable {
  if (value instanceof Uint8Array) {
    const shown = Buffer.from(value.buffer, value.byteOffset, Math.min(value.length, BYTES_SHOWN_MAX)).toString('hex');
    return value.length > BYTES_SHOWN_MAX ? `${shown}… (${value.length} bytes)` : shown;
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString();
  if (depth === 0) return Array.isArray(value) ? '[list]' : '[object]';
  if (value instanceof Error) return errorOf(value, depth, secrets);
  if (Array.isArray(value) || value instanceof Set) return listOf([...value], depth, secrets);
  if (value instanceof Map)
    return listOf(
      [...value].map((pair) => shownPair(pair, secrets)),
      depth,
      secrets,
    );
  return membersOf(value, depth, secrets);
}

function errorOf(error: Error, depth: number, secrets: Set<string>): Printable {
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
    secrets,
  );
}

function listOf(items: readonly unknown[], depth: number, secrets: Set<string>): Printable {
  const shown = items.slice(0, ITEMS_MAX).map((item) => printable(item, depth - 1, secrets));
  return items.length > ITEMS_MAX ? [...shown, `… (${items.length} items)`] : shown;
}

function membersOf(value: object, depth: number, secrets: Set<string>): Readonly<Record<string, Printable>> {
  const shown: Record<string, Printable> = {};
  for (const key of Object.keys(value).slice(0, ITEMS_MAX)) {
    if (key === '__proto__') continue;
    try {
      const member: unknown = (value as Record<string, unknown>)[key];
      if (member === undefined) continue;
      const secret = SECRET_NAME.test(key);
      if (secret) learn(member, secrets);
      shown[key] = secret ? HIDDEN : printable(member, depth - 1, secrets);
    } catch {
      // The node must write the log line even if a getter throws.
      shown[key] = '[unreadable]';
    }
  }
  return shown;
}

/** Returns a key and value of a map, with `[hidden]` instead of the value if the key matches `SECRET_NAME`. */
function shownPair([key, value]: readonly [unknown, unknown], secrets: Set<string>): readonly unknown[] {
  if (typeof key !== 'string' || !SECRET_NAME.test(key)) return [key, value];
  learn(value, secrets);
  return [key, HIDDEN];
}

/**
 * Adds the texts in a secret to `secrets`. If the secret is an object that contains objects, the function reads at most
 * `LEARNED_MAX` of these objects, and reads each object once.
 */
function learn(secret: unknown, secrets: Set<string>, seen = new Set<object>()): void {
  if (secret instanceof Uint8Array) return learn(Buffer.from(secret).toString('hex'), secrets);
  if (typeof secret === 'string' && secret.length >= SECRET_CHARS_MIN) secrets.add(secret);
  if (typeof secret !== 'object' || secret === null || seen.has(secret) || seen.size >= LEARNED_MAX) return;
  seen.add(secret);
  if (secret instanceof Error) learn(secret.message, secrets);
  if (secret instanceof Map) learn([...secret].flat(), secrets, seen);
  const items: object = secret instanceof Set ? [...(secret as Set<unknown>)] : secret;
  for (const key of Object.keys(items).slice(0, ITEMS_MAX)) {
    try {
      learn((items as Record<string, unknown>)[key], secrets, seen);
    } catch {
      // If a getter throws, the getter returns no text, so there is nothing to add to `secrets`.
    }
  }
}

/**
 * Replaces secrets in texts, and then shortens long texts. If the function shortened a text first, the cut could split
 * a secret, and the first part of the secret would stay visible.
 */
function finished(value: Printable, secrets: readonly string[]): Printable {
  if (typeof value === 'string') return shortened(secrets.reduce((text, one) => text.replaceAll(one, HIDDEN), value));
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Printable) => finished(item, secrets));
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, finished(member, secrets)]));
}

function shortened(text: string): string {
  return text.length > TEXT_CHARS_MAX ? `${text.slice(0, TEXT_CHARS_MAX)}…` : text;
}

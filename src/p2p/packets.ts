/**
 * What may come in from a stranger: sizes, nesting, shapes. Everything here is total: foreign data leads to a value or to
 * `undefined`, never to a throw. Only own members are read, so that no name of a prototype can be reached from outside.
 */

import { isIpv4 } from '../primitives/ip.ts';

/**
 * Arrays and objects in a frame that cost its reader nothing: the longest answers of real nodes, 34 full blocks or their rows,
 * have about 20,000. More are read, as assets of generation 3 may hold any number, but each counts like so many bytes.
 */
const CONTAINERS_FREE = 50_000;
const CONTAINER_BYTES = 8;

/** Largest WebSocket message in both directions, in bytes: the limit of the reference nodes. */
export const FRAME_BYTES_MAX = 3_048_576;
/**
 * Frames of the WebSocket that one message may come in. Nodes send each in one; a middleman may cut the largest into fragments of
 * 48 kilobytes. Pieces may be empty and are counted by nobody before the message ends, so that a hundred messages in a second,
 * which are free, could be a million units of work.
 */
export const MESSAGE_FRAGMENTS_MAX = 64;
/** Largest node info, as JSON bytes. */
export const INFO_BYTES_MAX = 20_480;
/** Entries of a peer list. */
export const PEER_LIST_MAX = 1_000;
/** Frames in one batch (a JSON array of frames). */
export const BATCH_FRAMES_MAX = 100;
/**
 * Levels of arrays and objects in a frame. Real frames need 10. Assets of generation 3 may hold anything: real nodes store some
 * 3,100 levels at most (`protocol/tx/written.ts`); code that follows them by recursion has stack for 4,000.
 */
const NESTING_MAX = 3_420;
/** Longest text member of a node info that is kept, in characters. */
const INFO_TEXT_MAX = 128;
const ERROR_TEXT_MAX = 300;
const PLAIN_NUMBER = /^(?:0|[1-9][0-9]{0,15})$/;

export type Fields = Readonly<Record<string, unknown>>;

/** A frame that the message layer may see. */
export type Frame =
  | { readonly event: string; readonly data: unknown; readonly cid?: number }
  | {
      readonly rid: number;
      readonly data?: unknown;
      readonly error?: { readonly message: string; readonly name: string };
    };

/**
 * The JSON value of a text frame; undefined when it is no JSON or nests too deep. Members named `__proto__` are removed: no
 * rule knows them, and as members of a transaction they must not make a whole block unreadable.
 */
export function parseJson(text: string): unknown {
  if (!isModest(text)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  // Going through a million lists takes as long as making them, and nearly no frame can hold the name.
  return !MAY_NAME_PROTO.test(text) || tame(value) ? value : undefined;
}

/**
 * A frame with nothing but the members of the message layer; undefined for anything else.
 *
 * @param events names that are listened to: the library beneath treats some other names as commands
 */
export function frameOf(value: unknown, events: ReadonlySet<string>): Frame | undefined {
  if (!isRecord(value)) return undefined;
  const event = own(value, 'event');
  if (typeof event === 'string') {
    if (!events.has(event)) return undefined;
    const cid = own(value, 'cid');
    const data = own(value, 'data');
    if (cid === undefined || cid === null) return { event, data };
    return isCallId(cid) ? { event, data, cid } : undefined;
  }
  const rid = own(value, 'rid');
  if (!isCallId(rid)) return undefined;
  const error = own(value, 'error');
  if (error === undefined || error === null) return { rid, data: own(value, 'data') };
  return { rid, error: errorOf(error) };
}

/** How an answer begins: each release of the family writes the number of the question first. */
export const ANSWER_HEAD = '{"rid":';

/** Whether a frame may be an answer, by its head alone. */
export function seemsAnswer(head: string): boolean {
  return head.startsWith(ANSWER_HEAD);
}

/** Bytes that a frame counts for beside its own: its arrays and objects take ten times as long to make as what is in texts. */
export function containerBytes(text: string): number {
  if (text.length < 2 * CONTAINERS_FREE) return 0;
  let containers = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BRACKET || code === BRACE) containers += 1;
  }
  return Math.max(0, containers - CONTAINERS_FREE) * CONTAINER_BYTES;
}

/** True for a JSON object (no array, not null). */
export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own member, undefined where the object has none of that name. */
export function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** A text of a node info, undefined when it is none or too long to keep. */
export function infoText(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= INFO_TEXT_MAX ? value : undefined;
}

/** A count (0 or more) given as a number or, in a query, as decimal text. */
export function infoCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && PLAIN_NUMBER.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

/** A port that can be dialled, 1 to 65535. */
export function portOf(value: unknown): number | undefined {
  const port = infoCount(value);
  return port !== undefined && port >= 1 && port <= 65_535 ? port : undefined;
}

/** Dotted IPv4 of a socket's remote address, also where the system maps it into IPv6; undefined for real IPv6. */
export function ipv4Of(remoteAddress: string | undefined): string | undefined {
  const ip = remoteAddress?.replace(/^::ffff:/i, '');
  return isIpv4(ip) ? ip : undefined;
}

/** UTF-8 bytes of a value as JSON. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

/** Distinct texts that all satisfy `valid`, from `min` to `max` of them; undefined otherwise. */
export function distinctTexts(
  value: unknown,
  min: number,
  max: number,
  valid: (text: string) => boolean,
): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length < min || value.length > max) return undefined;
  const texts: string[] = [];
  for (const item of value as readonly unknown[]) {
    if (typeof item !== 'string' || !valid(item)) return undefined;
    texts.push(item);
  }
  return new Set(texts).size === texts.length ? texts : undefined;
}

/** True for a list of JSON objects with no more than `max` of them. */
export function isListOfRecords(value: unknown, max: number): value is readonly Fields[] {
  return Array.isArray(value) && value.length <= max && value.every(isRecord);
}

/** True for 64 bytes in hexadecimal of either letter case. */
export function isSignatureText(text: string): boolean {
  return /^[0-9a-fA-F]{128}$/.test(text);
}

function isCallId(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

function errorOf(error: unknown): { message: string; name: string } {
  const message = isRecord(error) ? own(error, 'message') : error;
  const name = isRecord(error) ? own(error, 'name') : undefined;
  return {
    message: typeof message === 'string' ? message.slice(0, ERROR_TEXT_MAX) : 'Unnamed error',
    name: typeof name === 'string' ? name.slice(0, INFO_TEXT_MAX) : 'Error',
  };
}

/**
 * Looks at the depth of a text before it is made. What is no JSON may count as anything. The number of values has no bound but
 * that of the frame: an asset may be nothing but empty lists, and the block that holds it is a block. A million of them take 45 MB
 * and 0.3 s, once.
 */
function isModest(text: string): boolean {
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isInText) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) isInText = false;
    } else if (code === QUOTE) isInText = true;
    else if (code === BRACKET || code === BRACE) {
      depth += 1;
      if (depth > NESTING_MAX + 1) return false;
    } else if (code === BRACKET + 2 || code === BRACE + 2) depth -= 1;
  }
  return true;
}

const QUOTE = 34;
const BRACKET = 91;
const BACKSLASH = 92;
const BRACE = 123;

/** The name of the prototype, or an escape that could stand for a part of it. */
const MAY_NAME_PROTO = /__proto__|\\u00[567]/i;

/** Walks without recursion: what it guards against is exactly a depth that recursion cannot bear. */
function tame(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > NESTING_MAX) return false;
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== 'object' || item === null) continue;
      if (!Array.isArray(item)) Reflect.deleteProperty(item, '__proto__');
      for (const member of Object.values(item) as unknown[]) {
        if (typeof member === 'object' && member !== null) next.push(member);
      }
    }
    level = next;
  }
  return true;
}

/**
 * Checks the size, nesting and shape of data from peers. No function of this file throws because of invalid data. The
 * functions read only the members of an object itself. A member of the object's prototype never counts as data from the
 * peer.
 */

import { isIpv4 } from '../primitives/ip.ts';

/**
 * Weight, in bytes, that each array or object and each member of an object adds to the size of a frame (see the head of
 * `unsolicited-bytes.ts`). For `JSON.parse`, the most expensive parts of a frame are names of members that occur only
 * once in the frame.
 */
const CONTAINER_BYTES = 8;
const MEMBER_BYTES = 32;
/**
 * Maximum weight that arrays, objects and members add to the size of a frame, as a multiple of this size. In the frames
 * that are most expensive to parse, this added weight is a lower multiple. `structureBytes` counts each colon as a
 * member, even inside texts. Without the maximum, a peer could send short frames with texts that consist of colons.
 * Such frames cost the peer little, but they would use up the budgets that the peer shares with all other peers.
 */
const STRUCTURE_PER_BYTE_MAX = 4;

/**
 * Maximum number of bytes in a WebSocket message that this node receives, on inbound and outbound connections. Nodes of
 * lisk-sdk have the same limit.
 */
export const FRAME_BYTES_MAX = 3_048_576;
/**
 * Maximum number of WebSocket frames (fragments) in one message. Nodes send each message in one WebSocket frame. The
 * maximum allows a proxy to split the largest message into fragments of 48 kilobytes. All other limits count only
 * complete messages or bytes, and a fragment can be empty. Without this maximum, a peer could make the node handle a
 * million fragments in a second.
 */
export const MESSAGE_FRAGMENTS_MAX = 64;
/** Maximum number of bytes, as JSON, of the information that a node sends about itself (node info). */
export const INFO_BYTES_MAX = 20_480;
/** Maximum number of entries in a peer list. */
export const PEER_LIST_MAX = 1_000;
/** Maximum number of frames in one batch (a JSON array of frames). */
export const BATCH_FRAMES_MAX = 100;
/**
 * Maximum depth of nested arrays and objects in a frame. Usual frames need 10 levels. But assets of generation 3 can
 * contain any JSON, and nodes of lisk-sdk store up to about 3,100 levels (`protocol/tx/unsigned-json.ts`). The stack of
 * this node suffices for 4,000 levels of recursion.
 */
const NESTING_MAX = 3_420;
/**
 * If a frame has more than this number of levels, the node checks whether `JSON.stringify` can write the value of the
 * frame. On each level, `JSON.stringify` needs twice as much stack for an object with a member whose name is an
 * integer, such as `{"0":[]}`: Node.js 20 writes 2,200 levels of such objects, and 4,100 levels of other objects. The
 * nodes of lisk-sdk 3.0.2, with Node.js 12, write 1,847 levels of such objects.
 */
const SURELY_WRITABLE_LEVELS = 1_500;
/**
 * To check whether `JSON.stringify` can write a received value, `isWritable` puts the value inside this number of
 * further levels of nested objects. The further levels are a reserve: a later call of `JSON.stringify` for a part of
 * the frame can have less stack, because more functions have called each other at that moment.
 */
const SPARE_LEVELS = 100;
/**
 * Maximum number of characters for three kinds of texts: a text in a node info, a close reason, and the name of an
 * error. The node truncates a longer name of an error, and leaves out a longer text of a node info or a longer close
 * reason.
 */
const INFO_TEXT_MAX = 128;
const ERROR_TEXT_MAX = 300;
const PLAIN_NUMBER = /^(?:0|[1-9][0-9]{0,15})$/;

export type Fields = Readonly<Record<string, unknown>>;

/** A frame in the form that the SocketCluster library gets. */
export type Frame =
  | { readonly event: string; readonly data: unknown; readonly cid?: number }
  | {
      readonly rid: number;
      readonly data?: unknown;
      readonly error?: { readonly message: string; readonly name: string };
    };

/**
 * Parses JSON from a peer; undefined if the text is not JSON, or is nested so deeply that the node could not write the
 * value as JSON again. Removes members with the name `__proto__`, because no rule of the protocol uses such members.
 * The function does not refuse a text with such a member, because the node must be able to read a block even if one of
 * its transactions contains the member.
 */
export function parseJson(text: string): unknown {
  const levels = levelsOf(text);
  if (levels > NESTING_MAX + 1) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  // For a value with a million lists, a search for `__proto__` takes as long as parsing. The code therefore calls
  // `withoutProto`, which searches the value, only if `MAY_NAME_PROTO` matches the text. A match is rare.
  if (MAY_NAME_PROTO.test(text)) value = withoutProto(value);
  return levels <= SURELY_WRITABLE_LEVELS || isWritable(value) ? value : undefined;
}

/**
 * Reduces a value to a frame with only the members that the SocketCluster library uses; undefined if the value is not a
 * frame.
 *
 * @param events accepted event names. The function refuses all other names, because the library treats some of them as
 *   commands to itself
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

/**
 * Beginning of every answer. All lisk-sdk releases of both generations write the number of the request as the first
 * member.
 */
export const ANSWER_HEAD = '{"rid":';

/** True if a frame begins like an answer. The rest of the frame is not checked. */
export function seemsAnswer(head: string): boolean {
  return head.startsWith(ANSWER_HEAD);
}

/**
 * Weight, in bytes, that arrays, objects and the members of objects add to the size of a frame, because parsing them
 * takes longer than parsing texts of the same size. The function counts opening brackets and colons, including those
 * inside texts.
 */
export function structureBytes(text: string): number {
  let weight = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === COLON) weight += MEMBER_BYTES;
    else if (code === BRACKET || code === BRACE) weight += CONTAINER_BYTES;
  }
  return Math.min(weight, STRUCTURE_PER_BYTE_MAX * text.length);
}

/** True for a JSON object (no array, not null). */
export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns an object's own member with the given name; undefined if there is none. */
export function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** Reads a text of a node info, or a close reason; undefined if the value is not a text or is too long. */
export function infoText(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= INFO_TEXT_MAX ? value : undefined;
}

/**
 * Reads an integer of at least 0. The value must be a number, or a decimal text without leading zeros (as in the query
 * of a WebSocket URL). The result is undefined for any other value.
 */
export function infoCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && PLAIN_NUMBER.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

/**
 * Reads a port from 1 to 65535: a number, or a decimal text like in `infoCount`. The result is undefined for anything
 * else.
 */
export function portOf(value: unknown): number | undefined {
  const port = infoCount(value);
  return port !== undefined && port >= 1 && port <= 65_535 ? port : undefined;
}

/**
 * Returns the IPv4 address in the remote address of a socket. The remote address can also be an IPv4 address that is
 * mapped into IPv6. The result is undefined for any other address, or if the socket has no remote address.
 */
export function ipv4Of(remoteAddress: string | undefined): string | undefined {
  const ip = remoteAddress?.replace(/^::ffff:/i, '');
  return isIpv4(ip) ? ip : undefined;
}

/** Number of bytes of a value as JSON in UTF-8; infinity if the value is nested too deeply for `JSON.stringify`. */
export function jsonBytes(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value) ?? '');
  } catch (error) {
    if (error instanceof RangeError) return Infinity;
    throw error;
  }
}

/** Reads a list of `min` to `max` distinct valid texts; undefined for anything else. */
export function distinctTexts(
  value: unknown,
  min: number,
  max: number,
  valid: (text: string) => boolean,
): readonly string[] | undefined {
  const texts = validTexts(value, min, max, valid);
  return texts !== undefined && new Set(texts).size === texts.length ? texts : undefined;
}

/** Reads a list of `min` to `max` valid texts, and returns each text once; undefined for anything else. */
export function textsOnce(
  value: unknown,
  min: number,
  max: number,
  valid: (text: string) => boolean,
): readonly string[] | undefined {
  const texts = validTexts(value, min, max, valid);
  return texts === undefined ? undefined : [...new Set(texts)];
}

function validTexts(
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
  return texts;
}

/** True for a list of at most `max` JSON objects. */
export function isListOfRecords(value: unknown, max: number): value is readonly Fields[] {
  return Array.isArray(value) && value.length <= max && value.every(isRecord);
}

/** True for 64 bytes as hexadecimal text, in upper or lower case. */
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
 * Returns the depth of the nesting of arrays and objects in a JSON text. For example, the depth of `[{},[]]` is 2. If
 * the depth is greater than `NESTING_MAX + 1`, the result is `NESTING_MAX + 2`. For a text that is not JSON, the result
 * has no meaning. The function does not limit the number of values, because an asset in a valid block can contain a
 * million empty lists. Parsing a million empty lists takes 0.1 to 0.7 s, and 80 to 130 MB of memory.
 */
function levelsOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = closingQuote(text, at + 1);
    else if (code === BRACKET || code === BRACE) {
      depth += 1;
      if (depth > deepest) deepest = depth;
      if (depth > NESTING_MAX + 1) return deepest;
    } else if (code === BRACKET + 2 || code === BRACE + 2) depth -= 1;
  }
  return deepest;
}

/** Whether `JSON.stringify` can write the value inside `SPARE_LEVELS` further levels. */
function isWritable(value: unknown): boolean {
  let outer = value;
  for (let level = 0; level < SPARE_LEVELS; level += 1) outer = { 0: outer };
  return jsonBytes(outer) < Infinity;
}

/**
 * Position of the quote that ends a JSON string; the length of `text` if no quote ends it. The function uses `indexOf`,
 * because most of a frame is inside strings, and `indexOf` is several times as fast as a loop over the characters.
 *
 * @param from position after the opening quote
 */
function closingQuote(text: string, from: number): number {
  for (let quote = text.indexOf('"', from); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1;
    while (before >= from && text.charCodeAt(before) === BACKSLASH) before -= 1;
    const backslashes = quote - 1 - before;
    if (backslashes % 2 === 0) return quote;
  }
  return text.length;
}

const QUOTE = 34;
const COLON = 58;
const BRACKET = 91;
const BACKSLASH = 92;
const BRACE = 123;

const PROTO = '__proto__';
/** Matches `__proto__`, or an escape sequence that could be a part of `__proto__`. */
const MAY_NAME_PROTO = /__proto__|\\u00[567]/i;

/**
 * Returns the value without members named `__proto__`. Each object with such a member is replaced by a copy. If the
 * member were deleted instead, V8 would store the object in another way, and `JSON.stringify` would write only half as
 * many levels of such objects. The function is not recursive, because recursion into a deep value could overflow the
 * stack.
 */
function withoutProto(value: unknown): unknown {
  const root = [value];
  let level: object[] = [root];
  while (level.length > 0) {
    const next: object[] = [];
    for (const container of level) {
      // `Object.entries` would make an array for each member, which takes several times as long.
      if (Array.isArray(container)) for (let at = 0; at < container.length; at += 1) visit(container, at, next);
      else for (const name of Object.keys(container)) visit(container as Record<string, unknown>, name, next);
    }
    level = next;
  }
  return root[0];
}

/** Removes the member named `__proto__` from the value `container[name]`, and adds this value to `next`. */
function visit<K extends string | number>(container: Record<K, unknown>, name: K, next: object[]): void {
  const member = container[name];
  if (typeof member !== 'object' || member === null) return;
  const kept = Object.hasOwn(member, PROTO) ? copyWithoutProto(member) : member;
  if (kept !== member) container[name] = kept;
  next.push(kept);
}

function copyWithoutProto(member: object): object {
  return Object.fromEntries(Object.entries(member).filter(([name]) => name !== PROTO));
}

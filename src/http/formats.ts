/**
 * Defines the text formats of parameters and bodies. As on a lisk-sdk node, several formats also allow values that
 * cannot exist, for example an id beyond 64 bits.
 */

import { isU64Decimal } from '../primitives/bytes.ts';
import { cursorIn } from './cursor.ts';

export type Format =
  | 'address'
  | 'id'
  | 'publicKey'
  | 'signature'
  | 'hex'
  | 'username'
  | 'additionalData'
  | 'ip'
  | 'version'
  | 'protocolVersion'
  | 'int32'
  | 'cursor'
  | 'date-time';

/** Maximum length of the data of a transfer, in UTF-8 bytes. */
const DATA_BYTES_MAX = 64;

const CHECKS: Readonly<Record<Format, (text: string) => boolean>> = {
  address: (text) => text.endsWith('L') && isU64Decimal(text.slice(0, -1)),
  id: (text) => /^[0-9]+$/.test(text),
  publicKey: (text) => /^[0-9a-f]{64}$/i.test(text),
  signature: (text) => /^[0-9a-f]{128}$/i.test(text),
  hex: (text) => /^[0-9a-f]+$/i.test(text),
  username: (text) => /^[a-z0-9!@$&_.]+$/i.test(text),
  additionalData: (text) => Buffer.byteLength(text, 'utf8') <= DATA_BYTES_MAX,
  // Each of the four numbers can have up to three digits, so it can be, for example, 999. As on a lisk-sdk node, a
  // request can therefore contain an address that cannot exist. The answer to such a request contains no peers.
  ip: (text) => /^(?:[0-9]{1,3}\.){3}[0-9]{1,3}$/.test(text),
  version: (text) => /^[0-9]{1,3}(?:\.[0-9]{1,3}){2}(?:-(?:alpha|beta|rc)\.[0-9]{1,3}(?:\.[0-9]{1,3})?)?$/.test(text),
  protocolVersion: (text) => /^(?:0|[1-9][0-9]{0,2})\.(?:0|[1-9][0-9]{0,2})$/.test(text),
  // The format `int32` also allows integers beyond 32 bits. A height beyond 32 bits is valid, but no block has such a
  // height.
  int32: (text) => Number.isInteger(Number(text)),
  cursor: (text) => cursorIn(text) !== undefined,
  'date-time': (text) => !Number.isNaN(Date.parse(text)),
};

/**
 * True when a value has the format. An empty text has every format except `ip`. If a parameter must not be empty, the
 * minimum length in its schema refuses an empty text. A value that is not a text is first converted to text. Most
 * formats do not allow the text `null`, so the value null usually causes two errors: one for the type, and one for the
 * format.
 */
export function hasFormat(format: Format, value: unknown): boolean {
  if (value === '' && format !== 'ip') return true;
  return CHECKS[format](typeof value === 'object' ? JSON.stringify(value) : String(value));
}

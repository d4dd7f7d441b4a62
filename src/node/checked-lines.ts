/**
 * Formats and parses lines with a checksum, for example the lines of the signing journal. Each line contains a
 * checksum, a space and JSON. The checksum shows whether a line is damaged, for example because a crash interrupted the
 * write of the line.
 */

import { sha256Hex } from '../crypto/hash.ts';
import { utf8 } from '../primitives/bytes.ts';

const CHECKSUM_DIGITS = 16;

export function checkedLine(content: object): Buffer {
  const json = JSON.stringify(content);
  return utf8(`${checksumOf(json)} ${json}\n`);
}

/**
 * Returns the parsed JSON of a line; undefined when the line is damaged.
 *
 * @param line text of the line, without the newline at its end
 */
export function contentOf(line: string): unknown {
  const json = line.slice(CHECKSUM_DIGITS + 1);
  if (line[CHECKSUM_DIGITS] !== ' ' || line.slice(0, CHECKSUM_DIGITS) !== checksumOf(json)) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Returns the checksum at the start of a line. */
export function checksumOfLine(line: Buffer): string {
  return line.subarray(0, CHECKSUM_DIGITS).toString('latin1');
}

function checksumOf(json: string): string {
  return sha256Hex(utf8(json)).slice(0, CHECKSUM_DIGITS);
}

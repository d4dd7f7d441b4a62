/**
 * Reads chain files. A chain file has one block on each line, and usually begins with the genesis block. A block is
 * JSON with the members of the generation's wire format. Amounts, totals and rewards are decimal text. Files with a
 * name that ends in `.gz` are compressed. `export-chain.ts` writes these files.
 */

import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { checkRegularFile, whyUnreadable } from '../config/bounded-file.ts';
import { ProtocolError } from '../primitives/errors.ts';

/**
 * Maximum length of a line in bytes. A line has room for the longest genesis block that a network folder is allowed to
 * contain.
 */
const LINE_BYTES_MAX = 64 * 1024 * 1024;
/**
 * Maximum number of bytes in one read. If a line lies within one read, the line is a view into the bytes of this read.
 * Each such line keeps all bytes of the read in memory.
 */
const READ_BYTES = 1024 * 1024;
const LINE_FEED = 10;
const BLANK_BYTES_LOOKED_AT = 64;
/** File name that stands for the standard input or output. */
export const STANDARD_STREAM = '-';

export interface FileLine {
  /** Number of the line, counted from 1. */
  readonly number: number;
  /** The line without its line feed; never blank. */
  readonly bytes: Buffer;
}

export interface ChainFile {
  readonly name: string;
  /** Size of the file on the disk, in bytes; undefined for the standard input. */
  readonly bytes: number | undefined;
  /** Number of bytes that `lines` has read from the file until now. For a `.gz` file, these are compressed bytes. */
  bytesRead(): number;
  /**
   * Reads all lines except blank lines, several lines at a time.
   *
   * @throws ProtocolError `CHAIN_FILE_UNREADABLE` when the file cannot be read, when the compressed content is damaged
   *   or truncated, or when a line is longer than `LINE_BYTES_MAX`
   */
  lines(): AsyncIterable<readonly FileLine[]>;
}

/**
 * Checks that a file can be opened, and returns an object that reads its lines.
 *
 * @param file path; `-` for the standard input, whose content must not be compressed
 * @throws ProtocolError `CHAIN_FILE_UNUSABLE` when the path does not lead to a regular file, or when this process is
 *   not allowed to read the file
 */
export function openChainFile(file: string): ChainFile {
  const isStandardInput = file === STANDARD_STREAM;
  const name = isStandardInput ? 'standard input' : file;
  const refusal = (code: string, error: unknown): ProtocolError => {
    const reason = whyUnreadable(error, 'correct the path of the file');
    return new ProtocolError(code, { file }, `${name}: cannot be read: ${reason}`, { cause: error });
  };
  let bytes: number | undefined;
  try {
    if (!isStandardInput) ({ bytes } = checkRegularFile(file));
  } catch (error) {
    throw refusal('CHAIN_FILE_UNUSABLE', error);
  }
  let bytesRead = 0;
  async function* counted(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytesRead += chunk.length;
      yield chunk;
    }
  }
  return {
    name,
    bytes,
    bytesRead: () => bytesRead,
    async *lines() {
      const raw = isStandardInput ? process.stdin : createReadStream(file, { highWaterMark: READ_BYTES });
      const chunks = file.endsWith('.gz')
        ? // The last stream of the pipeline reports all errors to its reader.
          pipeline(raw, counted, createGunzip({ chunkSize: READ_BYTES }), () => undefined)
        : counted(raw);
      try {
        yield* linesOf(chunks as AsyncIterable<Buffer>);
      } catch (error) {
        throw refusal('CHAIN_FILE_UNREADABLE', error);
      }
    },
  };
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly FileLine[]> {
  let number = 0;
  /** If the current line spans several chunks, the bytes of this line in the earlier chunks. */
  let open: Buffer[] = [];
  let openBytes = 0;
  const take = (last: Buffer): FileLine[] => {
    number += 1;
    const bytes = open.length === 0 ? last : Buffer.concat([...open, last]);
    open = [];
    openBytes = 0;
    return isBlank(bytes) ? [] : [{ number, bytes }];
  };
  for await (const chunk of chunks) {
    const lines: FileLine[] = [];
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
      lines.push(...take(chunk.subarray(from, at)));
      from = at + 1;
    }
    open.push(chunk.subarray(from));
    openBytes += chunk.length - from;
    if (openBytes > LINE_BYTES_MAX) throw new Error(`line ${number + 1} is longer than ${LINE_BYTES_MAX} bytes`);
    if (lines.length > 0) yield lines;
  }
  const last = take(Buffer.alloc(0));
  if (last.length > 0) yield last;
}

function isBlank(bytes: Buffer): boolean {
  // The first bytes of most lines contain a character that is not white space, so the function rarely decodes a whole
  // line.
  return (
    bytes.subarray(0, BLANK_BYTES_LOOKED_AT).toString('utf8').trim() === '' && bytes.toString('utf8').trim() === ''
  );
}

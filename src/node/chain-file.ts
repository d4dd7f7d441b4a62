/**
 * Chains as files: a block on each line, in the JSON members of the generation's wire, amounts and totals as decimal text,
 * genesis first. Files that end in `.gz` are compressed.
 */

import { createReadStream, statSync } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { messageOf, ProtocolError } from '../primitives/errors.ts';
import type { Codec } from '../protocol/rules.ts';
import type { Block, Json, JsonObject } from '../protocol/types.ts';
import { BlockRejected } from '../protocol/verdict.ts';

/** As long as the longest genesis block that a network folder may have. */
const LINE_BYTES_MAX = 64 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;
const LINE_FEED = 10;
/** Stands for the standard input or output. */
export const STANDARD_STREAM = '-';

/** The line of a block, without its line break. */
export function lineOfBlock(block: Block, codec: Codec): string {
  return withAmountsAsText(JSON.stringify(codec.blockToJson(block)));
}

export interface ReadBlock {
  readonly block: Block;
  /**
   * Where the line says something else than the block's own bytes; undefined when it does nowhere. So a file in which
   * anything was changed is noticed even where no signature covers it.
   */
  readonly fault: string | undefined;
}

/**
 * Reads a line. Amounts may be numbers.
 *
 * @throws BlockRejected `BLOCK_MALFORMED` for what is no JSON, and what the codec throws
 */
export function blockOfLine(line: string, codec: Codec): ReadBlock {
  const json = jsonOf(line);
  const isGenesis = typeof json === 'object' && json !== null && 'height' in json && json.height === 1;
  const block = isGenesis ? codec.genesisFromJson(json) : codec.blockFromJson(json);
  return { block, fault: contradiction(json, codec.blockToJson(block), '') };
}

/** The id that a line claims for its block, as far as it can be read: for telling which block a refusal is about. */
export function claimedId(line: string): string | undefined {
  // The block's own members stand outside the brackets of its transactions.
  const [from, to] = [line.indexOf('['), line.lastIndexOf(']')];
  const own = from >= 0 && to > from ? line.slice(0, from) + line.slice(to + 1) : line;
  return /"id":\s{0,64}"([0-9]{1,20})"/.exec(own)?.[1];
}

export interface FileLine {
  /** From 1. */
  readonly number: number;
  /** Never blank. */
  readonly text: string;
}

export interface ChainFile {
  readonly name: string;
  /** Bytes on the disk; undefined for the standard input. */
  readonly bytes: number | undefined;
  /** Bytes read so far, as they are on the disk. */
  bytesRead(): number;
  /**
   * All lines but blank ones, some at a time.
   *
   * @throws ProtocolError `CHAIN_FILE_UNREADABLE` when the file is cut off, no gzip file or no file of lines
   */
  lines(): AsyncIterable<readonly FileLine[]>;
}

/**
 * A file to be read.
 *
 * @param file path; `-` for the standard input, never compressed
 * @throws ProtocolError `CHAIN_FILE_UNREADABLE` when there is no such file
 */
export function openChainFile(file: string): ChainFile {
  const isStandardInput = file === STANDARD_STREAM;
  const name = isStandardInput ? 'standard input' : file;
  const unreadable = (error: unknown): ProtocolError => {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const reason = isMissing ? 'does not exist: correct the path of the file' : messageOf(error);
    return new ProtocolError('CHAIN_FILE_UNREADABLE', { file }, `${name}: cannot be read: ${reason}`, { cause: error });
  };
  let bytes: number | undefined;
  try {
    if (!isStandardInput) bytes = statSync(file).size;
  } catch (error) {
    throw unreadable(error);
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
        ? // Whoever reads hears of an error from the last stream itself.
          pipeline(raw, counted, createGunzip({ chunkSize: READ_BYTES }), () => undefined)
        : counted(raw);
      try {
        yield* linesOf(chunks as AsyncIterable<Buffer>);
      } catch (error) {
        throw unreadable(error);
      }
    },
  };
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly FileLine[]> {
  let number = 0;
  /** Pieces of a line that has not ended yet. */
  let open: Buffer[] = [];
  let openBytes = 0;
  const take = (last: Buffer): FileLine[] => {
    number += 1;
    const text = (open.length === 0 ? last : Buffer.concat([...open, last])).toString('utf8').trim();
    open = [];
    openBytes = 0;
    return text === '' ? [] : [{ number, text }];
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

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(withAmountsAsText(line)) as unknown;
  } catch (error) {
    throw new BlockRejected('BLOCK_MALFORMED', `it is no JSON: ${messageOf(error)}`);
  }
}

/** Inside a text of JSON a quotation mark stands behind a backslash, so this meets members only. */
const AMOUNT_AS_NUMBER = /("(?:totalAmount|totalFee|reward|amount|fee)"\s*:\s*)(-?[0-9]+)(?![0-9.eE])/g;

/** The same JSON with amounts as decimal text: as numbers, large ones would not survive being parsed. */
function withAmountsAsText(json: string): string {
  return json.replace(AMOUNT_AS_NUMBER, '$1"$2"');
}

/** Members that readers of a node add to what the wire has. They say nothing about the block. */
const REMARKS: ReadonlySet<string> = new Set(['blockId', 'confirmations', 'height', 'receivedAt', 'relays']);

/**
 * Where a document says something else than the block that was read from it; undefined when it does nowhere.
 *
 * @param path of the document in the block, for the answer
 */
function contradiction(given: unknown, known: Json, path: string): string | undefined {
  if (Array.isArray(given) && Array.isArray(known)) {
    if (given.length !== known.length) return `'${path}' should have ${known.length} items`;
    for (const [index, each] of (known as readonly Json[]).entries()) {
      const fault = contradiction(given[index], each, `${path}[${index}]`);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
  if (typeof given === 'object' && given !== null && typeof known === 'object' && known !== null) {
    for (const [name, value] of Object.entries(given)) {
      const own = Object.hasOwn(known, name) ? (known as JsonObject)[name] : undefined;
      // Null says nothing: some writers have it where others leave the member out.
      if (value === null || (own === undefined && REMARKS.has(name))) continue;
      const fault = own === undefined ? `'${path}.${name}' is unknown` : contradiction(value, own, `${path}.${name}`);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
  const isSame = given === known || (typeof known === 'number' && given === String(known));
  return isSame ? undefined : `'${path}' should be ${JSON.stringify(known)}`;
}

/** Blocks as lines of text, each in the JSON members of its generation's wire with amounts and totals as decimal text. */

import { messageOf } from '../../primitives/errors.ts';
import type { Codec } from '../rules.ts';
import { member } from '../tx/json.ts';
import type { Block, Json, JsonObject } from '../types.ts';
import { BlockRejected } from '../verdict.ts';

const TOTALS = ['totalAmount', 'totalFee', 'reward'];

/** The line of a block, without its line break. */
export function lineOfBlock(block: Block, codec: Codec): string {
  const json = codec.blockToJson(block);
  const totals = TOTALS.flatMap((name) => (json[name] === undefined ? [] : [[name, String(json[name])]]));
  return JSON.stringify({ ...json, ...Object.fromEntries(totals) });
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
  const found = contradiction(json, codec.blockToJson(block));
  return { block, fault: found && `'${found.path}' ${found.message}` };
}

/** The text of a line. Blanks around it, and a byte order mark, say nothing. */
export function textOfLine(line: Buffer): string {
  return line.toString('utf8').trim();
}

/** The id that a line claims for its block, as far as it can be read: for telling which block a refusal is about. */
export function claimedId(line: string): string | undefined {
  // The block's own members stand outside the brackets of its transactions.
  const [from, to] = [line.indexOf('['), line.lastIndexOf(']')];
  const own = from >= 0 && to > from ? line.slice(0, from) + line.slice(to + 1) : line;
  return /"id":\s{0,64}"([0-9]{1,20})"/.exec(own)?.[1];
}

function jsonOf(line: string): unknown {
  try {
    const json = JSON.parse(line) as unknown;
    const isOurs = TOTALS.every((name) => typeof member(json, name) !== 'number');
    // Members of assets that no rule knows stay as they are in files of this program.
    return isOurs ? json : (JSON.parse(withAmountsAsText(line)) as unknown);
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

/** Where a document says something else than the block that was read from it. */
interface Contradiction {
  /** Of the member in the block. */
  readonly path: string;
  readonly message: string;
}

/** The first one; undefined when there is none. Without recursion: assets nest deeper than the stack is. */
function contradiction(given: unknown, known: Json): Contradiction | undefined {
  const open: Pair[] = [{ given, known, path: '' }];
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const inside = membersOf(pair);
    if (typeof inside === 'string') return { path: pair.path, message: inside };
    // The last one that is pushed is looked at first.
    for (const each of inside.reverse()) open.push(each);
  }
  return undefined;
}

/** What a document says, beside what was read from it. */
interface Pair {
  readonly given: unknown;
  readonly known: Json | undefined;
  readonly path: string;
}

/** The members of both that may differ, or why the two contradict each other. */
function membersOf({ given, known, path }: Pair): Pair[] | string {
  if (known === undefined) return 'is unknown';
  if (Array.isArray(given) && Array.isArray(known)) {
    if (given.length !== known.length) return `should have ${known.length} items`;
    return (known as readonly Json[]).map((each, index) => ({
      given: given[index] as unknown,
      known: each,
      path: `${path}[${index}]`,
    }));
  }
  if (typeof given === 'object' && given !== null && typeof known === 'object' && known !== null) {
    return Object.keys(given).flatMap((name) => {
      const value = (given as Readonly<Record<string, unknown>>)[name];
      const own = Object.hasOwn(known, name) ? (known as JsonObject)[name] : undefined;
      // Null says nothing: some writers have it where others leave the member out.
      if (value === own || value === null || (own === undefined && REMARKS.has(name))) return [];
      return [{ given: value, known: own, path: `${path}.${name}` }];
    });
  }
  const isSame = given === known || (typeof known === 'number' && given === String(known));
  return isSame ? [] : `should be ${JSON.stringify(known)}`;
}

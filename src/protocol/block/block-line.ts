/**
 * Converts blocks to and from lines of text. A line is the JSON that nodes of the network's generation send, with one
 * difference: the totals and the reward are always strings. Nodes of generation 2 send a total or a reward as a number
 * if its value is below 10^15 beddows.
 */

import type { Codec } from '../rules.ts';
import { member } from '../tx/json.ts';
import type { Block, Json, JsonObject } from '../types.ts';
import { BlockRejected } from '../verdict.ts';

const TOTALS = ['totalAmount', 'totalFee', 'reward'];

/** The line of a block, without a line break at the end. */
export function lineOfBlock(block: Block, codec: Codec): string {
  const json = codec.blockToJson(block);
  const totals = TOTALS.flatMap((name) => (json[name] === undefined ? [] : [[name, String(json[name])]]));
  return JSON.stringify({ ...json, ...Object.fromEntries(totals) });
}

export interface ReadBlock {
  readonly block: Block;
  /**
   * The first member of the line that contradicts the JSON of `block` (see the function `contradiction`); undefined if
   * there is no contradiction. Such a member shows that someone changed the line. The comparison includes members that
   * no signature covers.
   */
  readonly fault: string | undefined;
}

/**
 * Reads the block of a line. In the line, amounts, fees, rewards and totals can also be JSON numbers.
 *
 * @throws BlockRejected `BLOCK_MALFORMED` if the line is not JSON; the errors of `codec.blockFromJson` and
 *   `codec.genesisFromJson` if a member is wrong
 */
export function blockOfLine(line: string, codec: Codec): ReadBlock {
  const json = jsonOf(line);
  const isGenesis = typeof json === 'object' && json !== null && 'height' in json && json.height === 1;
  const block = isGenesis ? codec.genesisFromJson(json) : codec.blockFromJson(json);
  const found = contradiction(json, codec.blockToJson(block));
  return { block, fault: found && `'${found.path}' ${found.message}` };
}

/** The text of a line, without white space around it and without a byte order mark. */
export function textOfLine(line: Buffer): string {
  return line.toString('utf8').trim();
}

/**
 * The block id that a line states; undefined if the id cannot be read. Error messages name the block by this id.
 */
export function unverifiedId(line: string): string | undefined {
  // The members of the block itself are outside the brackets of the list `transactions`.
  const [from, to] = [line.indexOf('['), line.lastIndexOf(']')];
  const own = from >= 0 && to > from ? line.slice(0, from) + line.slice(to + 1) : line;
  return /"id":\s{0,64}"([0-9]{1,20})"/.exec(own)?.[1];
}

function jsonOf(line: string): unknown {
  try {
    const json = JSON.parse(line) as unknown;
    const isOurs = TOTALS.every((name) => typeof member(json, name) !== 'number');
    // A line that this program wrote contains all totals as text, so `withAmountsAsText` is not necessary. In such a
    // line, `withAmountsAsText` could even do harm: it would change a number in an asset to text if the member of the
    // number has a name like `amount` or `fee`.
    return isOurs ? json : (JSON.parse(withAmountsAsText(line)) as unknown);
  } catch {
    // The error does not contain the message of the parser, because that message quotes the line. If the user names a
    // wrong file, the line can contain a secret.
    throw new BlockRejected('BLOCK_MALFORMED', 'it is not JSON');
  }
}

/**
 * Matches a member whose value is an amount written as a JSON number without a fraction or an exponent. Inside a JSON
 * string, a backslash precedes each quotation mark, so no match begins inside a string.
 */
const AMOUNT_AS_NUMBER = /(?<!\\)("(?:totalAmount|totalFee|reward|amount|fee)"\s*:\s*)(-?[0-9]+)(?![0-9.eE])/g;

/** Writes amounts as decimal text, because parsing a large amount as a number would lose digits. */
function withAmountsAsText(json: string): string {
  return json.replace(AMOUNT_AS_NUMBER, '$1"$2"');
}

/**
 * Members that HTTP answers add to a block or to a transaction. `contradiction` ignores such a member if the block that
 * was read has no member of this name at the same position.
 */
const REMARKS: ReadonlySet<string> = new Set(['blockId', 'confirmations', 'height', 'receivedAt', 'relays']);

/** A member in the JSON of the line that contradicts the block that was read from the line. */
interface Contradiction {
  /** Path of the member in the block. */
  readonly path: string;
  readonly message: string;
}

/**
 * Finds the first member of `given` that contradicts `known`. Returns undefined if there is no contradiction. Members
 * that are only in `known` are no contradiction. The search is not recursive, because assets can be nested deeper than
 * the stack allows.
 */
function contradiction(given: unknown, known: Json): Contradiction | undefined {
  const open: Pair[] = [{ given, known, path: '' }];
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const inside = membersOf(pair);
    if (typeof inside === 'string') return { path: pair.path, message: inside };
    // The loop takes the last pair of `open` first (`pop`). The pairs are therefore added in reverse order, so that the
    // loop compares the members in the order of the line.
    for (const each of inside.reverse()) open.push(each);
  }
  return undefined;
}

/**
 * A value in the JSON of the line (`given`), and the value at the same position in the JSON of the block that was read
 * from the line (`known`).
 */
interface Pair {
  readonly given: unknown;
  readonly known: Json | undefined;
  readonly path: string;
}

/** Returns the pairs of members that must still be compared, or the reason why the two values contradict each other. */
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
      // Null counts as a missing member, because some programs write null for a member that other programs omit.
      if (value === own || value === null || (own === undefined && REMARKS.has(name))) return [];
      return [{ given: value, known: own, path: `${path}.${name}` }];
    });
  }
  const isSame = given === known || (typeof known === 'number' && given === String(known));
  return isSame ? [] : `should be ${JSON.stringify(known)}`;
}

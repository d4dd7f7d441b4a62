/**
 * Reads lines of a chain file (a text file with one block in each line) and validates their blocks, in a worker thread
 * or on the calling thread. The input consists of lines as bytes, and the output consists of packed blocks.
 */

import type { Ed25519 } from '../crypto/ed25519.ts';
import { packBlock, packParts, unpackParts } from '../protocol/block/packed-block.ts';
import { blockOfLine, textOfLine } from '../protocol/block/block-line.ts';
import type { Rules } from '../protocol/rules.ts';
import { BlockRejected } from '../protocol/verdict.ts';

const NONE = new Uint8Array(0);

/**
 * Reads lines from `packed`, where the length of each line precedes the line. The function refuses a line that contains
 * no valid block, and a line with a JSON member that contradicts the block (for example, a wrong `id`). The result does
 * not contain the reason for the refusal. To get the reason, the caller reads the refused line again.
 *
 * @param knownHeight blocks up to this height are not validated, because the node's chain already has these blocks
 * @returns for each line, the length of its packed block, then the packed block. For a refused line, the length is 0.
 *   For the line of block 1, the length is also 0, because the caller compares this line with the genesis block
 */
export function readPackedLines(
  packed: Uint8Array,
  rules: Rules,
  ed25519: Ed25519,
  knownHeight: number,
): Uint8Array<ArrayBuffer> {
  const lines = unpackParts(Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength));
  return packParts(lines.map((line) => readLine(line, rules, ed25519, knownHeight)));
}

function readLine(line: Buffer, rules: Rules, ed25519: Ed25519, knownHeight: number): Uint8Array {
  try {
    const { block, fault } = blockOfLine(textOfLine(line), rules.codec);
    if (fault !== undefined || block.height === 1) return NONE;
    if (block.height > knownHeight) rules.validateBlock(block, (check) => ed25519.verify(check));
    return packBlock(block, rules.codec);
  } catch (error) {
    if (error instanceof BlockRejected) return NONE;
    throw error;
  } finally {
    // The codec drops its references to the transactions of this block before the next line is read. When the garbage
    // collector runs, it therefore finds live transactions of only one block.
    rules.codec.forgetTransactions();
  }
}

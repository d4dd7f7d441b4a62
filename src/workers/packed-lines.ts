/** Lines of a chain file read and validated, as any thread does it: bytes in, packed blocks out. */

import type { Ed25519 } from '../crypto/ed25519.ts';
import { packBlock, packParts, unpackParts } from '../protocol/block/packed-block.ts';
import { blockOfLine, textOfLine } from '../protocol/block/block-line.ts';
import type { Rules } from '../protocol/rules.ts';
import { BlockRejected } from '../protocol/verdict.ts';

const NONE = new Uint8Array(0);

/**
 * Reads lines, each behind its length. What is wrong with one is not told: nobody but the reader of the file can say at which
 * place of which chain.
 *
 * @param knownHeight blocks up to here need not be validated, as the chain has them
 * @returns for each line, behind its length, the packed block; nothing for a line that is refused or is block 1
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
    // Before the next line, so that the collector of young memory, whenever it comes, meets those of one block.
    rules.codec.forgetTransactions();
  }
}

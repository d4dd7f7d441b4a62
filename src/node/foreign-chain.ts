/**
 * Recognises that a chain file belongs to another network, by the genesis block at the start of the file. The error of
 * the import can then name that network.
 */

import { textOfLine } from '../protocol/block/block-line.ts';
import type { Block } from '../protocol/types.ts';

/** The values of a genesis block as a file states them. These values were not verified. */
export interface UnverifiedGenesis {
  readonly id: string;
  /**
   * Payload hash of the genesis block. This hash is also the nethash of the network to which the genesis block belongs.
   */
  readonly payloadHash: string;
}

/** Names of networks for the error messages of an import. */
export interface NetworkNames {
  /** Name of the network into whose chain the blocks are imported. */
  readonly own: string;
  /** @returns name of the network that has this genesis block; undefined for an unknown network */
  nameOf(genesis: UnverifiedGenesis): string | undefined;
}

/**
 * Finds the genesis block of another network at the start of a file.
 *
 * @param first the block of the first line. The argument is the line itself in three cases: the block has height 1, no
 *   valid block of this network can be read from the line, or a member of the line's JSON contradicts the block
 * @returns the id and payload hash of the genesis block of another network; undefined if the line does not contain such
 *   a block. A line with the id or the payload hash of this network's genesis block belongs to this network, even if
 *   the line is damaged
 */
export function foreignGenesis(
  first: Block | Buffer,
  own: Pick<Block, 'id' | 'payloadHash'>,
): UnverifiedGenesis | undefined {
  const unverified = Buffer.isBuffer(first) ? unverifiedGenesisOf(textOfLine(first)) : first;
  if (unverified === undefined || unverified.height !== 1) return undefined;
  const { id, payloadHash } = unverified;
  return id === own.id || payloadHash === own.payloadHash ? undefined : { id, payloadHash };
}

/**
 * Returns the last part of the error message for a file that belongs to a different network than the import. This part
 * names the network of the file, the network of the import, and the remedy.
 */
export function foreignText(genesis: UnverifiedGenesis, { own, nameOf }: NetworkNames): string {
  const name = nameOf(genesis);
  return name === undefined
    ? `is the chain of another network, whose genesis block is ${genesis.id}; the network of this import is ${own}: get a file of ` +
        `${own}, or add the other network with bloomery network import`
    : `is a chain of ${name}, and the network of this import is ${own}: get a file of ${own}, or use --network ${name}`;
}

type UnverifiedFirstBlock = UnverifiedGenesis & { readonly height: unknown };

function unverifiedGenesisOf(line: string): UnverifiedFirstBlock | undefined {
  try {
    const { id, payloadHash, height } = JSON.parse(line) as Record<string, unknown>;
    return typeof id === 'string' && typeof payloadHash === 'string' && /^[0-9]{1,20}$/.test(id)
      ? { id, payloadHash, height }
      : undefined;
  } catch {
    return undefined;
  }
}

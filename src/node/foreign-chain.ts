/** Telling a chain of another network from one that is wrong: by the genesis block that its file begins with. */

import { textOfLine } from '../protocol/block/block-line.ts';
import type { Block } from '../protocol/types.ts';

/** A genesis block as a file claims it. */
export interface ClaimedGenesis {
  readonly id: string;
  /** The nethash of its network. */
  readonly payloadHash: string;
}

/** The networks that a message may name. */
export interface NetworkNames {
  /** Of the chain that blocks are taken over into. */
  readonly own: string;
  /** @returns undefined for a genesis block of no network that is known here */
  nameOf(genesis: ClaimedGenesis): string | undefined;
}

/**
 * The genesis block of another network that a file begins with.
 *
 * @param first what was read of the first line: its block, or the line itself where it is none of this network
 * @returns undefined for any other line, and for one that has the id or the payload hash of this network's own: that one is damaged
 */
export function foreignGenesis(
  first: Block | Buffer,
  own: Pick<Block, 'id' | 'payloadHash'>,
): ClaimedGenesis | undefined {
  const claimed = Buffer.isBuffer(first) ? claimOf(textOfLine(first)) : first;
  if (claimed === undefined || claimed.height !== 1) return undefined;
  const { id, payloadHash } = claimed;
  return id === own.id || payloadHash === own.payloadHash ? undefined : { id, payloadHash };
}

/** One sentence: which network the file is of, which this one is, and what helps. */
export function foreignText(genesis: ClaimedGenesis, { own, nameOf }: NetworkNames): string {
  const name = nameOf(genesis);
  return name === undefined
    ? `is the chain of another network, whose genesis block is ${genesis.id}; this one is ${own}: get a file of ${own}, or add that ` +
        'network with bloomery network import'
    : `is a chain of ${name}, and this one is of ${own}: get a file of ${own}, or say --network ${name}`;
}

type Claim = ClaimedGenesis & { readonly height: unknown };

function claimOf(line: string): Claim | undefined {
  try {
    const { id, payloadHash, height } = JSON.parse(line) as Record<string, unknown>;
    return typeof id === 'string' && typeof payloadHash === 'string' && /^[0-9]{1,20}$/.test(id)
      ? { id, payloadHash, height }
      : undefined;
  } catch {
    return undefined;
  }
}

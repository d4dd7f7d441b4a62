/** Reads penalties, bans and reorgs from the logs of nodes. */

import { existsSync, readFileSync } from 'node:fs';
import type { InteropNode } from './nodes.ts';

/** Codes of our log for an offence of a peer or of this node. */
const CHARGES = [
  'PEER_PENALISED',
  'PEER_BANNED',
  'PEER_OFFENCE_EXEMPT',
  'PEER_DISCONNECTED_FOR_OFFENCE',
  'BLOCK_DOUBLE_FORGING',
  'SYNC_FAILED',
];
const REORGS = ['CHAIN_REORG', 'TIE_BROKEN'];
/** The launcher logs penalties and bans of the reference. The release itself logs reverted blocks. */
const REAL_CHARGE = /^INTEROP (penalty|ban) /;
const REAL_REORG = /Deleted a block from the chain/;

/** Penalties and bans that a node imposed. */
export function chargesOf(node: InteropNode): readonly string[] {
  return linesOf(node).filter((line) => (node.kind === 'real' ? REAL_CHARGE.test(line) : has(line, CHARGES)));
}

/** Log lines about blocks that a node reverted. */
export function reorgsOf(node: InteropNode): readonly string[] {
  return linesOf(node).filter((line) => (node.kind === 'real' ? REAL_REORG.test(line) : has(line, REORGS)));
}

function has(line: string, codes: readonly string[]): boolean {
  return codes.some((code) => line.includes(`"${code}"`));
}

function linesOf({ logFile }: InteropNode): readonly string[] {
  return existsSync(logFile) ? readFileSync(logFile, 'utf8').split('\n') : [];
}

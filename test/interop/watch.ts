/** Reads penalties, bans and reorgs from the logs of nodes. */

import { existsSync, readFileSync } from 'node:fs';
import type { InteropNode } from './nodes.ts';

/** Codes in the logs of our nodes for offences of peers, double forging, and internal errors in syncs. */
const CHARGES = [
  'PEER_PENALISED',
  'PEER_BANNED',
  'PEER_OFFENCE_EXEMPT',
  'PEER_DISCONNECTED_FOR_OFFENCE',
  'BLOCK_DOUBLE_FORGING',
  'SYNC_FAILED',
];
const REORGS = ['CHAIN_REORG', 'TIE_BROKEN'];
/**
 * `real/node.cjs` logs the penalties and bans that a real node gives to its peers. The real node itself logs reverted
 * blocks.
 */
const REAL_CHARGE = /^INTEROP (penalty|ban) /;
const REAL_REORG = /Deleted a block from the chain/;

/**
 * For a real node, returns the log lines about the penalties and bans that it gives to its peers. For one of our nodes,
 * returns the log lines with a code of `CHARGES`.
 */
export function chargesOf(node: InteropNode): readonly string[] {
  return linesOf(node).filter((line) => (node.kind === 'real' ? REAL_CHARGE.test(line) : has(line, CHARGES)));
}

/** Returns the log lines in which a node reports that it has reverted blocks. */
export function reorgsOf(node: InteropNode): readonly string[] {
  return linesOf(node).filter((line) => (node.kind === 'real' ? REAL_REORG.test(line) : has(line, REORGS)));
}

function has(line: string, codes: readonly string[]): boolean {
  return codes.some((code) => line.includes(`"${code}"`));
}

function linesOf({ logFile }: InteropNode): readonly string[] {
  return existsSync(logFile) ? readFileSync(logFile, 'utf8').split('\n') : [];
}

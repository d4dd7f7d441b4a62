/** What nodes wrote of one another: penalties, bans, and changes of branch, read from their logs. */

import { existsSync, readFileSync } from 'node:fs';
import type { InteropNode } from './nodes.ts';

/** Codes of our log that say that a peer was found guilty, or that we found ourselves so. */
const CHARGES = [
  'PEER_PENALISED',
  'PEER_BANNED',
  'PEER_FORGIVEN',
  'PEER_EXPELLED',
  'BLOCK_DOUBLE_FORGING',
  'SYNC_FAILED',
];
const SWITCHES = ['CHAIN_SWITCHED', 'TIE_BROKEN'];
/** The launcher writes penalties and bans of the reference; the release says itself when it reverts a block. */
const REAL_CHARGE = /^INTEROP (penalty|ban) /;
const REAL_SWITCH = /Deleted a block from the chain/;

/** Penalties and bans that a node gave out. */
export function chargesOf(node: InteropNode): readonly string[] {
  return linesOf(node).filter((line) => (node.kind === 'real' ? REAL_CHARGE.test(line) : has(line, CHARGES)));
}

/** Lines about blocks that a node reverted. */
export function switchesOf(node: InteropNode): readonly string[] {
  return linesOf(node).filter((line) => (node.kind === 'real' ? REAL_SWITCH.test(line) : has(line, SWITCHES)));
}

function has(line: string, codes: readonly string[]): boolean {
  return codes.some((code) => line.includes(`"${code}"`));
}

function linesOf({ logFile }: InteropNode): readonly string[] {
  return existsSync(logFile) ? readFileSync(logFile, 'utf8').split('\n') : [];
}

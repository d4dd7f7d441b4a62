/** Reads penalties, bans and branch changes from the logs of nodes. */

import { existsSync, readFileSync } from 'node:fs';
import type { InteropNode } from './nodes.ts';

/** Codes of our log for an offence of a peer or of this node. */
const CHARGES = [
  'PEER_PENALISED',
  'PEER_BANNED',
  'PEER_FORGIVEN',
  'PEER_EXPELLED',
  'BLOCK_DOUBLE_FORGING',
  'SYNC_FAILED',
];
const SWITCHES = ['CHAIN_SWITCHED', 'TIE_BROKEN'];
/** The launcher logs penalties and bans of the reference. The release itself logs reverted blocks. */
const REAL_CHARGE = /^INTEROP (penalty|ban) /;
const REAL_SWITCH = /Deleted a block from the chain/;

/** Penalties and bans that a node imposed. */
export function chargesOf(node: InteropNode): readonly string[] {
  return linesOf(node).filter((line) => (node.kind === 'real' ? REAL_CHARGE.test(line) : has(line, CHARGES)));
}

/** Log lines about blocks that a node reverted. */
export function switchesOf(node: InteropNode): readonly string[] {
  return linesOf(node).filter((line) => (node.kind === 'real' ? REAL_SWITCH.test(line) : has(line, SWITCHES)));
}

function has(line: string, codes: readonly string[]): boolean {
  return codes.some((code) => line.includes(`"${code}"`));
}

function linesOf({ logFile }: InteropNode): readonly string[] {
  return existsSync(logFile) ? readFileSync(logFile, 'utf8').split('\n') : [];
}

/** `bloomery status`: how a running node does, read over HTTP. */

import { nodeClient } from '../node-client.ts';
import type { StatusFlags } from '../flags.ts';

/** @throws ProtocolError `NODE_UNREACHABLE` or `NODE_ANSWER_UNEXPECTED` */
export async function status(flags: StatusFlags): Promise<void> {
  const client = nodeClient(flags.node);
  const [state, constants, peers] = await Promise.all([client.status(), client.constants(), client.connectedPeers()]);
  const digest = flags.digest === true ? await client.digest() : undefined;
  if (flags.json === true) {
    const { node } = flags;
    const parts = { node, ...state, connectedPeers: peers, version: constants.version, nethash: constants.nethash };
    const answer = digest === undefined ? parts : { ...parts, digest };
    process.stdout.write(`${JSON.stringify(answer)}\n`);
    return;
  }
  const rows: [string, string][] = [
    ['node', flags.node],
    ['version', constants.version],
    ['network', constants.nethash],
    ['height', `${state.height}${state.syncing ? ' (catching up)' : ''}`],
    ['finalized', `${state.chainMaxHeightFinalized}`],
    ['network height', `${state.networkHeight}`],
    ['peers', `${peers}`],
    ['consensus', `${state.consensus} %`],
    ['transactions', `${state.transactions.confirmed} confirmed, ${state.transactions.total} in all`],
  ];
  if (digest !== undefined)
    rows.push(['digest', `${digest.digest} (height ${digest.height}, block ${digest.blockId})`]);
  for (const [label, value] of rows) process.stdout.write(`${label.padEnd(16)}${value}\n`);
}

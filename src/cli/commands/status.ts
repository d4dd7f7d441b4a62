/** `bloomery status`: shows the state of a running node, read over HTTP. */

import { softwareVersionOf } from '../../primitives/software-version.ts';
import { shownAddress } from '../ask-node.ts';
import { nodeClient, type NodeState } from '../node-client.ts';
import type { StatusFlags } from '../flags.ts';
import { durationText } from '../../primitives/duration.ts';
import { printJson, printLine } from '../output.ts';

/** @throws ProtocolError in the same cases as `nodeClient` */
export async function status(flags: StatusFlags): Promise<void> {
  const client = nodeClient(flags.node);
  const [state, constants, peers] = await Promise.all([client.status(), client.constants(), client.connectedPeers()]);
  const digest = flags.digest === true ? await client.digest() : undefined;
  const node = shownAddress(flags.node);
  if (flags.json === true) {
    const { version, nethash } = constants;
    const softwareVersion = softwareVersionOf(constants.build);
    const parts = {
      node,
      ...state,
      connectedPeers: peers,
      version,
      ...(softwareVersion === undefined ? {} : { softwareVersion }),
      nethash,
    };
    const answer = digest === undefined ? parts : { ...parts, digest };
    printJson(answer);
    return;
  }
  const rows: [string, string][] = [
    ['node', node],
    ['version', versionText(constants)],
    ['network', constants.nethash],
    ['height', `${state.height}${catchingUp(state)}`],
    ['finalized', `${state.chainMaxHeightFinalized}`],
    ...networkRows(state, peers),
    ['transactions', `${state.transactions.confirmed} confirmed, ${state.transactions.total} in all`],
  ];
  if (state.readers !== undefined) rows.push(['readers', readersText(state.readers)]);
  if (state.clockOffsetMs !== undefined) rows.push(['clock', clockText(state.clockOffsetMs)]);
  if (state.clocksDiffer !== undefined) rows.push(['clock', clocksText(state.clocksDiffer)]);
  if (digest !== undefined)
    rows.push(['digest', `${digest.digest} (height ${digest.height}, block ${digest.blockId})`]);
  for (const [label, value] of rows) printLine(`${label.padEnd(16)}${value}`);
}

/**
 * Returns the version that the node reports to peers. If the node reports its version of Bloomery, this version comes
 * first.
 */
function versionText({ version, build }: { readonly version: string; readonly build?: string }): string {
  const softwareVersion = softwareVersionOf(build);
  return softwareVersion === undefined ? version : `Bloomery ${softwareVersion}, protocol ${version}`;
}

/**
 * Returns rows with the height of the network, the number of peers, and the consensus (the percentage of connected
 * peers that have the same tip as the node). For a node that has no peers and needs none (its configuration allows
 * no peers, or names no other node as a peer, and all delegates of the round of the next block forge on this node),
 * returns a single row that says this.
 */
function networkRows({ isAlone, networkHeight, consensus }: NodeState, peers: number): readonly [string, string][] {
  if (isAlone === true) return [['peers', 'none wanted']];
  return [
    ['network height', networkHeight === 0 ? 'unknown' : `${networkHeight}`],
    ['peers', `${peers}`],
    ['consensus', `${consensus} %`],
  ];
}

const MEGABYTE = 1_000_000;

/** Describes the state of the reading processes, which answer HTTP requests on the port of the node. */
function readersText({ wanted, restarts, each }: NonNullable<NodeState['readers']>): string {
  const up = each.filter(({ state }) => state === 'up').length;
  const rest = each.flatMap(({ reader, state }) => (state === 'up' ? [] : [`${reader} ${state}`]));
  const memory = each.map(({ memoryBytes }) => Math.round(memoryBytes / MEGABYTE)).join(' + ');
  const requests = each.reduce((sum, one) => sum + one.requests, 0);
  return [`${up} of ${wanted} up`, ...rest, `${restarts} replaced`, `${memory} MB`, `${requests} requests`].join(', ');
}

function clockText(offsetMs: number): string {
  const seconds = (Math.abs(offsetMs) / 1000).toFixed(1);
  return `${seconds} s ${offsetMs > 0 ? 'behind' : 'ahead of'} the peers' clocks: correct it`;
}

function clocksText({ peer, offsetMs }: NonNullable<NodeState['clocksDiffer']>): string {
  const seconds = (Math.abs(offsetMs) / 1000).toFixed(1);
  return `${seconds} s ${offsetMs > 0 ? 'behind' : 'ahead of'} that of ${peer}: one of the two is wrong, check both`;
}

/** Describes the progress of the sync of a node; empty while the node does not sync. */
function catchingUp({ height, syncing, syncProgress }: NodeState): string {
  if (syncProgress === undefined) return syncing ? ' (catching up)' : '';
  const { targetHeight, blocksPerS, secondsLeft } = syncProgress;
  const percent = targetHeight === 0 ? '' : `${Math.floor((height / targetHeight) * 100)} % of `;
  const left = secondsLeft === undefined ? '' : `, ${durationText(secondsLeft)} left`;
  return ` (catching up: ${percent}${targetHeight}, ${blocksPerS} blocks/s${left})`;
}

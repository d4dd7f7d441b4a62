/** `bloomery peers`: lists the peer addresses that a running node knows, with their state. */

import type { PeersFlags } from '../flags.ts';
import { nodeClient, type PeerVerdictState } from '../node-client.ts';
import { printable } from '../printable.ts';
import { printJson, printLine } from '../output.ts';

/** @throws ProtocolError in the same cases as `nodeClient` */
export async function peers(flags: PeersFlags): Promise<void> {
  const all = await nodeClient(flags.node).peerVerdicts(flags.limit);
  if (flags.json === true) {
    printJson({ peers: all });
    return;
  }
  if (all.length === 0) printLine('the node knows no peer');
  for (const peer of all) printLine(lineOf(peer));
}

function lineOf(peer: PeerVerdictState): string {
  const address = peer.wsPort === undefined ? peer.ip : `${peer.ip}:${peer.wsPort}`;
  const facts = [
    ...(peer.height === undefined ? [] : [`height ${peer.height}`]),
    ...(peer.latencyMs === undefined ? [] : [`${peer.latencyMs} ms`]),
    ...(peer.reputation === 100 || peer.verdict === 'banned' ? [] : [`reputation ${peer.reputation}`]),
    ...peer.roles,
  ];
  return [address.padEnd(21), verdictText(peer), ...facts].join('  ').trimEnd();
}

function verdictText({ verdict, direction, since, until, code, reason }: PeerVerdictState): string {
  const why = reason === undefined || reason === '' ? '' : `: ${printable(reason)}`;
  switch (verdict) {
    case 'connected':
      return `connected ${direction === 'inbound' ? 'in' : 'out'} since ${timeText(since)}`;
    case 'banned':
      return `banned until ${timeText(until)}${why}`;
    case 'dropped': {
      const next = until === undefined ? '' : `, dialled again from ${timeText(until)}`;
      return `dropped at ${timeText(since)}, code ${code ?? '?'}${why}${next}`;
    }
    case 'waiting':
      if (until === undefined) return `not dialled again until the node restarts${why}`;
      return `dialled again from ${timeText(until)}${why}`;
    case 'dialling':
      return 'is being dialled';
    case 'known':
      return 'known';
    default:
      // A node of a newer version can send a state of a peer (`verdict`) that this program does not know.
      return `${String(verdict)}${why}`;
  }
}

/** Date and time in UTC; `?` for an absent time. */
function timeText(instant: string | undefined): string {
  return instant === undefined ? '?' : instant.slice(0, 19).replace('T', ' ');
}

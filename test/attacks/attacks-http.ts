/**
 * Floods of HTTP requests to the HTTP port and the peer port. The addresses of the attacker are not in
 * `http.accessWhitelist`.
 */

import { fork } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { Arena } from './arena.ts';
import { Junk, registerGroup } from './attacks-signatures.ts';
import type { Flood, FloodFigures, FloodKind } from './http-flood.ts';
import type { Attack } from './measure.ts';

const NAMES: Readonly<Record<FloodKind, string>> = {
  pipelined: 'pipelined HTTP requests',
  unread: 'HTTP answers that nobody reads',
  bombs: 'HTTP bodies that unpack to 2 MB',
  bodies: 'HTTP bodies that do not end',
  silent: 'silent HTTP connections',
  events: 'HTTP event streams that nobody reads',
  wave: 'HTTP requests on all connections at once',
  peerPort: 'pipelined HTTP requests to the peer port',
  junk: 'junk signatures of a multisignature account, flooded over HTTP',
};
const KINDS = Object.keys(NAMES) as FloodKind[];

/**
 * Default number of connections from each address. The node accepts at most 100 connections from one address. With 50
 * from each address, the node accepts all connections of a flood on 2,000 connections.
 */
const CONNECTIONS_PER_SOURCE = 50;
const JUNK_BODIES = 200;

/**
 * With the setting `default` (only 127.0.0.1 is allowed to use the HTTP API of the nodes), these attacks run only in
 * generation 3. The reason is that, in both generations, the same code decides which HTTP connections and requests the
 * node accepts.
 */
export const HTTP_ATTACKS: readonly Attack[] = [
  ...(['pipelined', 'unread', 'bombs', 'bodies'] as const).flatMap((kind) =>
    [1, 50, 2_000].map((connections) => floodOf(kind, connections)),
  ),
  floodOf('silent', 5_200, 3),
  floodOf('silent', 5_200, 60),
  floodOf('events', 2_000),
  floodOf('wave', 4_000, 60),
];

/** @returns an attack for each kind of flood and each number of connections in `counts` */
export function floodsFrom(counts: readonly number[]): readonly Attack[] {
  return KINDS.flatMap((kind) => counts.map((connections) => floodOf(kind, connections)));
}

/** @param sources number of addresses from which the attack connects; by default one for every 50 connections */
function floodOf(kind: FloodKind, connections: number, sources?: number): Attack {
  const from = sources ?? Math.ceil(connections / CONNECTIONS_PER_SOURCE);
  const count = `${connections.toLocaleString('en')} connection${connections === 1 ? '' : 's'}`;
  return {
    name: `${NAMES[kind]}, on ${count}${sources === undefined ? '' : ` of ${sources} addresses`}`,
    generation: 3,
    isWatched: true,
    ...(kind === 'junk' && { prepare: registerGroup }),
    run: (arena, untilMs) => runFlood(arena, untilMs, kind, connections, from),
  };
}

async function runFlood(
  arena: Arena,
  untilMs: number,
  kind: FloodKind,
  connections: number,
  sources: number,
): Promise<void> {
  const { httpPort, wsPort } = arena.target.plan;
  const figures = await flooded({
    kind,
    port: kind === 'peerPort' ? wsPort : httpPort,
    sources: Array.from({ length: sources }, () => arena.newIp()),
    connections,
    durationMs: Math.max(500, untilMs - performance.now()),
    bodies: kind === 'junk' ? new Junk(arena).many(JUNK_BODIES).map((body) => JSON.stringify(body)) : [],
  });
  arena.remark = `closed ${figures.closed}`;
}

/** Starts a process that runs the flood. Resolves with the measurements that the process sends at the end. */
function flooded(flood: Flood): Promise<FloodFigures> {
  const child = fork(fileURLToPath(new URL('./http-flood.js', import.meta.url)), [], { execArgv: [] });
  child.send(flood);
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as FloodFigures));
    child.once('exit', (code) => reject(new Error(`the attacker ended with ${code}`)));
  });
}

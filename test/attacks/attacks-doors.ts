/**
 * Attacks with connections to the peer port: too many connections, connections from one address or one netgroup,
 * connections without a complete handshake, and connections of peers of other networks.
 */

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Arena } from './arena.ts';
import { BareSocket, type Presence } from './intruder.ts';
import type { Attack } from './measure.ts';

/** Largest number of inbound connections that a node of the devnet accepts. */
const INBOUND_MAX = 100;
/**
 * In the attack with plain HTTP: approximate number of bytes of HTTP requests on each connection. A single read of
 * Node.js returns at most this number of bytes.
 */
const PLAIN_BYTES = 65_536;
/**
 * In the attack with plain HTTP: pause of each of its two loops after a connection. Together, the two loops open at
 * most 40 connections per second.
 */
const PLAIN_INTERVAL_MS = 50;

export const DOOR_ATTACKS: readonly Attack[] = [
  {
    name: 'a flood of fake peers',
    async run(arena, untilMs) {
      let port = 1_024;
      await repeatInParallel(untilMs, 16, async () => {
        port = port >= 65_000 ? 1_024 : port + 1;
        await arena.peer({ query: arena.query(port) });
      });
      await atMostInbound(arena);
    },
  },
  {
    name: 'one IP with many ports',
    async run(arena, untilMs) {
      const ip = arena.newIp();
      let port = 20_000;
      await repeatInParallel(untilMs, 4, async () => {
        port += 1;
        if ((await arena.peer({ ip, query: arena.query(port) })).end !== undefined) await sleep(50);
      });
      await atMostInbound(arena);
    },
  },
  {
    name: 'eclipse from one netgroup',
    async run(arena, untilMs) {
      for (let filled = 0; filled < 2 * INBOUND_MAX; filled += 1) await arena.peer();
      while (performance.now() < untilMs) await arena.peer();
      await atMostInbound(arena);
    },
    async after(arena) {
      // While peers of one netgroup fill all inbound connections, a new peer of another netgroup must get a connection.
      // The node must not drop the new peer when more peers of the first netgroup connect.
      const newcomer = await arena.peer({ ip: '127.200.1.1', query: arena.query(5_001) });
      for (let more = 0; more < 20; more += 1) await arena.peer();
      await sleep(200);
      if (newcomer.end !== undefined) throw new Error('a newcomer of another netgroup was not kept');
    },
  },
  {
    name: 'slow handshakes',
    async run(arena, untilMs) {
      await repeatInParallel(untilMs, 8, async () => {
        await arena.intruder().opened();
        await sleep(5);
      });
      await letsIn(arena);
    },
  },
  {
    name: 'half-open sockets',
    async run(arena, untilMs) {
      const request = `GET ${arena.dialect.path}?wsPort=1 HTTP/1.1\r\nHost: x\r\n`;
      await repeatInParallel(untilMs, 8, async () => {
        const bytes = Math.random() < 0.5 ? '' : request;
        arena.intruders.push(new BareSocket('127.0.0.1', arena.wsPort, arena.newIp(), bytes));
        await sleep(5);
      });
      await letsIn(arena);
    },
  },
  {
    name: 'plain HTTP on the peer port',
    isWatched: true,
    async run(arena, untilMs) {
      const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
      const upgrade = `GET ${arena.dialect.path} HTTP/1.1\r\nHost: x\r\n`;
      const floods = [get, upgrade, `${upgrade}Connection: upgrade\r\nUpgrade: websocket\r\n\r\n`].map(
        (first) => first + get.repeat(Math.floor(PLAIN_BYTES / get.length)),
      );
      let opened = 0;
      const sockets: BareSocket[] = [];
      await repeatInParallel(untilMs, 2, async () => {
        const flood = floods[opened % floods.length] ?? '';
        opened += 1;
        const socket = new BareSocket('127.0.0.1', arena.wsPort, arena.newIp(), flood);
        arena.intruders.push(socket);
        sockets.push(socket);
        await sleep(PLAIN_INTERVAL_MS);
      });
      for (const socket of sockets) await mustEnd(socket, 'a connection with plain HTTP');
      await letsIn(arena);
    },
  },
  {
    name: 'peers of other networks',
    async run(arena, untilMs) {
      const foreign = 'ab'.repeat(32);
      const nodeInfo = { ...arena.info(), nethash: foreign, networkId: foreign };
      const query = { nethash: foreign, networkId: foreign, options: JSON.stringify(nodeInfo) };
      await repeatInParallel(untilMs, 4, async () => {
        await mustEnd(await arena.peer({ query }), 'a peer of another network');
      });
    },
  },
];

/** Runs `work` repeatedly in `lines` concurrent loops until `untilMs`. Each loop runs `work` at least once. */
export async function repeatInParallel(untilMs: number, lines: number, work: () => Promise<void>): Promise<void> {
  const line = async () => {
    do await work();
    while (performance.now() < untilMs);
  };
  await Promise.all(Array.from({ length: lines }, line));
}

/**
 * Waits until the node closes the connection of an attacker.
 *
 * @param insist commits the offence again; called every 500 ms until the connection ends. One offence may not be
 *   enough: the node ignores a message that comes too late or exceeds a rate limit.
 * @throws Error if the connection is still open after `END_MS_MAX`
 */
export async function mustEnd(peer: Presence, who: string, insist?: () => unknown): Promise<void> {
  const startedMs = performance.now();
  for (let insisted = 1; peer.end === undefined; await sleep(10)) {
    const passedMs = performance.now() - startedMs;
    if (passedMs > END_MS_MAX) throw new Error(`${who} was kept`);
    if (passedMs < insisted * INSIST_MS) continue;
    insisted += 1;
    await insist?.();
  }
}

/**
 * Maximum time in milliseconds for which `mustEnd` waits until the node closes the connection of an attacker. The limit
 * is long, because a node on a busy machine closes some connections much later than a node on an idle machine.
 */
const END_MS_MAX = 60_000;
const INSIST_MS = 500;

async function atMostInbound(arena: Arena): Promise<void> {
  const inbound = (await arena.verdicts()).filter(({ direction, verdict }) => {
    return verdict === 'connected' && direction === 'inbound';
  });
  if (inbound.length > INBOUND_MAX) throw new Error(`${inbound.length} inbound connections`);
}

/** Checks that a new honest peer gets a connection, even if connections of the attacker are still open. */
async function letsIn(arena: Arena): Promise<void> {
  const peer = await arena.peer({ ip: '127.201.1.1', query: arena.query(5_002) });
  if (peer.end !== undefined) throw new Error('an honest newcomer was not let in');
}

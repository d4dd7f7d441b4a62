/**
 * The attacker runs servers (liars) that the node dials. When the node asks for peers, a liar sends false entries.
 */

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocketServer, type WebSocket } from 'ws';
import { waitFor } from '../support/devnet.ts';
import type { Arena } from './arena.ts';
import { mustEnd } from './attacks-doors.ts';
import type { End, Presence } from './intruder.ts';
import type { Attack } from './measure.ts';

/** Number of entries in the list of each liar. 1,000 entries are allowed; 30,000 are far too many. */
const LENGTHS = [1_000, 1_000, 30_000, 30_000];
const ENTRIES_MAX = 1_000;
/**
 * Time until the node must have asked liars for peers. A node dials new peers in rounds, at intervals of ten seconds.
 * False entries may push a liar out of the peer book again and again, so one liar for each length of list is enough.
 */
const ASKED_MS_MAX = 120_000;
/**
 * The false entries of one list share a bucket of the peer book with the other liars, and may evict a liar. An evicted
 * liar connects again after this interval.
 */
const INTRODUCED_AGAIN_MS = 20_000;

export const PEER_LISTS_ATTACK: Attack = {
  name: 'peer lists with 1,000 and 30,000 false entries',
  async prepare(arena) {
    LIARS.set(arena, await Promise.all(LENGTHS.map((length) => Liar.open(arena, length))));
  },
  async run(arena, untilMs) {
    const liars = LIARS.get(arena) ?? [];
    const haveSent = async (): Promise<boolean> => {
      for (const liar of liars) if (!liar.hasSent) await liar.introduce(INTRODUCED_AGAIN_MS);
      return LENGTHS.every((length) => liars.some((liar) => liar.length === length && liar.hasSent));
    };
    await waitFor('the node asks for peers', haveSent, ASKED_MS_MAX);
    arena.intruders.push(...liars);
    await sleep(Math.max(0, untilMs - performance.now()));
    for (const liar of liars.filter(({ hasSent }) => hasSent)) {
      if (liar.length > ENTRIES_MAX) await mustEnd(liar, `a peer that sent a list of ${liar.length} others`);
      else if (liar.end !== undefined) throw new Error(`a list as it may be led to ${liar.end}`);
    }
  },
};

/** Ping interval of the servers of Lisk Core. */
const PING_MS = 8_000;

const LIARS = new WeakMap<Arena, readonly Liar[]>();

/** A server at an address that the node knows. */
class Liar implements Presence {
  readonly length: number;
  hasSent = false;
  readonly #arena: Arena;
  readonly #server: WebSocketServer;
  readonly #address: Address;
  #introducedMs = Number.NEGATIVE_INFINITY;
  #end: End | undefined;

  private constructor(arena: Arena, server: WebSocketServer, address: Address, length: number) {
    const { port } = address;
    this.length = length;
    this.#arena = arena;
    this.#server = server;
    this.#address = address;
    const peers = JSON.stringify(fakes(arena, length));
    const info = arena.dialect.packInfo(arena.info(port));
    server.on('connection', (webSocket) => this.#serve(webSocket, peers, info));
  }

  static async open(arena: Arena, length: number): Promise<Liar> {
    const ip = arena.newIp();
    const server = new WebSocketServer({ host: ip, port: 0, perMessageDeflate: false });
    await new Promise<void>((settle) => server.once('listening', () => settle()));
    const { port } = server.address() as { port: number };
    const liar = new Liar(arena, server, { ip, port }, length);
    arena.lasting.push(() => liar.close());
    await liar.introduce(0);
    return liar;
  }

  /** Connects as a peer and disconnects at once. Does nothing if the last introduction is less than `pauseMs` ago. */
  async introduce(pauseMs: number): Promise<void> {
    if (performance.now() - this.#introducedMs < pauseMs) return;
    this.#introducedMs = performance.now();
    const { ip, port } = this.#address;
    const introduction = await this.#arena.peer({ ip, query: this.#arena.query(port) });
    introduction.leave();
  }

  /** The end of the first connection over which the liar sent its list. */
  get end(): End | undefined {
    return this.#end;
  }

  /** Does nothing. The attack may run several times, but the node may dial this server only in the first run. */
  leave(): void {
    return undefined;
  }

  close(): void {
    for (const client of this.#server.clients) client.terminate();
    this.#server.close();
  }

  #serve(webSocket: WebSocket, peers: string, info: object): void {
    let farewell: number | undefined;
    // The connection must stay open until the node has dialled other liars. Without pings, it would last only 20 s.
    const pings = setInterval(() => webSocket.send('#1'), PING_MS).unref();
    webSocket.on('error', () => undefined);
    webSocket.on('close', (code) => {
      clearInterval(pings);
      if (this.hasSent) this.#end ??= farewell ?? code;
    });
    webSocket.on('message', (data) => {
      const text = (data as Buffer).toString();
      if (text === '#2') return;
      const { event, cid, data: payload } = JSON.parse(text) as Packet;
      if (event === '#disconnect') farewell = payload?.code;
      if (cid === undefined) return;
      const answer = (value: unknown): void => webSocket.send(JSON.stringify({ rid: cid, data: value }));
      if (event === '#handshake') answer({ id: 'x', pingTimeout: 20_000, isAuthenticated: false });
      else if (payload?.procedure === 'status' || payload?.procedure === 'getNodeInfo') answer({ data: info });
      else if (payload?.procedure === 'list' || payload?.procedure === 'getPeers') {
        this.hasSent = true;
        webSocket.send(`{"rid":${cid},"data":{"data":{"success":true,"peers":${peers}}}}`);
      }
    });
  }
}

interface Address {
  readonly ip: string;
  readonly port: number;
}

interface Packet {
  readonly event?: string;
  readonly cid?: number;
  readonly data?: { readonly procedure?: string; readonly code?: number };
}

function fakes(arena: Arena, length: number): readonly object[] {
  const { version } = arena.info();
  return Array.from({ length }, (_, index) => {
    const ip = `127.${210 + (index % 40)}.${(index >> 8) & 255}.${index & 255}`;
    return { ip, ipAddress: ip, wsPort: 1 + index, version, height: 9 };
  });
}

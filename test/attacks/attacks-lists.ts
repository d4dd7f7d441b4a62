/**
 * The attacker runs servers (liars) that the node dials. When the node asks a liar for its list of peers, the liar
 * sends a list of false addresses.
 */

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocketServer, type WebSocket } from 'ws';
import { waitFor } from '../support/devnet.ts';
import type { Arena } from './arena.ts';
import { mustEnd } from './attacks-doors.ts';
import type { End, Presence } from './intruder.ts';
import type { Attack } from './measure.ts';

/**
 * For each liar (a server of the attacker that sends a list of false peer addresses to the node), the number of entries
 * in its list. The node must close the connection of a liar whose list has more than `ENTRIES_MAX` entries.
 */
const LENGTHS = [1_000, 1_000, 30_000, 30_000];
const ENTRIES_MAX = 1_000;
/**
 * Each liar (a server of the attacker) sends a list of false peer addresses when the node asks for peers. `LENGTHS`
 * contains the lengths of these lists. Within this time, at least one liar of each length must have sent its list to
 * the node. The test does not wait for all liars, because it is possible that false addresses evict a liar from the
 * node's peer book again and again.
 */
const ASKED_MS_MAX = 120_000;
/**
 * A liar (a server of the attacker) sends a list of false peer addresses when the node asks for peers. A liar that has
 * not sent its list connects to the node again after this interval. All loopback addresses share one bucket of the
 * node's peer book, so it is possible that false addresses have evicted the liar from the peer book.
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

/**
 * Interval at which a liar (a server of the attacker that sends false peer addresses) sends pings to the node. A node
 * of Lisk Core sends pings at the same interval.
 */
const PING_MS = 8_000;

const LIARS = new WeakMap<Arena, readonly Liar[]>();

/** A server that sends false peer lists. The node dials the server, because the server connected to the node before. */
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

  /**
   * Connects to the node as a peer and disconnects immediately, so that the node knows the address of this server. Does
   * nothing if the previous such connection was less than `pauseMs` ago.
   */
  async introduce(pauseMs: number): Promise<void> {
    if (performance.now() - this.#introducedMs < pauseMs) return;
    this.#introducedMs = performance.now();
    const { ip, port } = this.#address;
    const introduction = await this.#arena.peer({ ip, query: this.#arena.query(port) });
    introduction.leave();
  }

  /**
   * How the node ended the connection over which this server sent its list of false peer addresses; undefined while the
   * connection is open.
   */
  get end(): End | undefined {
    return this.#end;
  }

  /**
   * Does nothing, so that the connection stays open for a later run of the attack. After a disconnection, the node
   * might never dial the server again.
   */
  leave(): void {
    return undefined;
  }

  close(): void {
    for (const client of this.#server.clients) client.terminate();
    this.#server.close();
  }

  #serve(webSocket: WebSocket, peers: string, info: object): void {
    let farewell: number | undefined;
    // The connection must stay open until the end of the attack's last run. Without pings, the node would close the
    // connection after 20 s.
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

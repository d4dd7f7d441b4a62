/** Functions for the tests of this folder. They start transports, open raw sockets to them, and wait for conditions. */

import { randomBytes, randomInt } from 'node:crypto';
import type { Socket } from 'node:net';

import { WebSocket } from 'ws';

import { gen3Dialect } from '../../src/p2p/dialect-gen3.ts';
import { createTransport, type ListeningTransport, type TransportOptions } from '../../src/p2p/transport.ts';
import type { Clock, Random } from '../../src/ports/clock.ts';
import type {
  CloseReason,
  Connection,
  NodeInfo,
  PeerOffenceCode,
  PeerId,
  PeerInfo,
  PeerMessage,
  PeerRequest,
  TransportHandlers,
} from '../../src/ports/transport.ts';

export const NETWORK = '9ee11e9df416b18bf69dbd1a920442e08c6ca319e69926bc843a561782ca17ee';
export const HOST = '127.0.0.1';

export const clock: Clock = {
  nowMs: () => Date.now(),
  after: (delayMs, work) => {
    const timer = setTimeout(work, delayMs);
    return {
      cancel: () => {
        clearTimeout(timer);
      },
    };
  },
};

/**
 * Returns a clock whose time changes only when the test calls `pass`. A time window of a rate limit therefore does not
 * end too early on a slow machine. The timers of the clock run in real time.
 */
export function handClock(): Clock & { pass(ms: number): void } {
  let nowMs = Date.now();
  return { nowMs: () => nowMs, after: clock.after, pass: (ms) => void (nowMs += ms) };
}

export const random: Random = {
  bytes: (count) => randomBytes(count),
  fraction: () => randomInt(2 ** 32) / 2 ** 32,
  below: (below) => randomInt(below),
};

export function nodeInfo(changes: Partial<NodeInfo> = {}): NodeInfo {
  return {
    os: 'linux4.15.0',
    version: '3.0.2',
    wsPort: 0,
    httpPort: 4000,
    protocolVersion: '2.0',
    nonce: randomBytes(8).toString('hex'),
    height: 1234,
    blockVersion: 2,
    maxHeightPrevoted: 1200,
    lastBlockId: '12345678901234567890',
    advertiseAddress: true,
    ...changes,
  };
}

/**
 * When the transport of a node under test calls a handler of the node, the node records the call here. The lists
 * contain the arguments of these calls.
 */
export interface Seen {
  connected: Connection[];
  disconnected: { peerId: PeerId; direction: string; reason: CloseReason }[];
  updated: { peerId: PeerId; info: PeerInfo }[];
  offences: { peerId: PeerId; offence: PeerOffenceCode; detail: string }[];
  messages: { peerId: PeerId; message: PeerMessage }[];
  requests: { peerId: PeerId; request: PeerRequest }[];
}

export interface TestNode {
  readonly transport: ListeningTransport;
  readonly seen: Seen;
  readonly address: { ip: string; wsPort: number };
  readonly id: PeerId;
  readonly info: NodeInfo;
}

/** Timeouts for tests that do not test timeouts. They are long, because a slow machine may pause for seconds. */
const LONG_TIMEOUTS = { dialMs: 30_000, requestMs: 60_000, handshakeMs: 600_000, leaveMs: 5_000 };

/** Starts a node that consists of only a transport, on a free loopback port. */
export async function startNode(
  handlers: Partial<TransportHandlers> = {},
  options: Partial<TransportOptions> & { networkIdentifier?: string; protocolVersion?: string } = {},
): Promise<TestNode> {
  const { networkIdentifier = NETWORK, protocolVersion = '2.0', ...rest } = options;
  const info = rest.info ?? nodeInfo({ protocolVersion });
  const transport = createTransport({
    dialect: gen3Dialect({ networkIdentifier, protocolVersion }),
    host: HOST,
    wsPort: 0,
    inboundMax: 100,
    clock,
    random,
    ...rest,
    timeouts: { ...LONG_TIMEOUTS, ...rest.timeouts },
    info,
  });
  const seen: Seen = { connected: [], disconnected: [], updated: [], offences: [], messages: [], requests: [] };
  await transport.start({
    answer: (peerId, request) => {
      seen.requests.push({ peerId, request });
      return Promise.resolve([]);
    },
    message: (peerId, message) => seen.messages.push({ peerId, message }),
    connected: (connection) => seen.connected.push(connection),
    disconnected: (peerId, direction, reason) => seen.disconnected.push({ peerId, direction, reason }),
    updated: (peerId, peerInfo) => seen.updated.push({ peerId, info: peerInfo }),
    offence: (peerId, offence, detail) => seen.offences.push({ peerId, offence, detail }),
    admits: () => true,
    evict: () => undefined,
    ...handlers,
  });
  const address = { ip: HOST, wsPort: transport.wsPort };
  return { transport, seen, address, id: `${HOST}:${String(address.wsPort)}`, info };
}

/**
 * Starts two nodes, lets `a` dial `b`, and returns both nodes in the order `a`, `b`. The parameters are the arguments
 * of `startNode` for each node.
 */
export async function pair(
  b: Parameters<typeof startNode> = [],
  a: Parameters<typeof startNode> = [],
): Promise<[TestNode, TestNode]> {
  const nodes: [TestNode, TestNode] = [await startNode(...a), await startNode(...b)];
  await nodes[0].transport.connect(nodes[1].address);
  await until(() => nodes[1].transport.connections().length === 1, 'b sees a');
  return nodes;
}

export async function closeAll(...nodes: readonly TestNode[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.transport.close()));
}

const POLL_MS = 5;

/**
 * Checks `condition` every 5 ms until it holds. The wait fails if `deadlineMs` has passed and the function has made a
 * minimum number of checks. The minimum is necessary, because time also passes while the machine is paused.
 */
export async function until(
  condition: () => boolean,
  what: string | (() => string),
  deadlineMs = 150_000,
): Promise<void> {
  const endMs = Date.now() + deadlineMs;
  const pollsMin = deadlineMs / POLL_MS / 10;
  for (let polls = 0; !condition(); polls += 1) {
    if (Date.now() > endMs && polls > pollsMin) {
      throw new Error(`never came true: ${typeof what === 'string' ? what : what()}`);
    }
    await pause(POLL_MS);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((settle) => setTimeout(settle, ms));
}

/** A client that connects to a node under test. The client can send any frame, also an invalid one. */
export interface RawPeer {
  readonly webSocket: WebSocket;
  /** The TCP connection of the WebSocket; undefined if the node did not accept the upgrade. */
  readonly socket: Socket | undefined;
  /**
   * All frames that the node has sent, except the heartbeats (`#1`) and the frames of the event `ping`. The client
   * answers the heartbeats and counts them in `heartbeats`.
   */
  readonly frames: string[];
  readonly heartbeats: () => number;
  /**
   * Stops the automatic answers to heartbeats. A test calls this function before it sends a message in several
   * fragments. An answer between two fragments would become a part of the message and end it.
   */
  mute(): void;
  readonly closed: () => { code: number; reason: string } | undefined;
  sendFrame(frame: unknown): void;
  /** Resolves with the parsed element of `frames` at this index, as soon as the node has sent it. */
  frame(index: number): Promise<unknown>;
}

export const SMALLEST_QUERY = `wsPort=5301&version=3.0.2&networkId=${NETWORK}&protocolVersion=2.0`;

export async function rawPeer(port: number, query = SMALLEST_QUERY, path = '/rpc/'): Promise<RawPeer> {
  const webSocket = new WebSocket(`ws://${HOST}:${String(port)}${path}?${query}`, { perMessageDeflate: false });
  const frames: string[] = [];
  let end: { code: number; reason: string } | undefined;
  let heartbeats = 0;
  let isMute = false;
  let hasSpoken = false;
  webSocket.on('message', (data) => {
    const text = (data as Buffer).toString();
    // If a test lasts long on a slow machine, the node sends a frame of the event `ping` to measure the round-trip
    // time.
    if (text.startsWith('{"event":"ping"')) return;
    if (text !== '#1') return void frames.push(text);
    heartbeats += 1;
    // If the process has paused, the first heartbeat may arrive before the client has sent its handshake. If the client
    // answered this heartbeat, the node would close the connection.
    if (hasSpoken && !isMute) webSocket.send('#2');
  });
  let socket: Socket | undefined;
  webSocket.once('upgrade', (response) => (socket = response.socket));
  webSocket.on('close', (code, reason) => (end = { code, reason: reason.toString() }));
  webSocket.on('error', () => undefined);
  await new Promise<void>((settle) => {
    webSocket.once('open', settle);
    webSocket.once('close', () => {
      settle();
    });
  });
  return {
    webSocket,
    socket,
    frames,
    heartbeats: () => heartbeats,
    mute: () => void (isMute = true),
    closed: () => end,
    sendFrame: (frame) => {
      hasSpoken = true;
      webSocket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
    },
    frame: async (index) => {
      await until(
        () => frames.length > index || end !== undefined,
        () => `frame ${String(index)} (state ${String(webSocket.readyState)}, has ${frames.join(' | ')})`,
      );
      if (frames.length <= index) throw new Error(`closed before frame ${String(index)}: ${JSON.stringify(end)}`);
      return JSON.parse(frames[index] ?? 'null') as unknown;
    },
  };
}

/** Connects a raw peer to the node at this port, and resolves after the handshake. */
export async function greetedPeer(port: number, query = SMALLEST_QUERY, path = '/rpc/'): Promise<RawPeer> {
  const peer = await rawPeer(port, query, path);
  peer.sendFrame({ event: '#handshake', data: { authToken: null }, cid: 1 });
  await peer.frame(1);
  return peer;
}

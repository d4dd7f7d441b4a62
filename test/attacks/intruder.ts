/** A client that may say anything, from any address of the loopback net, so that it is a stranger to every node. */

import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';
import { parseJson } from '../../src/p2p/packets.ts';

export interface IntruderOptions {
  readonly host: string;
  readonly port: number;
  /** Path and query of the upgrade. */
  readonly target: string;
  /** Address that it comes from. */
  readonly ip: string;
  /** Gives the answer to a call of the node; nothing is answered where it gives undefined. */
  readonly answers?: (procedure: string, data: unknown) => unknown;
}

/** How a connection ended: the code of a farewell or close frame, `refused` when it never opened. */
export type End = number | 'refused';

/** What an attacker has at the node. */
export interface Presence {
  /** Undefined while it is connected or connecting. */
  readonly end: End | undefined;
  leave(): void;
}

export class Intruder implements Presence {
  readonly ip: string;
  readonly #webSocket: WebSocket;
  /** The connection beneath; undefined before the upgrade. */
  #socket: Socket | undefined;
  readonly #answers: IntruderOptions['answers'];
  #calls = 1;
  #isOpen = false;
  #farewell: number | undefined;
  #end: End | undefined;

  constructor({ host, port, target, ip, answers }: IntruderOptions) {
    this.ip = ip;
    this.#answers = answers;
    const options = { localAddress: ip, perMessageDeflate: false, handshakeTimeout: 60_000 };
    this.#webSocket = new WebSocket(`ws://${host}:${port}${target}`, options);
    this.#webSocket.on('error', () => undefined);
    this.#webSocket.once('upgrade', ({ socket }) => (this.#socket = socket));
    this.#webSocket.on('open', () => (this.#isOpen = true));
    this.#webSocket.on('close', (code) => (this.#end ??= this.#isOpen ? (this.#farewell ?? code) : 'refused'));
    this.#webSocket.on('message', (data) => this.#heard((data as Buffer).toString()));
  }

  get end(): End | undefined {
    return this.#end;
  }

  /** Resolves when the upgrade is done, or failed. */
  opened(): Promise<boolean> {
    if (this.#isOpen || this.#end !== undefined) return Promise.resolve(this.#end === undefined);
    return new Promise((settle) => {
      this.#webSocket.once('open', () => settle(true));
      this.#webSocket.once('close', () => settle(false));
    });
  }

  /** Opens and shakes hands; resolves when the node has answered something or is gone. */
  async greet(): Promise<boolean> {
    if (!(await this.opened())) return false;
    const answered = new Promise<void>((settle) => {
      this.#webSocket.once('message', () => settle());
      this.#webSocket.once('close', () => settle());
    });
    this.say({ event: '#handshake', data: { authToken: null }, cid: 1 });
    await answered;
    return this.#end === undefined;
  }

  /** Sends anything: text and bytes as they are, the rest as JSON. */
  say(frame: unknown): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    const raw = typeof frame === 'string' || Buffer.isBuffer(frame);
    this.#webSocket.send(raw ? frame : JSON.stringify(frame), { binary: Buffer.isBuffer(frame) });
  }

  /** Asks the node something, without waiting for an answer. */
  ask(data: unknown): void {
    this.#calls += 1;
    this.say({ event: 'rpc-request', data, cid: this.#calls });
  }

  /** Writes to the connection beneath, whatever a WebSocket would have to say. */
  bytes(data: Buffer): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    this.#socket?.write(data);
  }

  /** What the node has not taken yet. */
  get unsentBytes(): number {
    return this.#webSocket.bufferedAmount;
  }

  control(kind: 'ping' | 'pong'): void {
    if (this.#webSocket.readyState === WebSocket.OPEN) this.#webSocket[kind]();
  }

  /** Reads nothing any more. */
  pause(): void {
    this.#webSocket.pause();
  }

  leave(): void {
    this.#webSocket.terminate();
  }

  #heard(text: string): void {
    if (text === '#1') this.say('#2');
    const frame = parseJson(text) as Untold | undefined;
    if (typeof frame !== 'object') return;
    if (frame.event === '#disconnect') this.#farewell = frame.data?.code;
    if (frame.event !== 'rpc-request' || frame.cid === undefined || this.#answers === undefined) return;
    const answer = this.#answers(String(frame.data?.procedure), frame.data?.data);
    if (answer !== undefined) this.say({ rid: frame.cid, data: answer });
  }
}

interface Untold {
  readonly event?: string;
  readonly cid?: number;
  readonly data?: { readonly code?: number; readonly procedure?: unknown; readonly data?: unknown };
}

/** A frame as a client writes it: a piece of a message, the first, the last or another one, masked with nothing. */
export function webSocketFrame(
  text: string,
  { isFirst = false, isLast = false, saidBytes = Buffer.byteLength(text) } = {},
): Buffer {
  const head = Buffer.alloc(14);
  head[0] = (isLast ? 0x80 : 0) | (isFirst ? 1 : 0);
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt(saidBytes), 2);
  return Buffer.concat([head, Buffer.from(text)]);
}

/** A bare TCP connection that may never say anything. */
export class BareSocket implements Presence {
  readonly #socket: Socket;
  #end: End | undefined;

  constructor(host: string, port: number, ip: string, bytes: string) {
    this.#socket = connect({ host, port, localAddress: ip });
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', () => (this.#end ??= 1006));
    if (bytes !== '') this.#socket.write(bytes);
  }

  get end(): End | undefined {
    return this.#end;
  }

  leave(): void {
    this.#socket.destroy();
  }
}

/**
 * A WebSocket client that can send any frame. Each client can connect from its own loopback address, which is unknown
 * to the nodes.
 */

import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';
import { parseJson } from '../../src/p2p/frame-validation.ts';

export interface IntruderOptions {
  readonly host: string;
  readonly port: number;
  /** Path and query of the upgrade request. */
  readonly target: string;
  /** Local address from which the client connects. */
  readonly ip: string;
  /**
   * Computes the client's answer to a request from the node. If the result is undefined, the client does not answer.
   */
  readonly answers?: (procedure: string, data: unknown) => unknown;
}

/**
 * How a connection ended. A number is the code of the node's `#disconnect` event. If the node sent no such event, the
 * number is the code of the node's close frame. If the node sent neither, the number is 1006. `refused` means that the
 * WebSocket never opened.
 */
export type End = number | 'refused';

/** A connection between an attacker and the node. */
export interface Presence {
  /** How the connection ended. Undefined while the connection is open or opening. */
  readonly end: End | undefined;
  leave(): void;
}

export class Intruder implements Presence {
  readonly ip: string;
  readonly #webSocket: WebSocket;
  /** The TCP socket below the WebSocket. Undefined before the upgrade. */
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

  /** Waits until the upgrade has succeeded or failed. @returns whether the connection is open */
  opened(): Promise<boolean> {
    if (this.#isOpen || this.#end !== undefined) return Promise.resolve(this.#end === undefined);
    return new Promise((settle) => {
      this.#webSocket.once('open', () => settle(true));
      this.#webSocket.once('close', () => settle(false));
    });
  }

  /**
   * Sends the event `#handshake` when the connection is open. Then waits for the first message from the node, or for
   * the end of the connection. @returns whether the connection is open
   */
  async greet(): Promise<boolean> {
    if (!(await this.opened())) return false;
    const answered = new Promise<void>((settle) => {
      this.#webSocket.once('message', () => settle());
      this.#webSocket.once('close', () => settle());
    });
    this.sendFrame({ event: '#handshake', data: { authToken: null }, cid: 1 });
    await answered;
    return this.#end === undefined;
  }

  /** Sends a frame: text and bytes unchanged, any other value as JSON. */
  sendFrame(frame: unknown): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    const raw = typeof frame === 'string' || Buffer.isBuffer(frame);
    this.#webSocket.send(raw ? frame : JSON.stringify(frame), { binary: Buffer.isBuffer(frame) });
  }

  /** Sends a request to the node without waiting for the answer. */
  ask(data: unknown): void {
    this.#calls += 1;
    this.sendFrame({ event: 'rpc-request', data, cid: this.#calls });
  }

  /** Writes raw bytes to the TCP socket, past the WebSocket library. */
  bytes(data: Buffer): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    this.#socket?.write(data);
  }

  /** Number of bytes that the client has queued but not yet written to the connection. */
  get unsentBytes(): number {
    return this.#webSocket.bufferedAmount;
  }

  control(kind: 'ping' | 'pong'): void {
    if (this.#webSocket.readyState === WebSocket.OPEN) this.#webSocket[kind]();
  }

  /** Stops reading from the connection. */
  pause(): void {
    this.#webSocket.pause();
  }

  leave(): void {
    this.#webSocket.terminate();
  }

  #heard(text: string): void {
    if (text === '#1') this.sendFrame('#2');
    const frame = parseJson(text) as ReceivedFrame | undefined;
    if (typeof frame !== 'object') return;
    if (frame.event === '#disconnect') this.#farewell = frame.data?.code;
    if (frame.event !== 'rpc-request' || frame.cid === undefined || this.#answers === undefined) return;
    const answer = this.#answers(String(frame.data?.procedure), frame.data?.data);
    if (answer !== undefined) this.sendFrame({ rid: frame.cid, data: answer });
  }
}

interface ReceivedFrame {
  readonly event?: string;
  readonly cid?: number;
  readonly data?: { readonly code?: number; readonly procedure?: unknown; readonly data?: unknown };
}

/**
 * Encodes a WebSocket frame of a client. The frame contains one fragment of a text message. By default, the fragment is
 * neither the first nor the last. The mask is zero.
 */
export function webSocketFrame(
  text: string,
  { isFirst = false, isLast = false, declaredBytes = Buffer.byteLength(text) } = {},
): Buffer {
  const head = Buffer.alloc(14);
  head[0] = (isLast ? 0x80 : 0) | (isFirst ? 1 : 0);
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt(declaredBytes), 2);
  return Buffer.concat([head, Buffer.from(text)]);
}

/** A TCP connection without WebSocket. Sends `bytes`; if this text is empty, sends nothing. */
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

/**
 * A switch between hosts, as a kernel without netem lacks one. Each host hands every frame of its network to this process over a
 * VXLAN tunnel; the frame is handed to the host that its address names after the delay of the two, or never, when they are cut
 * off from each other.
 */

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { writeTcpChecksum } from './tcp-checksum.ts';

const PORT = 4789;
/** Of VXLAN, before the frame. */
const HEADER_BYTES = 8;
const MAC_BYTES = 6;
/** Frames on their way between two hosts; more are dropped, as a switch does. */
const FRAMES_MAX = 4000;
/** So that frames are not dropped while this process is busy. */
const BUFFER_BYTES = 4 * 1024 * 1024;

/** Last part of the address of a host's network card; the others are the same for all. */
export function macOf(host: number): string {
  return `02:00:00:00:00:${host.toString(16).padStart(2, '0')}`;
}

/** Address of a host's end of its tunnel. The other end is that of `switchAddressOf`. */
export function tunnelAddressOf(host: number): string {
  return `10.77.${host}.2`;
}

export function switchAddressOf(host: number): string {
  return `10.77.${host}.1`;
}

export interface SwitchOptions {
  readonly hosts: number;
  /** One way, in milliseconds. */
  readonly delayMs: (from: number, to: number) => number;
}

export class DelaySwitch {
  readonly #socket: Socket;
  readonly #options: SwitchOptions;
  /** Group of each host during a cut; hosts of different groups cannot reach one another. */
  #groups: readonly number[] = [];
  readonly #underWay = new Map<number, number>();
  #isClosed = false;
  /** Frames that found no room. */
  dropped = 0;

  private constructor(socket: Socket, options: SwitchOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on('message', (packet, { address }) => this.#take(packet, Number(address.split('.')[2])));
    // What a host that is gone does not take.
    socket.on('error', () => undefined);
  }

  static async open(options: SwitchOptions): Promise<DelaySwitch> {
    const socket = createSocket('udp4');
    socket.bind(PORT);
    await once(socket, 'listening');
    socket.setRecvBufferSize(BUFFER_BYTES);
    socket.setSendBufferSize(BUFFER_BYTES);
    return new DelaySwitch(socket, options);
  }

  /** @param apart hosts that reach one another, and nobody else */
  cut(apart: readonly number[]): void {
    this.#groups = Array.from({ length: this.#options.hosts }, (_, host) => (apart.includes(host) ? 1 : 0));
  }

  heal(): void {
    this.#groups = [];
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.close();
  }

  #take(packet: Buffer, from: number): void {
    const mac = packet.subarray(HEADER_BYTES, HEADER_BYTES + MAC_BYTES);
    const to = mac[0] === 2 ? (mac[MAC_BYTES - 1] ?? from) : from;
    // Nothing is said to all: every host knows the addresses of the others.
    if (to === from || to >= this.#options.hosts || this.#groups[from] !== this.#groups[to]) return;
    const pair = from * this.#options.hosts + to;
    const underWay = this.#underWay.get(pair) ?? 0;
    if (underWay >= FRAMES_MAX) {
      this.dropped += 1;
      return;
    }
    this.#underWay.set(pair, underWay + 1);
    writeTcpChecksum(packet.subarray(HEADER_BYTES));
    // Timers of one delay come in their order.
    setTimeout(
      () => {
        this.#underWay.set(pair, (this.#underWay.get(pair) ?? 1) - 1);
        if (this.#isClosed || this.#groups[from] !== this.#groups[to]) return;
        this.#socket.send(packet, PORT, tunnelAddressOf(to), () => undefined);
      },
      this.#options.delayMs(from, to),
    );
  }
}

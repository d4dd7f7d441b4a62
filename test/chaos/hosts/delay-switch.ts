/**
 * A network switch with delays between the hosts, for kernels without netem. Each host sends every frame to this
 * process over a VXLAN tunnel. The switch waits for the delay between this host and the host of the destination
 * address, and then forwards the frame. The switch drops the frame if the two hosts are cut off from each other.
 */

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { writeTcpChecksum } from './tcp-checksum.ts';

const PORT = 4789;
/** Length of the VXLAN header before the frame. */
const HEADER_BYTES = 8;
const MAC_BYTES = 6;
/**
 * Maximum number of frames that the switch holds for one pair of hosts in one direction. Like a real switch, the switch
 * drops all frames above this limit.
 */
const FRAMES_MAX = 4000;
/** A large socket buffer, so that the kernel drops no frames while this process is busy. */
const BUFFER_BYTES = 4 * 1024 * 1024;

/** The MAC address of a host. Only the last byte differs between hosts. */
export function macOf(host: number): string {
  return `02:00:00:00:00:${host.toString(16).padStart(2, '0')}`;
}

/** Address of the host's end of the tunnel. `switchAddressOf` returns the address of the switch's end. */
export function tunnelAddressOf(host: number): string {
  return `10.77.${host}.2`;
}

export function switchAddressOf(host: number): string {
  return `10.77.${host}.1`;
}

export interface SwitchOptions {
  readonly hosts: number;
  /** One-way delay in milliseconds. */
  readonly delayMs: (from: number, to: number) => number;
}

export class DelaySwitch {
  readonly #socket: Socket;
  readonly #options: SwitchOptions;
  /** Group of each host during a cut. Hosts of different groups cannot reach each other. */
  #groups: readonly number[] = [];
  readonly #underWay = new Map<number, number>();
  #isClosed = false;
  /** Number of frames that the switch dropped because of `FRAMES_MAX`. */
  dropped = 0;

  private constructor(socket: Socket, options: SwitchOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on('message', (packet, { address }) => this.#take(packet, Number(address.split('.')[2])));
    // Sending to a stopped host fails; the switch ignores the error.
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

  /** @param apart hosts that can still reach each other, but not the other hosts */
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
    // The switch drops broadcasts and multicasts. No host needs ARP, because the neighbour table of each host contains
    // the MAC addresses of all other hosts.
    if (to === from || to >= this.#options.hosts || this.#groups[from] !== this.#groups[to]) return;
    const pair = from * this.#options.hosts + to;
    const underWay = this.#underWay.get(pair) ?? 0;
    if (underWay >= FRAMES_MAX) {
      this.dropped += 1;
      return;
    }
    this.#underWay.set(pair, underWay + 1);
    writeTcpChecksum(packet.subarray(HEADER_BYTES));
    // Timers with the same delay fire in the order in which they were set, so frames keep their order.
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

/**
 * Simulates the network between nodes on one machine, with connections that a test can cut. Each node listens on
 * `INNER_HOST`. For each node, a proxy listens on the same port of `OUTER_HOST`. All nodes dial `OUTER_HOST`. Therefore
 * every connection between two nodes passes through a proxy.
 */

import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** The address that all nodes dial. */
const OUTER_HOST = '127.0.0.1';
/**
 * The address on which nodes behind proxies listen. With a second loopback address, nodes and proxies can use the same
 * ports.
 */
export const INNER_HOST = '127.0.0.2';

/** Number of bytes at the start of an HTTP request in which a proxy searches for the dialler's listening port. */
const FIRST_BYTES_MAX = 4096;

/** A connection between two nodes. `ends` contains their listening ports. */
interface Wire {
  readonly dialler: Socket;
  readonly target: Socket;
  readonly ends: readonly [from: number, to: number];
}

export class LoopbackWires {
  readonly #servers: readonly Server[];
  readonly #wires = new Set<Wire>();
  readonly #sockets = new Set<Socket>();
  readonly #cut = new Set<number>();

  private constructor(servers: readonly Server[]) {
    this.#servers = servers;
  }

  /** @param ports listening ports of the nodes on `INNER_HOST` */
  static async open(ports: readonly number[]): Promise<LoopbackWires> {
    const servers = ports.map(() => createServer());
    const wires = new LoopbackWires(servers);
    for (const [index, port] of ports.entries()) {
      const server = servers[index]!;
      server.on('connection', (dialler) => wires.#accept(dialler, port));
      server.listen({ host: OUTER_HOST, port });
      await once(server, 'listening');
    }
    return wires;
  }

  /** Stops forwarding from and to the node with this port. The connections stay open, and both ends wait. */
  cut(port: number): void {
    this.#cut.add(port);
    for (const wire of this.#wires) this.#regulate(wire);
  }

  /**
   * Resumes forwarding between the node with this port and all nodes that are not cut. The proxies first forward the
   * bytes that they held back.
   */
  mend(port: number): void {
    this.#cut.delete(port);
    for (const wire of this.#wires) this.#regulate(wire);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#servers.map((server) => new Promise((done) => server.close(done))));
  }

  #accept(dialler: Socket, to: number): void {
    this.#keep(dialler);
    let first = Buffer.alloc(0);
    const read = (chunk: Buffer): void => {
      first = Buffer.concat([first, chunk]);
      const from = portOf(first.toString('latin1'));
      if (from === undefined && first.length < FIRST_BYTES_MAX) return;
      dialler.off('data', read).pause();
      this.#connect(dialler, first, [from ?? 0, to]);
    };
    dialler.on('data', read);
  }

  #connect(dialler: Socket, first: Buffer, ends: Wire['ends']): void {
    const target = connect({ host: INNER_HOST, port: ends[1], localAddress: OUTER_HOST });
    this.#keep(target);
    const wire: Wire = { dialler, target, ends };
    this.#wires.add(wire);
    dialler.unshift(first);
    const forward = (from: Socket, to: Socket): void => {
      from.on('data', (chunk) => to.write(chunk));
      from.on('end', () => to.end());
      from.on('close', () => {
        to.destroy();
        this.#wires.delete(wire);
      });
    };
    forward(dialler, target);
    forward(target, dialler);
    this.#regulate(wire);
  }

  #regulate({ dialler, target, ends }: Wire): void {
    const isCut = ends.some((port) => this.#cut.has(port));
    for (const socket of [dialler, target]) {
      if (isCut) socket.pause();
      else socket.resume();
    }
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    // After this `destroy`, the socket emits `close`, and the proxy then closes the other side of the connection too.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

/** Reads the listening port of a dialler from the path of its request. */
function portOf(request: string): number | undefined {
  const found = /[?&]wsPort=([0-9]+)/.exec(request) ?? /wsPort%22%3A([0-9]+)/.exec(request);
  return found === null ? undefined : Number(found[1]);
}

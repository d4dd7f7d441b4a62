/**
 * A proxy of one node, at the address that other nodes dial. The proxy forwards connections to the address on which its
 * node listens. It refuses connections from the nodes that a test has cut off from this node (`refuse`). The proxy
 * identifies the dialling node by the port in the upgrade request (`wsPort=...`). The proxy connects to its own node
 * from the address at which the proxy of the dialling node listens. So the nodes see only one address of each other
 * node, as if each node ran on its own machine.
 */

import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * Once it has received this number of bytes, the proxy no longer waits for the end of the first line of an upgrade
 * request.
 */
const REQUEST_LINE_BYTES_MAX = 64 * 1024;

export interface ProxiedNode {
  readonly wsPort: number;
  /** Loopback address that other nodes dial, and on which the proxy listens. */
  readonly ip: string;
  /** Address on which the node itself listens, with the same port as the proxy. */
  readonly bindIp: string;
}

export class PeerProxy {
  readonly #links = new Set<{ readonly from: number; readonly ends: readonly Socket[] }>();
  readonly #server: Server;
  readonly #node: ProxiedNode;
  readonly #ipOfPort: ReadonlyMap<number, string>;
  #refused: ReadonlySet<number> = new Set();

  private constructor(server: Server, node: ProxiedNode, ipOfPort: ReadonlyMap<number, string>) {
    this.#server = server;
    this.#node = node;
    this.#ipOfPort = ipOfPort;
  }

  /**
   * @param ipOfPort map from the `wsPort` that a node announces to the address at which the proxy of this node listens
   */
  static async open(node: ProxiedNode, ipOfPort: ReadonlyMap<number, string>): Promise<PeerProxy> {
    const server = createServer();
    const proxy = new PeerProxy(server, node, ipOfPort);
    server.on('connection', (incoming) => proxy.#admit(incoming));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(node.wsPort, node.ip, resolve);
    });
    return proxy;
  }

  /**
   * Closes the connections from the nodes that announce one of these ports as `wsPort`. Also refuses new connections
   * from these nodes until the next call of `refuse`.
   */
  refuse(ports: readonly number[]): void {
    this.#refused = new Set(ports);
    for (const { from, ends } of this.#links) {
      if (this.#refused.has(from)) for (const end of ends) end.destroy();
    }
  }

  close(): void {
    this.#server.close();
    for (const { ends } of this.#links) for (const end of ends) end.destroy();
  }

  #admit(incoming: Socket): void {
    let head = Buffer.alloc(0);
    incoming.on('error', () => incoming.destroy());
    const read = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      const line = head.toString('latin1').split('\r\n', 2);
      if (line.length < 2 && head.length < REQUEST_LINE_BYTES_MAX) return;
      incoming.off('data', read);
      incoming.pause();
      const from = Number(/[?&]wsPort=(\d+)/.exec(line[0] ?? '')?.[1]);
      const localAddress = this.#ipOfPort.get(from);
      if (localAddress === undefined || this.#refused.has(from)) incoming.destroy();
      else
        this.#join(incoming, connect({ port: this.#node.wsPort, host: this.#node.bindIp, localAddress }), head, from);
    };
    incoming.on('data', read);
  }

  #join(incoming: Socket, outgoing: Socket, head: Buffer, from: number): void {
    const link = { from, ends: [incoming, outgoing] };
    this.#links.add(link);
    outgoing.write(head);
    incoming.pipe(outgoing);
    outgoing.pipe(incoming);
    for (const end of link.ends) {
      end.on('error', () => undefined);
      end.once('close', () => {
        this.#links.delete(link);
        for (const each of link.ends) each.destroy();
      });
    }
  }
}

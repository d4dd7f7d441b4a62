/**
 * Clients of a node. Each client sends its requests one after the other, on its own connection. For each lost request,
 * the report names the process that had the connection, if the process is known.
 */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { Agent, get } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const TARGETS = [
  '/api/blocks?limit=20',
  '/api/transactions?limit=20&sort=amount:desc',
  '/api/accounts?limit=20&offset=7',
  '/api/delegates?limit=50&offset=3',
  '/api/node/status',
];
/** Pause between two requests of a client, so that the machine can do other work. */
const REST_MS = 5;

export interface LoadReport {
  readonly answered: number;
  /** Number of requests that failed because the process that had the connection was killed. */
  readonly ofKilled: number;
  /** Requests that got no answer or a status other than 200, without the failures that `ofKilled` counts. */
  readonly lost: readonly string[];
}

export class ReaderLoad {
  readonly #port: number;
  readonly #killed = new Set<number>();
  readonly #clients: readonly Promise<void>[];
  #isOver = false;
  #kills = 0;
  #isDying = false;
  #answered = 0;
  #ofKilled = 0;
  readonly #lost: string[] = [];

  /** @param readers returns the process ids of the readers that run now */
  constructor(port: number, clients: number, readers: () => readonly number[]) {
    this.#port = port;
    this.#clients = Array.from({ length: clients }, (_, index) => this.#run(index, readers));
  }

  /** The test calls this method before it kills a process. */
  killing(pid: number): void {
    this.#killed.add(pid);
    this.#kills += 1;
    this.#isDying = true;
  }

  /**
   * The test calls this method when the killed process is gone. Before the call, it is possible that the process still
   * accepts connections.
   */
  gone(): void {
    this.#isDying = false;
  }

  async end(): Promise<LoadReport> {
    this.#isOver = true;
    await Promise.all(this.#clients);
    return { answered: this.#answered, ofKilled: this.#ofKilled, lost: this.#lost };
  }

  async #run(index: number, readers: () => readonly number[]): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const owners = new WeakMap<Socket, number>();
    /** For each connection, the number of killed processes that were gone before the connection was opened. */
    const openedAfter = new WeakMap<Socket, number>();
    for (let turn = index; !this.#isOver; turn += 1) {
      const target = TARGETS[turn % TARGETS.length] ?? '';
      const killsBefore = this.#isDying ? this.#kills - 1 : this.#kills;
      const { status, socket, error } = await ask(agent, this.#port, target);
      const known = socket && owners.get(socket);
      if (socket !== undefined && !openedAfter.has(socket)) openedAfter.set(socket, killsBefore);
      // `ownerOf` searches for the owner of a connection after the first answer on this connection. If the test kills
      // the owner before this search, the owner stays unknown. A failed request on a connection with an unknown owner
      // counts in `ofKilled` if the test has killed a process since the connection was opened. Otherwise, the request
      // counts in `lost`.
      const opened = (socket && openedAfter.get(socket)) ?? killsBefore;
      if (status === 200) {
        this.#answered += 1;
        if (socket !== undefined && known === undefined) {
          const owner = ownerOf(socket.localPort ?? 0, this.#port, readers());
          if (owner !== undefined) owners.set(socket, owner);
        }
      } else if (known === undefined ? this.#kills > opened : this.#killed.has(known)) this.#ofKilled += 1;
      else this.#lost.push(`${target} of ${known ?? 'a new connection'}: ${status ?? String(error)}`);
      await sleep(REST_MS);
    }
    agent.destroy();
  }
}

interface RequestResult {
  readonly status?: number;
  readonly error?: Error;
  readonly socket?: Socket;
}

function ask(agent: Agent, port: number, path: string): Promise<RequestResult> {
  return new Promise((resolve) => {
    const request = get({ agent, port, path, host: '127.0.0.1' }, (response) => {
      const { socket } = response;
      response.on('error', (error) => resolve({ error, socket }));
      response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, socket }));
    });
    request.on('error', (error) => resolve({ error, ...(request.socket === null ? {} : { socket: request.socket }) }));
  });
}

/** Finds the process that has the server end of a local connection. */
function ownerOf(clientPort: number, serverPort: number, pids: readonly number[]): number | undefined {
  const portText = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');
  const ends = `0100007F:${portText(serverPort)} 0100007F:${portText(clientPort)}`;
  const line = readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .find((each) => each.includes(ends));
  const inode = line?.trim().split(/\s+/)[9];
  if (inode === undefined) return undefined;
  return pids.find((pid) => {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`);
    } catch {
      return false;
    }
  });
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

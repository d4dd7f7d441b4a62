/**
 * Controls all incoming HTTP connections before the application sees them. The admission decides which connections are
 * accepted, and passes the requests of each connection to the application one at a time. The admission reserves a tenth
 * of the connections for trusted clients (`createTrust`). All other clients are strangers. The admission limits the
 * memory that strangers occupy, the share of the main thread's time that strangers use, and the duration of each phase
 * of a connection. If a stranger gets many refusals within a short time, the admission shuts out the stranger's
 * address. This means that the admission closes all connections of the address, and refuses new connections of the
 * address for some seconds.
 *
 * The admission does not depend on routes or on global state: the server passes the clock, the limits and the observer
 * to the admission.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WorkShare } from '../../primitives/work-share.ts';
import type { Observer } from '../../ports/observer.ts';
import type { MonotonicClock } from '../monotonic-clock.ts';
import { Buffers } from './buffers.ts';
import { clientKey } from './client-address.ts';
import { ClientConnection, type ConnectionHost } from './client-connection.ts';
import { Connections } from './connections.ts';
import { ACCEPT_MS, LINGERING_MAX, SWEEP_MS, type AdmissionLimits } from './limits.ts';
import { AddressRecords } from './address-records.ts';
import { RefusalCounter, type RefusalReason } from './refusals.ts';
import { tooManyConnectionsAnswer } from './refused-answers.ts';
import type { SharedLimits, SharedRefusalReason } from './shared-limits.ts';
import { FairScheduler } from './fair-scheduler.ts';

/** Reason to close a new connection. */
type ConnectionRefusalReason = SharedRefusalReason | 'uncounted';

/**
 * Longest normal time, in milliseconds, from one check of all connections' time limits to the next check. A longer time
 * shows that the process was suspended or blocked.
 */
const SUSPENDED_MS = 2 * SWEEP_MS;

/**
 * If strangers have their maximum number of connections, a stranger's new connection waits until an older connection
 * closes. The list contains the lengths of the successive waits, in milliseconds. One process counts the connections of
 * all processes that answer HTTP. If the maximum is reached, the counting process can ask one of these processes to
 * close an idle connection. After each wait, this process asks the counting process again whether the new connection
 * can stay. The waits are short, because a process that is not busy closes the idle connection within a few
 * milliseconds.
 */
const ROOM_WAITS_MS = [20, 100];

export interface AdmissionOptions {
  readonly clock: MonotonicClock;
  readonly limits: AdmissionLimits;
  readonly observer: Observer;
  /** Limits the share of main-thread time for strangers; default: an object that only this admission uses. */
  readonly workShare?: WorkShare | undefined;
  /**
   * The limits that apply to all reading processes together. Undefined if the node has no reading processes (separate
   * processes for HTTP requests, see `http.processes`), so that the process of the node itself answers HTTP requests.
   */
  readonly shared?: SharedLimits | undefined;
  /** Headers of the answers to refused connections, as alternating names and values. */
  readonly refusalHeaders: readonly string[];
  /**
   * True for clients that are allowed to use the reserved connections. `createTrust` decides which clients these are.
   */
  isTrusted(address: string): boolean;
}

export class Admission implements ConnectionHost {
  readonly clock: MonotonicClock;
  readonly scheduler: FairScheduler;
  readonly buffers: Buffers;
  readonly headersTimeoutMs: number;
  readonly #options: AdmissionOptions;
  readonly #connections: Connections<ClientConnection>;
  readonly #addresses: AddressRecords;
  readonly #refusals: RefusalCounter;
  /** Strangers' connections on which the node has sent its last answer, and now discards further input. */
  readonly #lingering = new Set<ClientConnection>();
  readonly #bySocket = new WeakMap<Socket, ClientConnection>();
  /**
   * Answers to refused connections, by the reason of the refusal. In three cases, a refused connection gets no answer:
   * the reason has no entry in this map, the connection uses TLS, or many tasks of strangers wait
   * (`FairScheduler.isPressed`).
   */
  readonly #fullAnswers: Readonly<Partial<Record<RefusalReason, Buffer>>>;
  #sweptMs: number;
  #isClosed = false;

  constructor(options: AdmissionOptions) {
    const { clock, limits, observer, refusalHeaders } = options;
    this.#options = options;
    this.clock = clock;
    this.scheduler = new FairScheduler({ clock, share: options.workShare ?? new WorkShare({ clock }) });
    this.buffers = new Buffers(limits.bufferBytesMax);
    this.headersTimeoutMs = limits.headersTimeoutMs;
    this.#connections = new Connections(limits);
    this.#addresses = new AddressRecords(clock, limits.arrivalsPerAddressMax);
    this.#refusals = new RefusalCounter(observer, clock);
    this.#sweptMs = clock.nowMs();
    const ofAddress = `at most ${limits.connectionsPerAddressMax} of one address (http.connectionsPerAddressMax)`;
    const answer = (message: string): Buffer => tooManyConnectionsAnswer(message, refusalHeaders);
    this.#fullAnswers = {
      address_connections: answer(`Too many connections: ${ofAddress}.`),
      connections: answer('Too many connections: the node serves no more at once.'),
      uncounted: answer('The node is busy: try again later.'),
    };
    options.shared?.listen({
      shutOut: (key) => {
        this.#addresses.shutOut(key);
        this.#closeAll(key);
      },
      full: (isFull) => {
        this.#connections.isFullInTotal = isFull;
      },
      makeRoom: (key) => this.#connections.closeIdleOf(key),
    });
    this.#sweepLater();
  }

  /**
   * Handles an accepted connection.
   *
   * @param isPlaintext true when the client can read an answer without TLS
   * @param admitted called when the connection is allowed to stay. If there are shared limits and the client is a
   *   stranger, the call comes after the counting process has allowed the connection (the counting process is the
   *   process of the node, which counts the connections of all reading processes). Otherwise, the call comes
   *   immediately
   */
  accept(socket: Socket, isPlaintext: boolean, admitted: (connection: ClientConnection) => void): void {
    const address = socket.remoteAddress;
    if (address === undefined || this.#isClosed) return void socket.destroy();
    const isTrusted = this.#options.isTrusted(address);
    this.scheduler.accepted();
    if (!isTrusted) this.scheduler.spend(ACCEPT_MS);
    const key = isTrusted ? `trusted ${address}` : clientKey(address);
    const reason =
      (isTrusted ? undefined : this.#addresses.arrive(key)) ?? this.#connections.refusalReason(key, isTrusted);
    if (reason !== undefined) return this.#turnAway(socket, reason, isPlaintext);
    const connection = new ClientConnection(socket, key, isTrusted, this);
    this.#connections.add(connection);
    this.#bySocket.set(socket, connection);
    socket.on('close', () => {
      this.#connections.delete(connection);
      this.#lingering.delete(connection);
      connection.closed();
    });
    const { shared } = this.#options;
    if (shared === undefined) return admitted(connection);
    if (isTrusted) {
      shared.trustedCame();
      socket.on('close', () => shared.trustedLeft());
      admitted(connection);
    } else void this.#acceptTogether(shared, socket, connection, { isPlaintext, admitted });
  }

  /**
   * Asks the counting process (the process of the node, which counts the connections of all reading processes) whether
   * the connection is allowed to stay. Until the answer comes, this process reads nothing from the connection.
   */
  async #acceptTogether(
    shared: SharedLimits,
    socket: Socket,
    connection: ClientConnection,
    { isPlaintext, admitted }: { isPlaintext: boolean; admitted: (connection: ClientConnection) => void },
  ): Promise<void> {
    const { key } = connection;
    const ask = async (): Promise<ConnectionRefusalReason | undefined> => {
      // If the process of the node, which counts the connections of all reading processes, does not answer, this
      // process refuses the connection. This process does not know the number of all connections, so it cannot decide
      // whether there is room for the new connection.
      const found = await shared.arrive(key).catch(() => 'uncounted' as const);
      if (found === undefined && socket.destroyed) shared.left(key);
      else if (found === undefined) socket.once('close', () => shared.left(key));
      return found;
    };
    let reason = await ask();
    for (const waitMs of ROOM_WAITS_MS) {
      if (reason !== 'connections' || socket.destroyed) break;
      // The node's own process, which counts the connections of all reading processes, has possibly asked one of them
      // to close an idle connection. The wait gives the asked process time to do so.
      await new Promise<void>((resolve) => this.clock.after(waitMs, resolve));
      if (!socket.destroyed && !this.#isClosed) reason = await ask();
    }
    if (socket.destroyed) return;
    if (reason === undefined) return connection.contain(() => admitted(connection));
    if (reason === 'shut_out') this.#addresses.shutOut(key);
    this.#turnAway(socket, reason, isPlaintext);
  }

  #turnAway(socket: Socket, reason: ConnectionRefusalReason, isPlaintext: boolean): void {
    this.#refusals.count(reason);
    const answer = isPlaintext && !this.scheduler.isPressed ? this.#fullAnswers[reason] : undefined;
    if (answer === undefined) socket.destroy();
    else closeWith(socket, answer);
  }

  /** Records to which connection a TLS socket belongs, so that `of` finds the connection. */
  bind(socket: Socket, connection: ClientConnection): void {
    this.#bySocket.set(socket, connection);
  }

  /** Returns the connection of an accepted socket. */
  of(socket: Socket): ClientConnection | undefined {
    return this.#bySocket.get(socket);
  }

  mayLinger(connection: ClientConnection): boolean {
    if (connection.isTrusted) return true;
    if (this.scheduler.isPressed || this.#lingering.size >= LINGERING_MAX) return false;
    this.#lingering.add(connection);
    return true;
  }

  /** Counts a refusal of the request. The caller sends the answer. */
  refuse(request: IncomingMessage, reason: RefusalReason): void {
    const connection = this.of(request.socket);
    if (connection === undefined) this.#refusals.count(reason);
    else this.refused(connection, reason);
  }

  refused(connection: ClientConnection, reason: RefusalReason): void {
    this.#refusals.count(reason);
    if (connection.isTrusted) return;
    this.#options.shared?.refused(connection.key);
    if (this.#addresses.refuse(connection.key)) this.#closeAll(connection.key);
  }

  refuseAndShutOut(connection: ClientConnection, reason: RefusalReason): void {
    this.#refusals.count(reason);
    if (connection.isTrusted) return;
    this.#options.shared?.shutOut(connection.key);
    this.#addresses.shutOut(connection.key);
    this.#closeAll(connection.key);
  }

  failed(connection: ClientConnection, error: unknown): void {
    this.#refusals.fail(error);
    this.refused(connection, 'failed');
  }

  /** Closes idle connections, and accepts no more connections. */
  closeIdle(): void {
    this.#isClosed = true;
    for (const connection of this.#connections.all()) if (connection.isIdle) connection.destroy();
  }

  /** Closes all connections. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#connections.all()) connection.destroy();
    this.#report();
  }

  #closeAll(key: string): void {
    for (const connection of this.#connections.of(key)) {
      this.#refusals.count('shut_out');
      connection.destroy();
    }
  }

  #sweepLater(): void {
    this.clock.after(SWEEP_MS, () => {
      if (this.#isClosed) return;
      const nowMs = this.clock.nowMs();
      // If the process was suspended or blocked, it must read the waiting input before it checks time limits.
      // Otherwise, the process would close connections because of its own delay.
      const wasSuspended = nowMs - this.#sweptMs > SUSPENDED_MS;
      this.#sweptMs = nowMs;
      if (!wasSuspended) for (const connection of this.#connections.all()) connection.checkTime(nowMs);
      this.#report();
      this.#sweepLater();
    });
  }

  #report(): void {
    const { observer } = this.#options;
    this.#refusals.report();
    observer.gauge('http_connections', this.#connections.strangers, { client: 'stranger' });
    observer.gauge('http_connections', this.#connections.size - this.#connections.strangers, { client: 'trusted' });
    observer.gauge('http_buffered_bytes', this.buffers.bytes);
  }
}

/**
 * Sends an answer and closes the connection. If the client has already sent data, the operating system can reset the
 * connection. Even then, most clients still read the answer.
 */
function closeWith(socket: Socket, answer: Buffer): void {
  socket.on('error', () => socket.destroy());
  socket.write(answer, () => socket.destroy());
}

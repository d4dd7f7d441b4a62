/**
 * The main module of a reader: a process that answers HTTP beside the node. A reader has no keys and no journals of the
 * node, and does not change the chain. The reader reads the chain from the store, and asks the node for all other data
 * over the channel between the processes. The reader ends when the node ends.
 */

import { createHttpServer, type HttpServer } from '../../http/http-server.ts';
import type { ListeningSocket } from '../../http/listening-socket.ts';
import { ChainReader } from '../../store/chain/reader.ts';
import { codeOf } from '../../primitives/errors.ts';
import type { ReceivedTime } from '../../ports/node-api.ts';
import type { ChainParams } from '../../protocol/params.ts';
import type { Rules } from '../../protocol/rules.ts';
import { systemClock } from '../system.ts';
import { ownMemoryBytes } from '../watchdog/process-memory.ts';
import { failedOutcome, type FromReader, type ReaderSettings, type SocketName, type ToReader } from './messages.ts';
import { LimitClient } from './limit-client.ts';
import { NodeRpcClient } from './node-rpc-client.ts';
import { createReaderApi, type ReaderApi } from './reader-api.ts';
import { ReaderObserver } from './reader-observer.ts';

/** Interval in milliseconds at which the reader sends its log lines and metrics to the node. */
const REPORT_MS = 200;

/**
 * The node sends a message to each ready reader about every 250 ms. If the reader has handled no message for
 * `QUIET_MS_MAX` milliseconds, it probably got no processor time. Then there are possibly new blocks about which the
 * reader does not know yet. The messages about these blocks can wait behind HTTP requests, or in the node until the
 * reader has confirmed an earlier update. At the next message or HTTP request, the reader therefore looks for new
 * blocks in the store itself.
 */
const QUIET_MS_MAX = 500;

/** Time between two attempts to open a store whose indexes lag, in milliseconds. */
const BEHIND_RETRY_MS = 200;

/**
 * Opens the store of the node. While the node downloads many blocks, the indexes of the store can lag behind the chain.
 * This function then waits until the indexes are complete. The node completes the indexes within about a second after
 * it knows that a reader starts.
 *
 * @throws ProtocolError in the same cases as `openChainSnapshot`
 */
async function openComplete(
  options: ConstructorParameters<typeof ChainReader>[0],
  send: (message: FromReader) => void,
): Promise<ChainReader> {
  for (;;) {
    try {
      return new ChainReader(options, systemClock);
    } catch (error) {
      if (codeOf(error) !== 'STORE_BEHIND') throw error;
    }
    send({ kind: 'waiting' });
    await new Promise<void>((resolve) => systemClock.after(BEHIND_RETRY_MS, resolve));
  }
}

/**
 * Answers HTTP requests until the process ends.
 *
 * @param rulesOf creates the rules of a network
 */
export function runReader(rulesOf: (params: ChainParams) => Rules): void {
  // A terminal sends SIGINT, SIGHUP and SIGQUIT to the whole process group, and systemd sends SIGTERM to all processes
  // of a service. The reader ignores these signals, because the node ends its readers itself.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => undefined);
  process.on('disconnect', () => process.exit(0));
  // If the node ended while this program was still loading, `process` emits no `disconnect`.
  if (!process.connected) process.exit(0);

  const send = (message: FromReader, socket?: ListeningSocket): void => {
    if (process.connected) process.send?.(message, socket, undefined, () => undefined);
  };
  const channel = new NodeRpcClient(send, systemClock);
  const shared = new LimitClient(send, systemClock);
  const observer = new ReaderObserver();
  let reader: ChainReader | undefined;
  let http: HttpServer | undefined;
  let node: ReaderApi | undefined;
  let isReportTaken = true;
  let heardMs = performance.now();
  /** Listening sockets from the node. The first reader gets none, and opens the sockets for all readers. */
  const given: Partial<Record<SocketName, ListeningSocket>> = {};

  const open = async (
    { directory, params, identity, http: options }: ReaderSettings,
    times: readonly ReceivedTime[],
  ): Promise<void> => {
    try {
      const rules = rulesOf(params);
      reader = await openComplete({ directory, codec: rules.codec, params }, send);
      node = createReaderApi({ rules, identity, reader, channel });
      http = createHttpServer(node.api, {
        ...options,
        observer,
        shared,
        listenOn: given,
        beforeRequest: refreshIfQuiet,
      });
      const ports = await http.start();
      const { plain, tls } = http.sockets();
      if (given.plain === undefined) send({ kind: 'socket', name: 'plain' }, plain);
      if (given.tls === undefined && tls !== undefined) send({ kind: 'socket', name: 'tls' }, tls);
      // The node has possibly applied further blocks since the reader opened the store. This call makes these blocks
      // visible to the reader.
      node.applyUpdate({ chain: true, times, received: [] });
      send({ kind: 'ready', ...ports });
    } catch (error) {
      send({ kind: 'failed', outcome: failedOutcome(error) });
    }
  };

  const refreshIfQuiet = (): void => {
    const nowMs = performance.now();
    if (nowMs - heardMs <= QUIET_MS_MAX) return;
    heardMs = nowMs;
    node?.api.refresh?.();
  };

  const sendReport = (): void => {
    // If the node is killed before it acknowledges a listening socket, `process` emits no `disconnect`. The reader
    // therefore also checks here whether the node is still connected.
    if (!process.connected) process.exit(0);
    const report = isReportTaken ? observer.take() : undefined;
    if (report === undefined) return;
    isReportTaken = false;
    send({ kind: 'report', report });
  };

  const close = async (): Promise<void> => {
    await http?.close();
    sendReport();
    await reader?.close();
    process.exit(0);
  };

  process.on('message', (message: ToReader, socket: ListeningSocket | undefined) => {
    refreshIfQuiet();
    heardMs = performance.now();
    switch (message.kind) {
      case 'socket':
        if (socket !== undefined) given[message.name] = socket;
        return undefined;
      case 'open':
        return void open(message.settings, message.times);
      case 'update':
        node?.applyUpdate(message);
        return send({ kind: 'taken' });
      case 'answers':
        return channel.answered(message.outcomes);
      case 'done':
        return channel.done(message.id, message.outcome);
      case 'limits':
        return shared.answered(message.answers);
      case 'shutOut':
      case 'full':
      case 'makeRoom':
        return shared.receive(message);
      case 'ping':
        return send({ kind: 'pong', memoryBytes: ownMemoryBytes(), requests: http?.requestCount() ?? 0 });
      case 'reportTaken':
        isReportTaken = true;
        return undefined;
      case 'sweep':
        reader?.clearStale();
        return undefined;
      case 'drain':
        return void http?.drain().then(close);
      case 'close':
        return void close();
    }
  });
  setInterval(sendReport, REPORT_MS);
  send({ kind: 'loaded' });
}

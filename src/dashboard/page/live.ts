/**
 * Holds the state of the node for the whole dashboard, and keeps the state up to date. At the start, and after a gap in
 * the node's event stream (`/api/events`), `Live` requests the whole state. `Live` then applies the events of this
 * stream. For some parts of the state, the node sends no events: consensus, the heights of peers, diagnostics, pauses
 * of forging, and the status of other nodes on this machine. `Live` requests these parts every 3 s while the dashboard
 * is visible.
 */

import type {
  Block,
  Constants,
  Diagnostic,
  Delegate,
  Forger,
  ForgingDelegate,
  Peer,
  Status,
  Transaction,
} from '../answers.ts';
import { isConnected } from '../answers.ts';
import { hasGap, withAnswered, withApplied } from '../block-list.ts';
import { smoothedLag, smoothedPercent, withSample, type Sample } from '../smoothing.ts';
import { ask, askIfAllowed, AskFailed } from './api-requests.ts';

export interface NodeRow {
  readonly origin: string;
  readonly port: number;
  /**
   * Last status of the node in this row. The row of the dashboard's own node keeps the last status if that node does
   * not answer. If any other node does not answer, `status` in its row is undefined.
   */
  readonly status: Status | undefined;
  /** Percentage of peers that have the tip of the node, from `smoothedPercent`; undefined if `status` is undefined. */
  readonly consensus: number | undefined;
}

export interface LiveState {
  readonly connection: 'connecting' | 'live' | 'lost';
  /**
   * Time at which the last status of the node arrived, by the browser's clock, as Unix time in milliseconds; undefined
   * before the first status.
   */
  readonly heardAtMs: number | undefined;
  readonly status: Status | undefined;
  readonly constants: Constants | undefined;
  /**
   * The latest blocks, newest first. With 101 delegates, the list contains all blocks of the present round, and most
   * blocks of the round before the present round.
   */
  readonly blocks: readonly Block[];
  readonly forgers: readonly Forger[];
  /**
   * Names of delegates, by public key. The map keeps the names from all answers since the dashboard was opened. The
   * answers contain two groups of delegates: the delegates that forge in the present round of the network, and the
   * first 101 delegates by rank (generation 2) or by vote weight (generation 3).
   */
  readonly names: ReadonlyMap<string, string>;
  readonly peers: readonly Peer[];
  /**
   * The delegates of this node; undefined before the first answer, and if the node does not allow this browser to read
   * the list. `diagnostics` is undefined under the same conditions.
   */
  readonly forging: readonly ForgingDelegate[] | undefined;
  readonly diagnostics: readonly Diagnostic[] | undefined;
  /** Transactions that recently entered the pool, newest first. */
  readonly arrivals: readonly Transaction[];
  /** Percentage of peers that have the tip of the node, from `smoothedPercent`. */
  readonly consensus: number | undefined;
  /** Number of blocks by which the node is behind its peers, from `smoothedLag`; 0 if the node is not behind. */
  readonly lag: number;
  /** This node and its peers on the same machine. */
  readonly nodes: readonly NodeRow[];
  /** The node's clock minus the browser's clock, in milliseconds. */
  readonly clockAheadMs: number;
  readonly blockTimeS: number;
}

const EMPTY: LiveState = {
  connection: 'connecting',
  heardAtMs: undefined,
  status: undefined,
  constants: undefined,
  blocks: [],
  forgers: [],
  names: new Map(),
  peers: [],
  forging: undefined,
  diagnostics: undefined,
  arrivals: [],
  consensus: undefined,
  lag: 0,
  nodes: [],
  clockAheadMs: 0,
  blockTimeS: 10,
};

const PAGE_BLOCKS = 100;
const ARRIVALS_MAX = 20;
const POLL_MS = 3000;
const RETRY_MS = 3000;
/** HTTP statuses of failed polls after which `connection` becomes `lost`; undefined stands for no answer. */
const LOST_STATUSES: ReadonlySet<number | undefined> = new Set([undefined, 503]);

type Listener = () => void;

export class Live {
  #state: LiveState = EMPTY;
  readonly #listeners = new Set<Listener>();
  #events: EventSource | undefined;
  /**
   * Samples of the consensus and the lag of each node. The key is the origin (scheme, host and port) of the node's HTTP
   * interface.
   */
  readonly #samples = new Map<string, readonly Sample[]>();
  #isLoading = false;
  #isPolling = false;
  /** Origins (scheme, host and port) of the nodes from which `#loadRow` still waits for an answer. */
  readonly #askedNodes = new Set<string>();
  #isFilling = false;

  get state(): LiveState {
    return this.#state;
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(): void {
    void this.#load();
    setInterval(() => void this.#poll(), POLL_MS);
    // While the dashboard is in the background, it does not poll the node. When the dashboard becomes visible again, it
    // polls immediately.
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) void this.#poll();
    });
  }

  #set(change: Partial<LiveState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }

  async #load(): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    try {
      const [constants, blocks, peers] = await Promise.all([
        ask<Constants>('node/constants'),
        latestBlocks(),
        ask<Peer[]>('peers?limit=100'),
        this.#loadForging(),
      ]);
      this.#set({ constants: constants.data, blockTimeS: constants.data.blockTime, blocks, peers: peers.data });
      await this.#loadStatus();
      await Promise.all([this.#loadForgers(), this.#loadDiagnostics()]);
      this.#follow();
    } catch {
      this.#set({ connection: 'lost' });
      setTimeout(() => void this.#load(), RETRY_MS);
    } finally {
      this.#isLoading = false;
    }
  }

  async #loadStatus(): Promise<void> {
    const { data: status } = await ask<Status>('node/status');
    const consensus = this.#steadyConsensus(location.origin, status);
    const lag = smoothedLag(this.#samples.get(location.origin) ?? []);
    const heardAtMs = Date.now();
    this.#set({ status, consensus, lag, heardAtMs, clockAheadMs: status.currentTime - heardAtMs });
  }

  async #loadForgers(): Promise<void> {
    const [forgers, delegates] = await Promise.all([
      ask<Forger[]>('delegates/forgers?limit=101'),
      ask<Delegate[]>('delegates?limit=101'),
    ]);
    const names = new Map(this.#state.names);
    for (const { publicKey, username } of forgers.data) names.set(publicKey, username);
    for (const { account, username } of delegates.data) names.set(account.publicKey, username);
    this.#set({ forgers: forgers.data, names });
  }

  async #loadDiagnostics(): Promise<void> {
    this.#set({ diagnostics: await askIfAllowed<Diagnostic[]>('node/diagnostics?limit=100') });
  }

  async #loadForging(): Promise<void> {
    this.#set({ forging: await askIfAllowed<ForgingDelegate[]>('node/status/forging') });
  }

  async #loadPeers(): Promise<void> {
    this.#set({ peers: (await ask<Peer[]>('peers?limit=100')).data });
  }

  async #poll(): Promise<void> {
    if (document.hidden || this.#state.status === undefined) return;
    // The dashboard shows one row for each node in the list of `neighbours`. `#loadRow` requests each row separately,
    // because a node that hangs must not delay the rows of other nodes.
    for (const node of neighbours(this.#state)) void this.#loadRow(node);
    if (this.#isPolling) return;
    this.#isPolling = true;
    try {
      const { diagnostics, forging } = this.#state;
      await Promise.all([
        this.#loadStatus(),
        this.#loadPeers(),
        ...(diagnostics === undefined ? [] : [this.#loadDiagnostics()]),
        ...(forging === undefined ? [] : [this.#loadForging()]),
      ]);
      if (this.#events?.readyState === EventSource.OPEN) this.#set({ connection: 'live' });
    } catch (error) {
      // A node that hangs keeps the event stream open. A failed request is therefore the only sign that the node hangs.
      // If the node has reading processes (`http.processes`), these processes answer 503 while the node hangs. Without
      // reading processes, no answer comes. A refusal with a status other than 503 shows that the node responds, so
      // `connection` does not become `lost`.
      if (error instanceof AskFailed && LOST_STATUSES.has(error.status)) this.#set({ connection: 'lost' });
    } finally {
      this.#isPolling = false;
    }
  }

  async #loadRow({ origin, port }: Pick<NodeRow, 'origin' | 'port'>): Promise<void> {
    if (this.#askedNodes.has(origin)) return;
    this.#askedNodes.add(origin);
    const isOwn = origin === location.origin;
    const status = isOwn ? this.#state.status : (await ask<Status>('node/status', origin).catch(() => undefined))?.data;
    let consensus = isOwn ? this.#state.consensus : undefined;
    if (!isOwn && status !== undefined) consensus = this.#steadyConsensus(origin, status);
    this.#askedNodes.delete(origin);
    const others = this.#state.nodes.filter((row) => row.origin !== origin);
    this.#set({ nodes: [...others, { origin, port, status, consensus }].sort((a, b) => a.port - b.port) });
  }

  #steadyConsensus(origin: string, { consensus, height, networkHeight }: Status): number | undefined {
    const sample = { atMs: Date.now(), percent: consensus, lag: Math.max(0, networkHeight - height) };
    const samples = withSample(this.#samples.get(origin) ?? [], sample);
    this.#samples.set(origin, samples);
    return smoothedPercent(samples);
  }

  #follow(): void {
    this.#events?.close();
    const events = new EventSource('/api/events');
    this.#events = events;
    const on = <Data>(name: string, react: (data: Data) => void): void => {
      events.addEventListener(name, (event) => react(JSON.parse((event as MessageEvent<string>).data) as Data));
    };
    events.addEventListener('open', () => {
      this.#set({ connection: 'live' });
      void this.#poll();
      void this.#fillGap();
    });
    events.addEventListener('error', () => {
      this.#set({ connection: 'lost' });
      // If the node refused the stream, the browser does not reconnect by itself, so `Live` loads the state again after
      // a pause.
      if (events.readyState === EventSource.CLOSED) setTimeout(() => void this.#load(), RETRY_MS);
    });
    on<Block>('blocks/new', (block) => this.#applied(block));
    on<Block>('blocks/delete', (block) => this.#removed(block));
    on<Transaction>('transactions/new', (transaction) => {
      this.#set({ arrivals: [transaction, ...this.#state.arrivals].slice(0, ARRIVALS_MAX) });
    });
    on<{ height: number }>('finalized/change', ({ height }) => {
      const { status } = this.#state;
      if (status !== undefined) this.#set({ status: { ...status, chainMaxHeightFinalized: height } });
    });
    on('rounds/change', () => void this.#loadForgers().catch(() => undefined));
    on('forging/change', () => void this.#loadForging().catch(() => undefined));
    const peersChanged = (): void => void this.#loadPeers().catch(() => undefined);
    on('peers/connected', peersChanged);
    on('peers/disconnected', peersChanged);
    on('log/gap', () => void this.#load());
  }

  /**
   * Requests the latest blocks, to fill a gap in the list `blocks`. Blocks that the node applies while no event stream
   * is open leave a gap.
   */
  async #fillGap(): Promise<void> {
    if (this.#isFilling) return;
    this.#isFilling = true;
    try {
      const answer = await latestBlocks();
      this.#set({ blocks: withAnswered(this.#state.blocks, answer) });
    } catch {
      // An error is ignored: when the next block arrives, the gap is found again.
    } finally {
      this.#isFilling = false;
    }
  }

  #applied(block: Block): void {
    const { status } = this.#state;
    const blocks = withApplied(this.#state.blocks, block);
    const counted = status && { ...status, height: block.height };
    this.#set(counted === undefined ? { blocks } : { blocks, status: counted });
    if (hasGap(blocks)) void this.#fillGap();
  }

  #removed(block: Block): void {
    this.#set({ blocks: this.#state.blocks.filter(({ height }) => height < block.height) });
  }
}

/**
 * Returns the 200 latest blocks, newest first. With 101 delegates, these are all blocks of the present round, and at
 * least 99 blocks of the round before the present round.
 */
async function latestBlocks(): Promise<readonly Block[]> {
  const newer = await ask<Block[]>(`blocks?limit=${PAGE_BLOCKS}`);
  // The second page is requested after the first page. If a block arrives between the requests, the pages overlap, so
  // there is no gap.
  const older = await ask<Block[]>(`blocks?limit=${PAGE_BLOCKS}&offset=${PAGE_BLOCKS}`);
  return withAnswered(older.data, newer.data);
}

/**
 * Lists this node and other nodes of the same machine, such as the nodes of a devnet. Another node is in the list if it
 * is a connected peer and announces an HTTP port. If the dashboard was loaded from a host other than `127.0.0.1`,
 * `localhost` or `[::1]`, the list has only this node. A node stays in the list after it has stopped, so that the
 * dashboard can show that the node has stopped.
 */
function neighbours({ peers, nodes }: LiveState): readonly Pick<NodeRow, 'origin' | 'port'>[] {
  const { hostname, origin, port } = location;
  const own = { origin, port: Number(port) };
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(hostname)) return [own];
  const others = peers
    .filter((peer) => peer.ip === '127.0.0.1' && isConnected(peer) && peer.httpPort !== own.port)
    .flatMap(({ httpPort }) => (httpPort ? [{ origin: `http://127.0.0.1:${httpPort}`, port: httpPort }] : []));
  const known = new Map([own, ...nodes, ...others].map((node) => [node.origin, node]));
  return [...known.values()].sort((a, b) => a.port - b.port);
}

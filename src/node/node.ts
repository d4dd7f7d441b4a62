/**
 * Builds a node from its parts, and closes the parts in the reverse order. The node builds each part after the parts on
 * which this part depends.
 */

import { platform, release } from 'node:os';
import { join } from 'node:path';
import { decryptPassphrase, addressOf, keyPairOfPassphrase } from '../crypto/keys.ts';
import { buildIdentity } from '../config/build.ts';
import type { Network } from '../config/network.ts';
import type { Config, P2pConfig } from '../config/schema.ts';
import { Diagnostics } from '../engine/diagnostics.ts';
import { isOwnAddress } from '../engine/peers/dialler.ts';
import { Engine } from '../engine/engine.ts';
import { ForgingDelegates } from '../engine/forge/delegates.ts';
import { createHttpServer } from '../http/http-server.ts';
import { MONOTONIC_CLOCK } from '../http/monotonic-clock.ts';
import { WorkShare } from '../primitives/work-share.ts';
import { hexOf } from '../primitives/bytes.ts';
import { Closers } from '../engine/closers.ts';
import { messageOf, type ProtocolError } from '../primitives/errors.ts';
import type { DevnetControls } from '../ports/devnet-controls.ts';
import type { SigningWatermarks } from '../ports/journal.ts';
import type { NodeIdentity } from '../ports/node-api.ts';
import type { Observer } from '../ports/observer.ts';
import type { Transport } from '../ports/transport.ts';
import { createTransport, type ListeningTransport } from '../p2p/transport.ts';
import { createChainLog } from '../store/chain/chain-log.ts';
import type { MetricsRegistry } from '../telemetry/metrics.ts';
import { LAYOUT_VERSION } from '../store/tables/layout.ts';
import { chainStoreOver, openChainStore } from '../store/chain/open.ts';
import { createQueries } from '../store/query/queries.ts';
import { createRules } from '../protocol/generations.ts';
import { createVerifierPool } from '../workers/verifier-pool.ts';
import { partsOf } from './generations.ts';
import { startHousekeeping } from './housekeeping.ts';
import { httpOptionsOf } from './http-options.ts';
import { journalFileOf, openJournal } from './journal-file.ts';
import { createOfflineTransport } from './offline-transport.ts';
import { laterIndexUsers } from './readers/index-users.ts';
import { forkReader } from './readers/reader-child.ts';
import { ReaderPool } from './readers/reader-pool.ts';
import { createNodeApi, type WantedPeers } from './node-api.ts';
import type { NodeControl } from './node-control.ts';
import { startNotifier } from './notify/start.ts';
import { recordStateMetrics } from './state-metrics.ts';
import { startPageScrubber } from './page-scrubber.ts';
import { WatermarkFiles, watermarkFolderOf } from './watermark-files.ts';
import { SeedSearch } from './seeds.ts';
import { openTransactionJournal, transactionJournalOf } from './transaction-journal-file.ts';
import { refuseUnsigned } from './unsigned-chain.ts';
import { yieldToEventLoop, systemClock, systemRandom, systemTimes } from './system.ts';

export interface NodeOptions {
  readonly network: Network;
  /**
   * Folder for the chain store, the signing journal and the transaction journal of this network. No other node is
   * allowed to use the folder. If the folder is missing, the node creates it.
   */
  readonly dataDirectory: string;
  readonly config: Config;
  readonly observer: Observer;
  /** Registry of the observer's metrics. If it is absent, the HTTP interface has no metrics. */
  readonly metrics?: MetricsRegistry;
  /** The node calls this function repeatedly during long synchronous work (`ChainDependencies.onProgress`). */
  readonly onProgress?: () => void;
  /** Controls for the supervisor of a devnet, or for a test. `bloomery start` does not set this member. */
  readonly control?: NodeControl;
}

export interface RunningNode {
  /** Port of the HTTP interface; 0 when HTTP is disabled. */
  readonly httpPort: number;
  /** Port for peers; 0 when the node has no P2P port. */
  readonly wsPort: number;
  /**
   * Closes the parts in the reverse order of their start: forging ends before HTTP, and HTTP ends before the journals
   * and the chain store. Resolves when all data are on the disk.
   *
   * @throws AggregateError with the errors of all parts whose closing failed. The method throws after it has tried to
   *   close all parts
   */
  close(): Promise<void>;
  /** Resolves when the node finds damage in the chain store. The caller should then close the running node. */
  readonly damaged: Promise<ProtocolError>;
}

/**
 * Maximum number of results in the signature cache. With the default configuration, the pool holds at most 5,000
 * transactions, so the cache has room for more results than the pool has transactions. When a pooled transaction
 * arrives in a block, the cache therefore usually still has the results for this transaction.
 */
export const SIGNATURE_ANSWERS_MAX = 8_000;
const MEGABYTE = 1_000_000;

/**
 * Starts a node.
 *
 * @throws ProtocolError that names the cause, for example a port in use, a data folder that is locked or belongs to
 *   another network, or a passphrase that cannot be decrypted. Before the function throws, it tries to close all parts
 *   that it has started
 */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { network, dataDirectory, config, observer, metrics, control } = options;
  const closers = new Closers();
  /** The first step of the closing aborts this controller. */
  const ending = new AbortController();
  const diagnostics = new Diagnostics(systemClock);
  const diagnosed = diagnostics.listenIn(observer);
  const { processes } = config.http;
  const hasReaders = config.http.enabled && processes > 0 && control?.memory === undefined;
  // The first reader (a process that answers HTTP) loads its modules while this process opens the store.
  const firstReader = hasReaders ? forkReader() : undefined;
  closers.add(() => firstReader?.process.kill('SIGKILL'));
  try {
    const generation = partsOf(network.params);
    const rules = createRules(network.params, control?.ed25519 === undefined ? {} : { ed25519: control.ed25519 });
    const genesis = rules.codec.genesisFromJson(network.genesisJson);
    const { codec, params } = rules;
    const memory = control?.memory;
    const store =
      memory === undefined
        ? await openChainStore({
            directory: join(dataDirectory, 'chain'),
            codec,
            params,
            clock: systemClock,
            isChecked: control?.isChainChecked === true,
            onUpgrade: (layout) =>
              observer
                .module('store')
                .log('info', 'STORE_UPGRADE', 'Upgrading the chain store to the layout of this version', {
                  from: layout,
                  to: LAYOUT_VERSION,
                }),
            onBackfill: (entries) =>
              observer
                .module('store')
                .log('info', 'STORE_BACKFILL', 'Writing the index entries that a killed process left out', { entries }),
          })
        : chainStoreOver(memory.keyValue, { codec, params }, 'memory');
    closers.add(() => store.close());
    if (control === undefined) refuseUnsigned(store, dataDirectory);
    const log = createChainLog(store, { finalizedHeight: (state) => rules.finalizedHeight(state) });
    // The node opens the signing journal after the store. If the folder belongs to another network, opening the store
    // fails, so the node does not write a journal into this folder.
    const journal = memory?.journal ?? openJournal(journalFileOf(dataDirectory));
    closers.add(() => {
      journal.close();
    });
    const transactionJournal =
      memory?.transactionJournal ??
      (await openTransactionJournal(transactionJournalOf(dataDirectory), diagnosed.module('pool')));
    closers.add(() => transactionJournal.close());
    const verifierPool = createVerifierPool({
      threads: config.verifier.threads,
      cacheEntriesMax: SIGNATURE_ANSWERS_MAX,
      observer: observer.module('verifier'),
      ...(config.verifier.backend === 'auto' ? {} : { backend: config.verifier.backend }),
    });
    closers.add(() => verifierPool.close());
    const verifier = control?.verifier(verifierPool) ?? verifierPool;

    const identity: NodeIdentity = {
      networkName: network.name,
      version: network.appVersion,
      protocolVersion: network.protocolVersion,
      ...buildIdentity(),
      nonce: hexOf(systemRandom.bytes(8)),
    };
    const innerTransport: Transport & Partial<Pick<ListeningTransport, 'wsPort'>> =
      control?.transport ?? transportOf(options, identity);
    const transport = control?.wire?.(innerTransport) ?? innerTransport;
    let readers: ReaderPool | undefined;
    const workShare = new WorkShare({ clock: MONOTONIC_CLOCK });
    const wantedPeers = wantedPeersOf(config.p2p);
    const engine = new Engine(
      {
        store,
        // Without readers, this process itself queries the indexes, so indexing is never deferred.
        deferral: hasReaders ? { indexes: store, users: laterIndexUsers(() => readers?.indexUsers) } : undefined,
        ...{ rules, genesis, verifier, transport },
        clock: systemClock,
        times: systemTimes,
        chainClock: control?.chainClock,
        isForgingSuspended: control === undefined ? undefined : () => control.isForgingSuspended(),
        workShare,
        random: systemRandom,
        journal,
        watermarks: watermarksOf({ ...options, observer: diagnosed }),
        transactionJournal,
        observer,
        diagnostics,
        onProgress: options.onProgress,
      },
      {
        identity,
        os: `${platform()}${release()}`,
        waitThresholdMs: config.forging.waitThresholdS * 1000,
        riskDoubleForging: config.forging.riskDoubleForging,
        broadcastIntervalMs: config.pool.broadcastIntervalMs,
        transactionsPerQueueMax: config.pool.transactionsPerQueueMax,
        advertiseAddress: config.p2p.advertiseAddress,
        ownDelegates: config.forging.enabled ? config.forging.delegates.map(({ publicKey }) => publicKey) : [],
        peers: {
          own: { ip: config.p2p.host, wsPort: config.p2p.port },
          gossipPeersMax: generation.gossipPeersMax,
          fixedPeers: config.p2p.fixedPeers,
          seedPeers: [],
          whitelistedPeers: config.p2p.whitelistedPeers,
          blacklistedIps: config.p2p.blacklistedIps,
          outboundMax: config.p2p.outboundMax,
        },
        expectsPeers: wantedPeers === 'named',
        dialsPeers: wantedPeers !== 'none',
        // If P2P is off, the node has no peers, so its peer consensus would never be high enough for forging.
        profile: {
          ...generation.profile,
          forgingConsensusMin: wantedPeers === 'none' ? 0 : config.forging.consensusMin,
        },
      },
    );
    control?.built({ engine, store });
    const delegates = new ForgingDelegates({
      configured: config.forging.enabled ? config.forging.delegates : [],
      scheduler: engine.forging,
      state: () => store,
      unlock: async (encrypted, password) => keyPairOfPassphrase(await decryptPassphrase(encrypted, password)),
      addressOf,
      observer: diagnosed.module('forge'),
    });
    if (config.forging.enabled && config.forging.force) await delegates.enableAll(config.forging.defaultPassword);

    const directory = memory === undefined ? dataDirectory : undefined;
    const notifier = await startNotifier({ config, network, directory, observer, engine, store, identity });
    closers.add(() => notifier?.close());

    const queries = createQueries(store, params, { pause: yieldToEventLoop });
    const clock = systemClock;
    const chainClock = control?.chainClock ?? clock;
    const api = createNodeApi({
      ...{ engine, store, queries, log, delegates, identity, clock: chainClock },
      ...{ wantedPeers, metrics, readers: () => readers?.status(), spentMs: () => verifier.spentMs },
      stoppableTime: control && { clockMoved: () => control.clockMoved(), clock, closing: ending.signal },
    });
    if (metrics !== undefined) {
      const chainDirectory = join(dataDirectory, 'chain');
      const memoryLimitBytes = config.memory.limitMb * MEGABYTE;
      const endStateMetrics = recordStateMetrics(
        { api, engine, store, delegates, chainDirectory, clock: chainClock, observer, memoryLimitBytes },
        metrics,
      );
      // A devnet restarts nodes within one process. Therefore the recording of the metrics must end when a node closes.
      closers.add(endStateMetrics);
    }
    let httpPort = 0;
    if (config.http.enabled) {
      const httpOptions = httpOptionsOf(config, observer, control?.keepsConnections === true);
      const { observer: httpObserver, ...plain } = httpOptions;
      if (hasReaders) {
        const settings = { directory: join(dataDirectory, 'chain'), params, identity, http: plain };
        readers = new ReaderPool({
          ...{ processes, dataDirectory, api, settings, clock: systemClock, observer: httpObserver },
          firstChild: firstReader,
        });
      }
      const http = readers ?? createHttpServer(api, { ...httpOptions, workShare, ...devnetOf(control) });
      closers.add(() => http.close());
      httpPort = (await http.start()).port;
    }
    closers.add(() => engine.stop());
    const configuredPort = config.p2p.enabled ? config.p2p.port : 0;
    await engine.start({ wsPort: configuredPort, httpPort });
    // If P2P is on and the configured P2P port is 0, the operating system has chosen the port.
    const wsPort = innerTransport.wsPort ?? configuredPort;
    const seeds = new SeedSearch(config.p2p.enabled ? config.p2p.seedPeers : [], {
      clock: systemClock,
      observer: diagnosed.module('peers'),
      found: (seed) => engine.peers.addSeed(seed),
    });
    closers.add(() => seeds.stop());
    const housekeeping = startHousekeeping(
      {
        savePeerBook: () => {
          engine.peers.savePeerBook();
        },
        expireBans: () => {
          engine.peers.expireBans();
        },
        expirePool: () => {
          engine.pool.expire();
        },
      },
      observer,
    );
    closers.add(() => housekeeping.stop());
    const pages =
      memory === undefined
        ? startPageScrubber(join(dataDirectory, 'chain'), { clock, observer: observer.module('store'), state: store })
        : undefined;
    closers.add(() => pages?.stop());
    closers.add(() => ending.abort());
    const { height } = engine.chain.tip.header;
    observer.log('info', 'NODE_STARTED', 'the node runs', {
      network: network.name,
      networkId: params.networkIdentifier,
      height,
      httpPort,
      wsPort,
      signatures: verifier.backend,
    });
    notifier?.take({ code: 'NODE_STARTED', message: 'the node runs', timeMs: clock.nowMs(), fields: { height } });
    const damaged = pages === undefined ? store.damaged : Promise.race([pages.damaged, store.damaged]);
    return { httpPort, wsPort, damaged, close: () => closers.close() };
  } catch (error) {
    await closers.close().catch((closing: unknown) => {
      observer.log('error', 'NODE_CLOSE_FAILED', 'not everything could be closed', { reason: messageOf(closing) });
    });
    throw error;
  }
}

function devnetOf(control: NodeControl | undefined): { readonly devnet?: DevnetControls } {
  return control?.devnet === undefined ? {} : { devnet: control.devnet };
}

function watermarksOf({ network, config, observer }: NodeOptions): SigningWatermarks | undefined {
  const folder = watermarkFolderOf(config.forging.watermarkFolder, process.env);
  if (folder === undefined || !config.forging.enabled) return undefined;
  const watermarks = new WatermarkFiles(folder, network.params.networkIdentifier, observer.module('forge'));
  if (config.forging.delegates.length > 0) watermarks.check();
  return watermarks;
}

function wantedPeersOf({ enabled, fixedPeers, seedPeers, host, port }: P2pConfig): WantedPeers {
  if (!enabled) return 'none';
  // All nodes of a network often have the same list of seeds, so a node that is a seed can find its own address in the
  // list.
  const isOther = (ip: string, wsPort: number): boolean => !isOwnAddress({ ip, wsPort }, { ip: host, wsPort: port });
  const others = [
    ...fixedPeers.filter(({ ip, wsPort }) => isOther(ip, wsPort)),
    ...seedPeers.filter((seed) => isOther(seed.host, seed.wsPort)),
  ];
  return others.length > 0 ? 'named' : 'any';
}

function transportOf({ network, config, observer }: NodeOptions, identity: NodeIdentity): Transport {
  if (!config.p2p.enabled) return createOfflineTransport();
  return createTransport({
    dialect: partsOf(network.params).createDialect(network.params, identity),
    host: config.p2p.host,
    wsPort: config.p2p.port,
    inboundMax: config.p2p.inboundMax,
    clock: systemClock,
    random: systemRandom,
    observer,
    info: {
      os: `${platform()}${release()}`,
      version: identity.version,
      wsPort: config.p2p.port,
      httpPort: config.http.port,
      protocolVersion: identity.protocolVersion,
      nonce: identity.nonce,
      height: 1,
      advertiseAddress: config.p2p.advertiseAddress,
    },
  });
}

/** Registers the state metrics. Their values are measured at the moment when a client reads the metrics. */

import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { addressOf } from '../crypto/keys.ts';
import type { Engine } from '../engine/engine.ts';
import type { ForgingDelegates } from '../engine/forge/delegates.ts';
import { messageOf } from '../primitives/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { LocalNodeApi } from '../ports/node-api.ts';
import type { Observer } from '../ports/observer.ts';
import type { ChainStore } from '../ports/store.ts';
import { momentMs } from '../protocol/slots.ts';
import type { MetricsRegistry } from '../telemetry/metrics.ts';
import { ownMemoryBytes } from './watchdog/process-memory.ts';

export interface StateMetricsSources {
  readonly api: LocalNodeApi;
  readonly engine: Engine;
  readonly store: ChainStore;
  readonly delegates: ForgingDelegates;
  /** Folder of the store. */
  readonly chainDirectory: string;
  /** The chain clock. */
  readonly clock: Clock;
  readonly observer: Observer;
  /** Value of `memory.limitMb` in bytes. */
  readonly memoryLimitBytes: number;
}

/** Name of the data file of the store. */
const STORE_FILE = 'data.mdb';

/**
 * Registers the state metrics of a node.
 *
 * @returns a function that ends the measurements; the node calls the function when it closes
 */
export function recordStateMetrics(sources: StateMetricsSources, metrics: MetricsRegistry): () => void {
  const { networkName, version, commit } = sources.api.identity;
  metrics.gauge('build_info', 1, { network: networkName, version, commit });
  metrics.gauge('memory_limit_bytes', sources.memoryLimitBytes);
  return metrics.beforeReading(() => {
    recordChain(sources, metrics);
    recordDelegates(sources, metrics);
    recordDisk(sources, metrics);
    recordReaders(sources, metrics);
    metrics.gauge('memory_own_bytes', ownMemoryBytes());
  });
}

function recordChain({ api, engine, clock }: StateMetricsSources, metrics: MetricsRegistry): void {
  const { height, finalizedHeight, networkHeight, syncing, consensusPercent, pool } = api.status();
  const tipMs = momentMs(engine.chain.tip.header.timestamp, engine.chain.rules.params);
  metrics.gauge('chain_height', height);
  metrics.gauge('chain_finalized_height', finalizedHeight);
  metrics.gauge('chain_network_height', networkHeight);
  metrics.gauge('chain_lag_blocks', Math.max(0, networkHeight - height));
  metrics.gauge('chain_tip_age_seconds', Math.max(0, clock.nowMs() - tipMs) / 1000);
  metrics.gauge('chain_syncing', syncing ? 1 : 0);
  const offsetMs = engine.clockOffset.estimateMs();
  if (offsetMs === undefined) metrics.forget('clock_offset_seconds');
  else metrics.gauge('clock_offset_seconds', offsetMs / 1000);
  metrics.gauge('consensus_ratio', consensusPercent / 100);
  const peers = api.peers();
  metrics.gauge('peers_known', peers.length);
  metrics.gauge('peers_connected', peers.filter(({ state }) => state === 'connected').length);
  for (const [state, size] of Object.entries(pool)) metrics.gauge('pool_transactions', size, { state });
}

const READER_STATES = ['starting', 'up', 'silent'] as const;

function recordReaders({ api }: StateMetricsSources, metrics: MetricsRegistry): void {
  const { readers } = api.status();
  if (readers === undefined) return;
  for (const state of READER_STATES) {
    metrics.gauge('http_readers', readers.each.filter((each) => each.state === state).length, { state });
  }
  // While the node replaces readers (processes that answer HTTP), up to `2 * wanted` readers run. The metric
  // `http_reader_memory_bytes` is 0 for each number that no reader has at present.
  for (let reader = 1; reader <= 2 * readers.wanted; reader += 1) {
    const { memoryBytes = 0 } = readers.each.find((each) => each.reader === reader) ?? {};
    metrics.gauge('http_reader_memory_bytes', memoryBytes, { reader: String(reader) });
  }
}

function recordDelegates({ store, delegates }: StateMetricsSources, metrics: MetricsRegistry): void {
  const configured = delegates.list();
  metrics.gauge('forging_delegates', configured.filter(({ forging }) => forging).length);
  for (const { publicKey } of configured) {
    const account = store.account(addressOf(publicKey));
    if (account?.username === undefined) continue;
    const labels = { delegate: account.username };
    metrics.gauge('delegate_forged_blocks', account.producedBlocks, labels);
    metrics.gauge('delegate_missed_blocks', account.missedBlocks, labels);
  }
}

function recordDisk({ chainDirectory, observer }: StateMetricsSources, metrics: MetricsRegistry): void {
  try {
    const { bavail, bsize } = statfsSync(chainDirectory);
    metrics.gauge('disk_free_bytes', bavail * bsize);
    metrics.gauge('store_size_bytes', statSync(join(chainDirectory, STORE_FILE)).size);
  } catch (error) {
    observer.log('debug', 'DISK_FIGURES_MISSING', 'the free space of the disk could not be read', {
      reason: messageOf(error),
    });
  }
}

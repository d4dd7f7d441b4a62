/**
 * Declares the metrics that the modules of a node record. Modules name metrics without the prefix `bloomery_`. The
 * registry (`MetricsRegistry`) refuses recordings of metrics that are not declared here. The registry itself adds a
 * metric for the number of refused recordings. If the option `isOfProcess` of the registry is true, the registry also
 * adds the metrics of the process.
 */

type MetricKind = 'counter' | 'gauge' | 'histogram';

export interface MetricDeclaration {
  readonly kind: MetricKind;
  /** One sentence that explains the metric, for the `# HELP` line of the metric. */
  readonly help: string;
  readonly labels?: readonly string[];
  /** Upper bounds of the histogram's buckets, in the unit of the metric. */
  readonly buckets?: readonly number[];
}

/**
 * Buckets for delays of blocks and transactions, in seconds. The buckets cover the usual delays. A message spreads
 * through one region in a fraction of a second, and around the world in a few seconds. A slot usually lasts 2 to 10 s.
 */
const DELAY_BUCKETS_S = [0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 20];
const ANSWER_BUCKETS_S = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5];

export const DECLARATIONS: Readonly<Record<string, MetricDeclaration>> = {
  build_info: gauge('Version of the node and name of its network; always 1.', ['version', 'network', 'commit']),

  chain_height: gauge('Height of the tip.'),
  chain_finalized_height: gauge('Height up to which no block can be reverted any more.'),
  chain_network_height: gauge('Most frequent height among connected peers; 0 without peers.'),
  chain_lag_blocks: gauge(
    'Blocks by which the tip is below the most frequent height among connected peers; 0 if it is not below.',
  ),
  chain_tip_age_seconds: gauge('Time since the slot of the tip began.'),
  chain_syncing: gauge('1 while blocks are downloaded, else 0.'),
  blocks_applied_total: counter('Blocks added to the chain, by origin.', ['origin']),
  blocks_reverted_total: counter('Blocks reverted.'),
  reorgs_total: counter('Reorgs: times that one or more blocks were reverted together.'),
  block_delay_seconds: histogram(
    'Time from the beginning of a slot until the block of a peer for this slot was applied.',
  ),

  consensus_ratio: gauge('Share of connected peers that have this tip, 0 to 1; 0 without peers.'),
  peers_connected: gauge('Open connections to peers.'),
  peers_known: gauge('Peers that this node knows of, connected or not.'),
  peers_banned_total: counter('Peers banned for their offences.'),
  p2p_connections_total: counter('Connections to peers that were made.', ['direction']),
  p2p_disconnections_total: counter('Connections to peers that ended, by close code.', ['code']),
  p2p_refused_total: counter('Connections that were refused in the handshake, by close code.', ['code']),
  p2p_offences_total: counter('Messages, calls, answers and infos of peers that broke a rule, by code.', ['code']),
  p2p_rate_limited_total: counter('Messages and calls of peers dropped above their rate, by name.', ['name']),

  pool_transactions: gauge('Transactions that wait, by queue.', ['state']),
  pool_refusals_total: counter('Transactions and member signatures that the pool refused, by code.', ['code']),
  pool_dropped_transactions_total: counter('Transactions that the pool dropped because a check refused them.'),
  pool_accepted_dropped_total: counter('Transactions that the node accepted from clients and dropped later.'),
  pool_expired_transactions_total: counter('Transactions that the pool dropped because they waited too long.'),
  transaction_delay_seconds: histogram('Time from the timestamp of a transaction until the pool had verified it.'),

  own_slots_total: counter('Slots of delegates that forge on this node, by their result in the chain.', ['result']),
  forging_delegates: gauge('Delegates that forge on this node.'),
  delegate_forged_blocks: gauge('Blocks that a delegate configured here has forged, as the chain counts them.', [
    'delegate',
  ]),
  delegate_missed_blocks: gauge('Slots that a delegate configured here has missed, as the chain counts them.', [
    'delegate',
  ]),

  diagnostics_total: counter('Diagnostics of the node that `bloomery why` lists, by code.', ['code']),

  notify_delivered_total: counter('Events that a receiver of the operator accepted.', ['channel']),
  notify_failures_total: counter('Deliveries of events that failed; the node tries again.', ['channel']),

  clock_offset_seconds: gauge(
    'Time by which the clocks of the peers are ahead of the clock of this node, estimated from their blocks.',
  ),
  memory_own_bytes: gauge('Memory that the process allocated, without mapped pages of the store.'),
  memory_limit_bytes: gauge('Memory above which the node ends itself.'),

  store_size_bytes: gauge('Size of the chain on the disk.'),
  disk_free_bytes: gauge('Free space on the disk of the chain.'),

  http_request_duration_seconds: {
    kind: 'histogram',
    help: 'Time to answer a request, by pattern of the route.',
    labels: ['route', 'method', 'status'],
    buckets: ANSWER_BUCKETS_S,
  },
  http_cache_hits_total: counter(
    'Answers sent from the response cache or the tick cache; their duration is not measured.',
  ),
  http_connections: gauge('Open connections to the HTTP interface, by client: stranger or trusted.', ['client']),
  http_buffered_bytes: gauge(
    'Bytes of HTTP requests and answers that the node holds for clients that are not trusted.',
  ),
  http_refused_total: counter('Connections and requests that the HTTP interface refused, by reason.', ['reason']),
  http_readers: gauge('Reading processes that answer HTTP beside the node, by state.', ['state']),
  http_reader_restarts_total: counter('Times that a new reading process replaced another reading process.'),
  http_reader_memory_bytes: gauge('Memory of a reading process, without pages of the store.', ['reader']),
  http_reader_requests_total: counter('Requests that arrived at a reading process.', ['reader']),
  http_event_subscribers: gauge('Subscribers of the event stream.'),
};

function counter(help: string, labels: readonly string[] = []): MetricDeclaration {
  return { kind: 'counter', help, labels };
}

function gauge(help: string, labels: readonly string[] = []): MetricDeclaration {
  return { kind: 'gauge', help, labels };
}

function histogram(help: string): MetricDeclaration {
  return { kind: 'histogram', help, labels: [], buckets: DELAY_BUCKETS_S };
}

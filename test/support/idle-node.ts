/** The API (`LocalNodeApi`) of an idle node with a chain: a real engine, no peers, and a clock that the test sets. */

import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import { addressOf } from '../../src/crypto/keys.ts';
import { Engine } from '../../src/engine/engine.ts';
import { ForgingDelegates } from '../../src/engine/forge/delegates.ts';
import { partsOf } from '../../src/node/generations.ts';
import { createOfflineTransport } from '../../src/node/offline-transport.ts';
import { createNodeApi } from '../../src/node/node-api.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { LocalNodeApi, NodeIdentity } from '../../src/ports/node-api.ts';
import { SILENT } from '../../src/ports/observer.ts';
import type { Rules } from '../../src/protocol/rules.ts';
import type { Block } from '../../src/protocol/types.ts';
import { createChainLog } from '../../src/store/chain/chain-log.ts';
import type { StoredChain } from '../../src/store/chain/stored-chain.ts';
import { createQueries } from '../../src/store/query/queries.ts';
import { NO_JOURNAL } from './no-journal.ts';
import { createInlineVerifier } from '../../src/workers/inline-verifier.ts';

export interface IdleNodeOptions {
  /** The chain of the node. If this chain is empty, the engine stores `genesis` as its first block. */
  readonly chain: StoredChain;
  readonly rules: Rules;
  readonly genesis: Block;
  readonly identity: Pick<NodeIdentity, 'version' | 'protocolVersion'> & Partial<NodeIdentity>;
  /** Unix time in milliseconds. */
  readonly nowMs: () => number;
}

export function idleNode({ chain: store, rules, genesis, nowMs, ...options }: IdleNodeOptions): LocalNodeApi {
  const log = createChainLog(store, { finalizedHeight: (state) => rules.finalizedHeight(state) });
  const clock: Clock = { nowMs, after: () => ({ cancel: () => undefined }) };
  const identity: NodeIdentity = {
    networkName: 'devnet',
    build: '',
    commit: '',
    nonce: 'restingrestingre',
    ...options.identity,
  };
  const verifier = createInlineVerifier(selectEd25519(), 10_000);
  const engine = new Engine(
    {
      store,
      rules,
      genesis,
      verifier,
      transport: createOfflineTransport(),
      clock,
      random: { bytes: (count) => new Uint8Array(count), fraction: () => 0, below: () => 0 },
      journal: NO_JOURNAL,
      observer: SILENT,
    },
    {
      identity,
      os: 'test',
      waitThresholdMs: 0,
      broadcastIntervalMs: 5000,
      riskDoubleForging: true,
      transactionsPerQueueMax: 1000,
      profile: partsOf(rules.params).profile,
      peers: {
        own: { ip: '127.0.0.1', wsPort: 0 },
        gossipPeersMax: 0,
        fixedPeers: [],
        seedPeers: [],
        whitelistedPeers: [],
        blacklistedIps: [],
        outboundMax: 0,
      },
    },
  );
  const delegates = new ForgingDelegates({
    configured: [],
    scheduler: engine.forging,
    state: () => store,
    unlock: () => Promise.reject(new ProtocolError('FORGING_PASSWORD_WRONG', {})),
    addressOf,
    observer: SILENT,
  });
  return createNodeApi({
    engine,
    store,
    queries: createQueries(store, rules.params),
    log,
    delegates,
    identity,
    clock,
    spentMs: () => verifier.spentMs,
  });
}

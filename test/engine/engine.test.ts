import test from 'ava';

import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import type { EngineDependencies, EngineOptions } from '../../src/engine/engine-options.ts';
import { Engine } from '../../src/engine/engine.ts';
import { createOfflineTransport } from '../../src/node/offline-transport.ts';
import { SILENT } from '../../src/ports/observer.ts';
import type { NodeInfo } from '../../src/ports/transport.ts';
import { openMemoryChainStore } from '../../src/store/chain/open.ts';
import { createInlineVerifier } from '../../src/workers/inline-verifier.ts';
import { NO_JOURNAL } from '../support/no-journal.ts';
import { ChainMaker, makeNetwork } from '../support/chain-maker.ts';

/** An engine without peers. */
function engineWith(parts: Partial<EngineDependencies>, changes: Partial<EngineOptions> = {}): Engine {
  const { network, rules } = new ChainMaker(makeNetwork());
  const { codec, params } = rules;
  return new Engine(
    {
      store: openMemoryChainStore({ codec, params }),
      rules,
      genesis: network.genesis,
      verifier: createInlineVerifier(selectEd25519(), 100),
      transport: createOfflineTransport(),
      clock: { nowMs: () => params.epochMs, after: () => ({ cancel: () => undefined }) },
      random: { bytes: (length) => new Uint8Array(length), fraction: () => 0, below: () => 0 },
      journal: NO_JOURNAL,
      observer: SILENT,
      ...parts,
    },
    {
      identity: { networkName: 'n', version: '1.0.0', protocolVersion: '2.0', build: '', commit: '', nonce: 'n' },
      os: 'linux',
      waitThresholdMs: 0,
      broadcastIntervalMs: 1000,
      transactionsPerQueueMax: 100,
      riskDoubleForging: true,
      peers: {
        own: { ip: '127.0.0.1', wsPort: 5000 },
        outboundMax: 0,
        gossipPeersMax: 0,
        fixedPeers: [],
        seedPeers: [],
        whitelistedPeers: [],
        blacklistedIps: [],
      },
      ...changes,
    },
  );
}

/** Returns the node info that an engine announces at its start. */
async function announced(changes: Partial<EngineOptions>): Promise<NodeInfo | undefined> {
  const infos: NodeInfo[] = [];
  const transport = { ...createOfflineTransport(), announce: (info: NodeInfo) => void infos.push(info) };
  const engine = engineWith({ transport }, changes);
  await engine.start({ wsPort: 5000, httpPort: 0 });
  await engine.stop();
  return infos[0];
}

test('peers may pass on our address, unless the options forbid it', async (t) => {
  t.is((await announced({}))?.advertiseAddress, true);
  t.is((await announced({ advertiseAddress: true }))?.advertiseAddress, true);
  t.is((await announced({ advertiseAddress: false }))?.advertiseAddress, false);
});

test('a node expects a dialled peer if it names or knows peers, or has dialled one, and not with P2P off', (t) => {
  const expects = (
    direction: 'inbound' | 'outbound' | undefined,
    changes: Partial<EngineOptions> = {},
    sinceMs = -Infinity,
  ): boolean => {
    const info = { ip: '127.0.0.2', wsPort: 5000, height: 1 };
    const connection = { peerId: '127.0.0.2:5000', info, sinceMs: 5, latencyMs: undefined };
    const connections = () => (direction === undefined ? [] : [{ ...connection, direction }]);
    const transport = { ...createOfflineTransport(), connections };
    return engineWith({ transport }, changes).networkView.peerTips(sinceMs).areDialsExpected;
  };
  t.false(expects(undefined));
  t.true(expects(undefined, { expectsPeers: true }));
  t.false(expects(undefined, { expectsPeers: true, dialsPeers: false }), '--no-peers');
  t.true(expects('outbound'));
  t.true(expects('outbound', {}, 9), 'also while the connection may be dead');
  t.false(expects('inbound'), 'a seed has only inbound peers');
});

test('a part that fails to stop does not keep the others from stopping, and all errors are reported', async (t) => {
  const { codec, params } = new ChainMaker(makeNetwork()).rules;
  const store = openMemoryChainStore({ codec, params });
  const timers = new Set<object>();
  const engine = engineWith({
    store,
    transport: { ...createOfflineTransport(), close: () => Promise.reject(new Error('the wire is stuck')) },
    clock: {
      nowMs: () => params.epochMs,
      after: () => {
        const timer = { cancel: () => void timers.delete(timer) };
        timers.add(timer);
        return timer;
      },
    },
  });
  await engine.start({ wsPort: 5000, httpPort: 0 });
  t.true(timers.size > 3);
  store.transact = () => {
    throw new Error('the disk is full');
  };
  const error = await t.throwsAsync(engine.stop());
  t.regex(error.message, /the disk is full.*the wire is stuck|the wire is stuck.*the disk is full/);
  t.is(timers.size, 0);
});

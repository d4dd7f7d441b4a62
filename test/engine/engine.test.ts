import test from 'ava';

import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import { Engine, type EngineOptions } from '../../src/engine/engine.ts';
import { createLoneTransport } from '../../src/node/lone-transport.ts';
import { SILENT } from '../../src/ports/observer.ts';
import type { NodeInfo } from '../../src/ports/transport.ts';
import { openMemoryChainStore } from '../../src/store/open.ts';
import { createInlineVerifier } from '../../src/workers/inline-verifier.ts';
import { NO_JOURNAL } from '../support/no-journal.ts';
import { ChainMaker, makeNetwork } from '../support/chain-maker.ts';

/** What an engine without peers tells them at its start. */
async function announced(changes: Partial<EngineOptions>): Promise<NodeInfo | undefined> {
  const { network, rules } = new ChainMaker(makeNetwork());
  const { codec, params } = rules;
  const infos: NodeInfo[] = [];
  const engine = new Engine(
    {
      store: openMemoryChainStore({ codec, params }),
      rules,
      genesis: network.genesis,
      verifier: createInlineVerifier(selectEd25519(), 100),
      transport: { ...createLoneTransport(), announce: (info) => void infos.push(info) },
      clock: { nowMs: () => params.epochMs, after: () => ({ cancel: () => undefined }) },
      random: { bytes: (length) => new Uint8Array(length), fraction: () => 0, below: () => 0 },
      journal: NO_JOURNAL,
      observer: SILENT,
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
  await engine.start({ wsPort: 5000, httpPort: 0 });
  await engine.stop();
  return infos[0];
}

test('peers are told that they may tell others of this node, unless its options say that they may not', async (t) => {
  t.is((await announced({}))?.advertiseAddress, true);
  t.is((await announced({ advertiseAddress: true }))?.advertiseAddress, true);
  t.is((await announced({ advertiseAddress: false }))?.advertiseAddress, false);
});

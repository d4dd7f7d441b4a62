/**
 * A process with one node that forges a block in every slot of its network. The clock of the node runs a thousand times
 * faster than real time. The store and the signing journal are files. The tests kill this process at random moments.
 *
 * The process has three arguments: the data folder, the real time at which the network's first slot starts (Unix time
 * in ms), and `waive` or `guard`. With `waive`, the node forges with the option `riskDoubleForging`. With `guard`, the
 * node forges without this option.
 */

import { join } from 'node:path';
import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import { Engine } from '../../src/engine/engine.ts';
import { journalFileOf, openJournal } from '../../src/node/journal-file.ts';
import { createOfflineTransport } from '../../src/node/offline-transport.ts';
import { systemRandom } from '../../src/node/system.ts';
import { SILENT, type Observer } from '../../src/ports/observer.ts';
import { createGen3Rules } from '../../src/protocol/gen3/rules.ts';
import { openChainStore } from '../../src/store/chain/open.ts';
import { createInlineVerifier } from '../../src/workers/inline-verifier.ts';
import { makeNetwork } from '../support/chain-maker.ts';

const SPEED = 1000;
/**
 * Maximum number of lines in the file of the signing journal, in addition to one line for each delegate. If the file
 * has more lines, the node rewrites the file. The limit is so low that some of the kills happen during a rewrite.
 */
const SPARE_LINES = 400;

const [directory = '', originMs = '', guard = ''] = process.argv.slice(2);
const network = makeNetwork();
const rules = createGen3Rules(network.params);
const observer: Observer = {
  ...SILENT,
  module: () => observer,
  log: (level, code, message, fields) => {
    if (level === 'error') process.stderr.write(`${code} ${message} ${JSON.stringify(fields)}\n`);
  },
};
const store = await openChainStore({ directory: join(directory, 'chain'), codec: rules.codec, params: rules.params });
const engine = new Engine(
  {
    store,
    rules,
    genesis: network.genesis,
    verifier: createInlineVerifier(selectEd25519(), 1000),
    transport: createOfflineTransport(),
    clock: {
      nowMs: () => network.params.epochMs + (Date.now() - Number(originMs)) * SPEED,
      after: (delayMs, work) => {
        const timer = setTimeout(work, Math.max(1, delayMs / SPEED));
        return { cancel: () => clearTimeout(timer) };
      },
    },
    random: systemRandom,
    journal: openJournal(journalFileOf(directory), { spareLinesMax: SPARE_LINES }),
    observer,
  },
  {
    identity: { networkName: 'n', version: '1.0.0', protocolVersion: '2.0', build: '', commit: '', nonce: 'n' },
    os: '',
    waitThresholdMs: 0,
    broadcastIntervalMs: 60_000,
    transactionsPerQueueMax: 100,
    riskDoubleForging: guard === 'waive',
    peers: {
      own: { ip: '127.0.0.1', wsPort: 0 },
      outboundMax: 0,
      gossipPeersMax: 0,
      fixedPeers: [],
      seedPeers: [],
      whitelistedPeers: [],
      blacklistedIps: [],
    },
  },
);
for (const keyPair of network.delegates) engine.forging.enable(keyPair);
await engine.start({ wsPort: 0, httpPort: 0 });
const writeHeight = (): void => void process.stdout.write(`${engine.chain.tip.header.height}\n`);
writeHeight();
engine.chain.listen({ applied: writeHeight });

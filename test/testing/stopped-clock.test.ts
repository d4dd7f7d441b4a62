import test from 'ava';
import { NO_FAULTS } from '../../src/cli/devnet/faults.ts';
import { readAccounts } from '../../src/cli/genesis/accounts-file.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { defaultEd25519 } from '../../src/crypto/ed25519.ts';
import { keyPairOfPassphrase } from '../../src/crypto/keys.ts';
import { systemClock } from '../../src/node/system.ts';
import { SILENT } from '../../src/ports/observer.ts';
import { createSigner } from '../../src/protocol/sign.ts';
import { epochTimeS } from '../../src/protocol/slots.ts';
import { MemoryNode } from '../../src/testing/memory-node.ts';
import { MemoryNetwork } from '../../src/testing/memory-transport.ts';

test('a node accepts a transaction over HTTP although its clock stood still when the transaction arrived', async (t) => {
  const directory = packagedNetworkDirectory('devnet');
  const network = loadNetwork(directory);
  const { params } = network;
  const node = new MemoryNode({
    ...{ index: 0, network, delegates: [], address: { ip: '127.0.0.1', wsPort: 5000 }, others: [], observer: SILENT },
    memoryNetwork: new MemoryNetwork(systemClock),
    first: () => ({ setting: { kind: 'running', aheadMs: 0 }, isHeld: true, impersonated: [], faults: NO_FAULTS }),
    onEvent: () => undefined,
  });
  await node.open();
  t.teardown(() => node.close());
  const nowMs = Date.now();
  await node.ask({ op: 'set', setting: { kind: 'frozen', atMs: nowMs }, isHeld: true, isBrief: true });
  const account = readAccounts(directory).find(({ name }) => name === 'account_1');
  const signer = createSigner(params, defaultEd25519());
  const transaction = signer.sign({
    payload: { kind: 'transfer', recipientId: '42L', amount: 1n },
    timestamp: epochTimeS(nowMs, params) + params.blockTimeS,
    keyPair: keyPairOfPassphrase(account?.passphrase ?? ''),
  });
  const answer = fetch(`${node.url}/api/transactions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(signer.toJson(transaction)),
  });
  await fetch(`${node.url}/api/node/status`);
  await node.ask({ op: 'set', setting: { kind: 'running', aheadMs: params.blockTimeS * 1000 }, isHeld: true });
  t.is((await answer).status, 200);
});

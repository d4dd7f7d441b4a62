import test from 'ava';
import { loadConfig } from '../../src/config/load.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { startNode } from '../../src/node/node.ts';
import { SILENT } from '../../src/ports/observer.ts';
import { temporaryFolder } from '../support/network-folder.ts';

test('a node that takes any free port for its peers reports the port in use', async (t) => {
  const network = loadNetwork(packagedNetworkDirectory('devnet'));
  const flags = new Map<string, unknown>([
    ['http.enabled', false],
    ['p2p.host', '127.0.0.1'],
    ['p2p.port', 0],
    ['forging.enabled', false],
    ['verifier.threads', 0],
  ]);
  const config = loadConfig({ network, environment: {}, flags });
  const node = await startNode({ network, dataDirectory: temporaryFolder(t), config, observer: SILENT });
  t.teardown(() => node.close());
  t.true(node.wsPort > 0);
});

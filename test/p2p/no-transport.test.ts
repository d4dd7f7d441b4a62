import test from 'ava';

import { createNoTransport } from '../../src/p2p/no-transport.ts';
import type { TransportHandlers } from '../../src/ports/transport.ts';

test('a node without peers has a transport that does nothing and says so', async (t) => {
  const transport = createNoTransport();
  await transport.start({} as TransportHandlers);
  t.deepEqual(transport.connections(), []);
  await t.throwsAsync(transport.connect({ ip: '127.0.0.1', wsPort: 5000 }), { code: 'DIAL_FAILED' });
  await t.throwsAsync(transport.request('127.0.0.1:5000', { kind: 'tip' }), { code: 'REQUEST_FAILED' });
  transport.send('127.0.0.1:5000', { kind: 'transactionIds', ids: ['1'] });
  transport.disconnect('127.0.0.1:5000', { code: 1000, reason: '' });
  await transport.close();
});

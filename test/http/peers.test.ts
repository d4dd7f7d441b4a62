import test from 'ava';
import { fakeNode, firstOf, serve } from './fake-node.ts';

test('peers are filtered by what they report, in either spelling of the state', async (t) => {
  for (const generation of [2, 3] as const) {
    const fake = fakeNode(generation);
    fake.peers = [
      { info: { ip: '10.0.0.1', wsPort: 1, height: 5, version: '1.10.0' }, state: 'disconnected' },
      { info: { ip: '10.0.0.2', wsPort: 2, height: 5, version: '1.9.0' }, state: 'connected' },
      { info: { ip: '10.0.0.3', wsPort: 3 }, state: 'connected' },
      { info: { ip: '10.0.0.4', wsPort: 4, height: 9, version: '1.9.0' }, state: 'connected' },
    ];
    const ask = await serve(t, fake);
    const portsOf = async (query: string) => {
      const { body } = await ask(`/peers?${query}`);
      return (body as { data: { wsPort: number }[] }).data.map(({ wsPort }) => wsPort).join('');
    };
    t.is(await portsOf(''), '3421', 'a missing height first in descending order, connected first among equals');
    t.is(await portsOf('sort=height:asc'), '2143');
    t.is(await portsOf('sort=version:asc'), '1243', 'versions compare as text');
    t.is(await portsOf('height=5&state=connected'), '2');
    t.is(await portsOf('state=1'), '1');
    t.is(await portsOf('state=2&limit=1&offset=2'), '2');
    t.is(await portsOf('state=0'), '');
    t.is(await portsOf('os=linux'), '');
    t.is(await portsOf('ip=10.0.0.3'), '3');
  }
});

test('generation 3 hides peers that do not want to be listed', async (t) => {
  const fake = fakeNode(3);
  fake.peers = [{ info: { ip: '10.0.0.1', wsPort: 1, advertiseAddress: false }, state: 'connected' }];
  t.deepEqual((await (await serve(t, fake))('/peers')).body, {
    meta: { offset: 0, limit: 10, count: 0 },
    data: [],
    links: {},
  });
});

test('a peer shows only its own report, and its state in the words of the generation', async (t) => {
  for (const [generation, state] of [
    [2, 1],
    [3, 'disconnected'],
  ] as const) {
    const fake = fakeNode(generation);
    fake.peers = [{ info: { ip: '10.0.0.1', wsPort: 5 }, state: 'disconnected' }];
    t.deepEqual(firstOf((await (await serve(t, fake))('/peers')).body), { ip: '10.0.0.1', wsPort: 5, state });
  }
});

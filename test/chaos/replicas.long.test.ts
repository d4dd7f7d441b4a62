import test from 'ava';
import { haproxyProgram } from './haproxy.ts';
import { chanceOf } from './killed-nodes.ts';
import { runReplicas } from './replicas.ts';

test('a client that sends the height of its last answer gets no older state from three faulty nodes, even in a reorg', async (t) => {
  t.timeout(900_000);
  const haproxy = haproxyProgram();
  if (haproxy === undefined) t.log('HAProxy is not installed: the clients ask the nodes in turn');
  const faults = ['kill', 'stop', 'pause'] as const;
  const { clients, early, reverted } = await runReplicas({
    ...{
      minutes: 0.5,
      clients: 16,
      reorganisations: 1,
      faults,
      haproxy,
      chance: chanceOf(20),
      log: (line) => t.log(line),
    },
  });
  t.log(`${clients.answered} answered, ${clients.controlBack} went back without minHeight`);
  t.true(clients.answered > 50);
  t.deepEqual(clients.back, []);
  t.deepEqual(clients.failed, []);
  t.deepEqual(early, []);
  t.true((reverted[0] ?? 0) >= 2);
});

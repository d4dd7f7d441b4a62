import test from 'ava';
import { deadlineMs, planDevnet, planFollower } from '../../src/cli/devnet/plan.ts';
import { plainScreen, summaryLine, tableLines, type NodeRow } from '../../src/cli/devnet/table.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';

const network = loadNetwork(packagedNetworkDirectory('devnet'));

test('a plan assigns each delegate to exactly one node, and makes all other nodes the peers of a node', (t) => {
  for (const count of [1, 2, 4, 7]) {
    const nodes = planDevnet({ nodes: count, httpPort: 4000, wsPort: 5000, directory: '/d', network });
    const keys = nodes.flatMap(({ delegates }) => delegates.map(({ publicKey }) => publicKey));
    t.is(keys.length, 101);
    t.is(new Set(keys).size, 101);
    for (const node of nodes) {
      t.is(node.httpPort, 4000 + node.index);
      t.is(node.directory, `/d/node-${node.index}`);
      const { p2p } = node.config as { p2p: { port: number; fixedPeers: string[] } };
      t.is(p2p.port, 5000 + node.index);
      t.is(p2p.fixedPeers.length, count - 1);
      t.false(p2p.fixedPeers.includes(`127.0.0.1:${p2p.port}`));
    }
  }
});

test('no node of a devnet has reading processes or verifier threads, also an added one', (t) => {
  const request = { httpPort: 4000, wsPort: 5000, directory: '/d', network };
  const nodes = planDevnet({ nodes: 2, ...request });
  for (const { config } of [...nodes, planFollower(nodes, request)]) {
    const { http, verifier } = config as { http: { processes?: number }; verifier: { threads?: number } };
    t.deepEqual([http.processes, verifier.threads], [0, 0]);
  }
});

test('nodes of generation 2 wait for consensus unless they are alone', (t) => {
  const older = { ...network, params: { ...network.params, generation: 2 as const } };
  const consensus = (nodes: number, of = older) =>
    planDevnet({ nodes, httpPort: 4000, wsPort: 5000, directory: '/d', network: of }).map(
      ({ config }) => (config as { forging: { consensusMin?: number } }).forging.consensusMin,
    );
  t.deepEqual(consensus(1), [0]);
  t.deepEqual(consensus(2), [51, 51]);
  t.deepEqual(consensus(2, network as typeof older), [undefined, undefined]);
});

test('overlapping ports, and ports above 65535, are refused', (t) => {
  const plan = (httpPort: number, wsPort: number) => () =>
    planDevnet({ nodes: 4, httpPort, wsPort, directory: '/d', network });
  t.throws(plan(4000, 4003), { code: 'USAGE' });
  t.throws(plan(4003, 4000), { code: 'USAGE' });
  t.notThrows(plan(4004, 4000));
  t.throws(plan(4000, 65_533), { code: 'USAGE' });
  t.notThrows(plan(4000, 65_532));
});

test('an added node above the highest number, or with a port above 65535, is refused', (t) => {
  const base = { httpPort: 4000, wsPort: 5000, directory: '/d', network };
  const [node] = planDevnet({ nodes: 1, ...base });
  const nodes = Array.from({ length: 100 }, () => node!);
  t.throws(() => planFollower(nodes, base), { code: 'USAGE', message: 'a devnet has at most 100 nodes' });
  t.is(planFollower(nodes.slice(1), base).index, 99);
  t.throws(() => planFollower(nodes.slice(0, 2), { ...base, wsPort: 65_534 }), {
    code: 'USAGE',
    message: /above 65535/,
  });
  t.notThrows(() => planFollower(nodes.slice(0, 1), { ...base, wsPort: 65_534 }));
});

test('the deadline grows with height and block time', (t) => {
  t.is(deadlineMs(15, 2), 270_000);
  t.is(deadlineMs(100, 10), 3_180_000);
});

const answering: NodeRow = {
  index: 0,
  httpPort: 4000,
  wsPort: 5000,
  state: { height: 12, finalized: 3, peers: 3, forged: 6, missed: 1 },
};
const silent: NodeRow = { index: 1, httpPort: 4001, wsPort: 5001, state: undefined };

test('the table has a header line and one line per node', (t) => {
  const lines = tableLines([answering, silent]);
  t.is(lines.length, 3);
  t.deepEqual(lines[0]?.trim().split(/\s+/), [
    'node',
    'http',
    'ws',
    'height',
    'finalized',
    'peers',
    'forged',
    'missed',
  ]);
  t.deepEqual(lines[1]?.trim().split(/\s+/), ['0', '4000', '5000', '12', '3', '3', '6', '1']);
  t.deepEqual(lines[2]?.trim().split(/\s+/), ['1', '4001', '5001', 'starting']);
});

test('the summary is written only when it changed, and not more often than allowed', (t) => {
  t.is(summaryLine([silent]), '0 of 1 nodes answer');
  t.is(summaryLine([answering, silent]), '1 of 2 nodes answer, height 12, finalized 3, forged 6, missed 1');
  const written: string[] = [];
  let nowMs = 0;
  const screen = plainScreen(
    (line) => void written.push(line),
    1000,
    () => nowMs,
  );
  screen.show([silent]);
  screen.show([answering]);
  nowMs = 1000;
  screen.show([answering]);
  nowMs = 5000;
  screen.show([answering]);
  t.is(written.length, 1, 'nothing is said of nodes that do not answer yet, nor twice the same');
  nowMs = 9000;
  screen.show([answering, silent]);
  t.is(written.length, 2);
});

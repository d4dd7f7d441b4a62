import test from 'ava';
import { isProblemLine, runCli } from '../support/cli.ts';
import { nodeAnswering } from '../support/node-answering.ts';

const PAUSED = {
  number: 2,
  time: '2026-01-02T03:04:05.678Z',
  module: 'forge',
  code: 'FORGING_PAUSED',
  message: 'forging is paused in a slot of ours',
  fields: { slot: 7, reason: 'synchronising with the network' },
};
const REFUSED = {
  number: 1,
  time: '2026-01-02T03:04:00.000Z',
  module: 'chain',
  code: 'BLOCK_SIGNATURE_INVALID',
  message: 'refused a block',
  fields: { height: 3, reason: 'bad\u001B[31m\nthing' },
};

test.serial('each diagnostic is printed on one line, the newest last, and cannot control the terminal', async (t) => {
  const node = await nodeAnswering(t, { '/node/diagnostics?limit=50': { data: [PAUSED, REFUSED] } });
  const { code, stdout } = await runCli(['why', '--node', node]);
  t.is(code, 0);
  t.is(
    stdout,
    '2026-01-02 03:04:00 chain BLOCK_SIGNATURE_INVALID: refused a block  height=3  reason=bad?[31m?thing\n' +
      '2026-01-02 03:04:05 forge FORGING_PAUSED: forging is paused in a slot of ours  slot=7  reason="synchronising with the network"\n',
  );
});

test.serial('with --json diagnostics are printed as JSON, and --limit is sent to the node', async (t) => {
  const node = await nodeAnswering(t, { '/node/diagnostics?limit=1': { data: [PAUSED] } });
  const { stdout } = await runCli(['why', '--node', node, '--json', '--limit', '1']);
  t.deepEqual(JSON.parse(stdout), { diagnostics: [PAUSED] });
});

test.serial('a node without diagnostics says so, and one that does not answer is an error', async (t) => {
  const node = await nodeAnswering(t, { '/node/diagnostics?limit=50': { data: [] } });
  t.is(
    (await runCli(['why', '--node', node])).stdout,
    'nothing was refused, dropped or missed since the node started\n',
  );
  const gone = await runCli(['why', '--node', 'http://127.0.0.1:1']);
  t.is(gone.code, 1);
  t.true(isProblemLine(gone.stderr), gone.stderr);
});

test.serial(
  'the status of a lagging node shows how far it has come, its download rate and the estimated time left',
  async (t) => {
    const status = {
      height: 500,
      chainMaxHeightFinalized: 400,
      networkHeight: 2000,
      consensus: 0,
      syncing: true,
      transactions: { confirmed: 5, total: 6 },
    };
    const others = {
      '/node/constants': { data: { version: '3.0.2', nethash: 'ab' } },
      '/peers?state=connected&limit=100': { data: [] },
    };
    const syncProgress = { targetHeight: 2000, blocksPerS: 12.5, secondsLeft: 120 };
    const behind = await nodeAnswering(t, { ...others, '/node/status': { data: { ...status, syncProgress } } });
    const { stdout } = await runCli(['status', '--node', behind]);
    t.true(stdout.includes('500 (catching up: 25 % of 2000, 12.5 blocks/s, 2 min 00 s left)'), stdout);
    const begun = await nodeAnswering(t, { ...others, '/node/status': { data: status } });
    t.true((await runCli(['status', '--node', begun])).stdout.includes('500 (catching up)'));
  },
);

import test from 'ava';
import { isProblemLine, runCli } from '../support/cli.ts';
import { nodeAnswering } from '../support/node-answering.ts';

const OPEN = {
  ip: '20.0.0.1',
  wsPort: 5000,
  verdict: 'connected',
  direction: 'outbound',
  since: '2026-01-02T03:04:05.678Z',
  roles: ['fixed'],
  list: 'tried',
  reputation: 90,
  height: 7,
  latencyMs: 12,
};
const BANNED = {
  ip: '20.0.0.2',
  verdict: 'banned',
  until: '2026-01-03T03:04:05.678Z',
  reason: 'BLOCK_MALFORMED: bad\u001B[31m',
  roles: [],
  reputation: 0,
};
const DROPPED = {
  ip: '20.0.0.3',
  wsPort: 5000,
  verdict: 'dropped',
  direction: 'inbound',
  since: '2026-01-02T03:04:05.678Z',
  code: 4418,
  reason: 'Evicted',
  roles: [],
  reputation: 100,
};

test.serial('a verdict that only a newer node knows is printed as the node sent it', async (t) => {
  const newer = { ...DROPPED, verdict: 'resting\u001B[2J', reason: 'too slow' };
  const node = await nodeAnswering(t, { '/node/peers?limit=100': { data: [newer] } });
  const { stdout } = await runCli(['peers', '--node', node]);
  t.is(stdout, '20.0.0.3:5000          resting?[2J: too slow\n');
});

test.serial('a member that the node does not send is printed as a question mark', async (t) => {
  const { code: _, since: __, ...bare } = DROPPED;
  const node = await nodeAnswering(t, { '/node/peers?limit=100': { data: [bare] } });
  const { stdout } = await runCli(['peers', '--node', node]);
  t.is(stdout, '20.0.0.3:5000          dropped at ?, code ?: Evicted\n');
});

test.serial(
  'each peer is printed on one line with its verdict, and its text cannot control the terminal',
  async (t) => {
    const node = await nodeAnswering(t, { '/node/peers?limit=100': { data: [OPEN, BANNED, DROPPED] } });
    const { code, stdout } = await runCli(['peers', '--node', node]);
    t.is(code, 0);
    t.is(
      stdout,
      '20.0.0.1:5000          connected out since 2026-01-02 03:04:05  height 7  12 ms  reputation 90  fixed\n' +
        '20.0.0.2               banned until 2026-01-03 03:04:05: BLOCK_MALFORMED: bad?[31m\n' +
        '20.0.0.3:5000          dropped at 2026-01-02 03:04:05, code 4418: Evicted\n',
    );
  },
);

test.serial('with --json peers are printed as JSON, and a node that does not answer is an error', async (t) => {
  const node = await nodeAnswering(t, { '/node/peers?limit=2': { data: [OPEN] } });
  const { stdout } = await runCli(['peers', '--node', node, '--json', '--limit', '2']);
  t.deepEqual(JSON.parse(stdout), { peers: [OPEN] });
  const gone = await runCli(['peers', '--node', 'http://127.0.0.1:1']);
  t.is(gone.code, 1);
  t.true(isProblemLine(gone.stderr), gone.stderr);
});

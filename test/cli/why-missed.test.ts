import { createServer } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { isProblemLine, runCli } from '../support/cli.ts';
import type { Untyped } from '../support/untyped.ts';

const EPOCH_MS = Date.parse('2016-05-24T17:00:00.000Z');
const BLOCK_TIME_S = 10;
/** Slots 1000 and 1001 have blocks, 1002 to 1004 have none, 1005 has one and is the tip. */
const SLOTS = new Map([
  [8, 1000],
  [9, 1001],
  [10, 1005],
]);
const CURRENT_SLOT = 1006;
const forgers = Array.from({ length: 101 }, (_, ahead) => {
  const nextSlot = CURRENT_SLOT + 1 + ahead;
  return { username: `d${nextSlot % 101}`, publicKey: `key${nextSlot % 101}`, nextSlot };
});
const nameOf = (slot: number): string => `d${slot % 101}`;

function decision(slot: number, fields: object): object {
  const time = new Date(EPOCH_MS + slot * BLOCK_TIME_S * 1000 + 500).toISOString();
  return { number: 1, time, room: 'forge', code: 'FORGING_PAUSED', message: 'a slot of ours passes unused', fields };
}

async function node(t: ExecutionContext): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://node');
    const header = (height: number) => ({ height, timestamp: (SLOTS.get(height) ?? 0) * BLOCK_TIME_S });
    const height = Number(url.searchParams.get('height'));
    const fromSlot = Number(url.searchParams.get('fromTimestamp')) / BLOCK_TIME_S;
    const answers: Record<string, Untyped> = {
      '/api/node/status': { height: 10, secondsSinceEpoch: CURRENT_SLOT * BLOCK_TIME_S + 3 },
      '/api/node/constants': { epoch: new Date(EPOCH_MS).toISOString() },
      '/api/delegates/forgers': forgers,
      '/api/node/status/forging': [{ publicKey: `key${1002 % 101}` }, { publicKey: `key${1004 % 101}` }],
      '/api/node/decisions': [
        decision(1003, { height: 10, delegate: `key${1003 % 101}`, reason: 'signature' }),
        decision(1002, { slot: 1002, reason: 'synchronising with the network' }),
        decision(1, { slot: 1, reason: 'the record reaches back to here' }),
      ].map((entry, index) =>
        index === 0 ? { ...entry, room: 'chain', code: 'BLOCK_SIGNATURE_INVALID', message: 'refused a block' } : entry,
      ),
      '/api/blocks':
        height > 0
          ? [header(height)].filter((each) => SLOTS.has(each.height))
          : [...SLOTS].filter(([, slot]) => slot === fromSlot).map(([at]) => header(at)),
    };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ meta: {}, data: answers[url.pathname] }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
}

test.serial('each slot between two blocks is told with its forger and the reason that the node recorded', async (t) => {
  const url = await node(t);
  const { stdout, stderr } = await runCli(['why', 'missed', '10', '--node', url, '--json']);
  t.is(stderr, '');
  const { slots } = JSON.parse(stdout) as Untyped;
  t.deepEqual(
    slots.map(({ slot, delegate, isOwn }: Untyped) => [slot, delegate, isOwn]),
    [
      [1002, nameOf(1002), true],
      [1003, nameOf(1003), false],
      [1004, nameOf(1004), true],
    ],
  );
  t.regex(slots[0].reason, /synchronising with the network \(FORGING_PAUSED\)/);
  t.regex(slots[1].reason, /a block came and was refused: refused a block: signature \(BLOCK_SIGNATURE_INVALID\)/);
  t.regex(slots[2].reason, /switched off, or the node did not run/);
});

test.serial('a single slot is told of by its number', async (t) => {
  const { stdout } = await runCli(['why', 'missed', '1002', '--node', await node(t)]);
  t.regex(stdout, /^slot 1002, 2016-05-24 19:47:00 UTC, d93 \(forges on this node\): .*FORGING_PAUSED\)\n$/);
});

for (const [place, message] of [
  ['9', /no slot was missed before the block at height 9/],
  ['1', /nobody forges the genesis block/],
  ['1001', /slot 1001 was not missed: it has block 9/],
  ['1006', /slot 1006 is not over yet/],
  ['soon', /must be an integer/],
] as const) {
  test.serial(`a place without a gap is refused with the reason: ${place}`, async (t) => {
    const { code, stderr } = await runCli(['why', 'missed', place, '--node', await node(t)]);
    t.is(code, 2);
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, message);
  });
}

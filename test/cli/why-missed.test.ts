import { createServer } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { isProblemLine, runCli } from '../support/cli.ts';
import type { Untyped } from '../support/untyped.ts';

const EPOCH_MS = Date.parse('2016-05-24T17:00:00.000Z');
const BLOCK_TIME_S = 10;
/** Slots 1000 and 1001 have blocks, slots 1002 to 1004 have none, and slot 1005 has the block of the tip. */
const SLOTS = new Map([
  [8, 1000],
  [9, 1001],
  [10, 1005],
]);
const CURRENT_SLOT = 1006;
const TIP_SLOT = 1005;
const nameOf = (slot: number): string => `d${slot % 101}`;

function fact(slot: number, code: string, fields: object, module = 'forge'): object {
  const time = new Date(EPOCH_MS + slot * BLOCK_TIME_S * 1000 + 500).toISOString();
  return { time, module, code, message: 'forging is paused in a slot of ours', fields };
}

/** Diagnostics that the node recorded, by slot. */
const FACTS: Readonly<Record<number, readonly object[]>> = {
  1002: [
    fact(1002, 'FORGING_PAUSED', { slot: 1002, reason: 'synchronising with the network' }),
    fact(1002, 'BLOCK_FORGED', { slot: 1002, height: 10, blockId: '123' }),
    fact(1009, 'BLOCK_REVERTED', { slot: 1002, height: 10, blockId: '123', forHeight: 10, forBlockId: '456' }, 'chain'),
  ],
  1003: [fact(1003, 'BLOCK_SIGNATURE_INVALID', { slot: 1003, height: 10, reason: 'signature' }, 'chain')],
};

interface Recorded {
  /** First slot for which the node has records. */
  readonly sinceSlot: number;
  readonly switches: readonly { readonly slot: number; readonly on: boolean }[];
  readonly branches?: readonly Untyped[];
  readonly looks?: readonly Untyped[];
  readonly oldOrders?: readonly Untyped[];
  /** First slot that may belong to a round with unknown forgers. */
  readonly uncertainFrom?: number;
  readonly isForgerKnown?: boolean;
}

const WHOLE: Recorded = { sinceSlot: 1, switches: [{ slot: 1, on: true }], looks: [{ fromSlot: 1, toSlot: 1010 }] };

function forgerOf(slot: number, { uncertainFrom = Infinity, isForgerKnown = true }: Recorded): object {
  if (!isForgerKnown) return {};
  const height = slot <= TIP_SLOT ? 10 : 11;
  const place = slot % 101;
  return { forger: { publicKey: `key${place}`, username: `d${place}`, height, isCertain: slot < uncertainFrom } };
}

async function node(t: ExecutionContext, recorded = WHOLE, facts = FACTS): Promise<string> {
  const moment = (slot: number): string => new Date(EPOCH_MS + slot * BLOCK_TIME_S * 1000).toISOString();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://node');
    const header = (height: number) => ({ height, timestamp: (SLOTS.get(height) ?? 0) * BLOCK_TIME_S });
    const height = Number(url.searchParams.get('height'));
    const fromSlot = Number(url.searchParams.get('fromTimestamp')) / BLOCK_TIME_S;
    const answers: Record<string, Untyped> = {
      '/node/status': { height: 10, secondsSinceEpoch: CURRENT_SLOT * BLOCK_TIME_S + 3 },
      '/node/constants': { epoch: new Date(EPOCH_MS).toISOString(), blockTime: BLOCK_TIME_S },
      '/node/status/forging': [{ publicKey: `key${1002 % 101}` }, { publicKey: `key${1004 % 101}` }],
      '/node/slots': {
        since: moment(recorded.sinceSlot),
        slots: Array.from({ length: Number(url.searchParams.get('limit')) }, (_, index) => {
          const slot = Number(url.searchParams.get('from')) + index;
          return { slot, facts: facts[slot] ?? [], ...forgerOf(slot, recorded) };
        }),
        ...(recorded.branches === undefined ? {} : { branches: recorded.branches }),
        ...(recorded.looks === undefined ? {} : { looks: recorded.looks }),
        ...(recorded.oldOrders === undefined ? {} : { oldOrders: recorded.oldOrders }),
        switches: recorded.switches.map(({ slot, on }) => ({ time: moment(slot), delegate: `key${1004 % 101}`, on })),
      },
      '/blocks':
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

test.serial('each slot between two blocks is printed with its forger and the recorded reason', async (t) => {
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
  t.is(
    slots[0].reason,
    'forging is paused in a slot of ours: synchronising with the network (FORGING_PAUSED); ' +
      'then this node forged block 10 (123); ' +
      'then block 10 (123) was reverted at 19:48:10 UTC for the branch of block 10 (456)',
  );
  t.is(slots[1].reason, 'a block arrived and was refused: signature (BLOCK_SIGNATURE_INVALID)');
  t.is(slots[2].reason, 'the delegate was switched on and nothing was recorded of the slot');
});

test.serial(
  'a slot without a record is explained by the switch of its delegate or the start of the records',
  async (t) => {
    const reasonOf = async (recorded: Recorded): Promise<string> => {
      const { stdout } = await runCli(['why', 'missed', '1004', '--node', await node(t, recorded), '--json']);
      return JSON.parse(stdout).slots[0].reason;
    };
    const switches = [
      { slot: 900, on: true },
      { slot: 1003, on: false },
      { slot: 1005, on: true },
    ];
    t.is(await reasonOf({ sinceSlot: 1, switches }), 'the delegate was switched off on this node');
    t.is(await reasonOf({ sinceSlot: 1, switches: [] }), 'the delegate was switched off on this node');
    t.regex(
      await reasonOf({ sinceSlot: 1005, switches }),
      /^nothing is recorded: .* begin at 2016-05-24 19:47:30 UTC$/,
    );
  },
);

test.serial('a slot on a branch with another order of forgers is printed with that branch', async (t) => {
  const reasonOf = async (fromSlot: number, toSlot: number): Promise<string> => {
    const branch = { time: '2016-05-24T19:48:10.000Z', fromSlot, toSlot, forHeight: 10, forBlockId: '456' };
    const url = await node(t, { ...WHOLE, branches: [branch] });
    const { stdout } = await runCli(['why', 'missed', '1004', '--node', url, '--json']);
    return JSON.parse(stdout).slots[0].reason;
  };
  t.is(
    await reasonOf(1004, 1009),
    'the node was on a branch that it left at 19:48:10 UTC for the branch of block 10 (456): ' +
      'on that branch the slot belonged to another delegate',
  );
  t.regex(await reasonOf(1005, 1009), /^the delegate was switched on and nothing was recorded/);
});

async function missedAt(t: ExecutionContext, slot: number, recorded: Recorded): Promise<Untyped> {
  const { stdout } = await runCli(['why', 'missed', `${slot}`, '--node', await node(t, recorded, {}), '--json']);
  return JSON.parse(stdout).slots[0];
}

test.serial('a slot before the start of the node is not reported as a slot without a block', async (t) => {
  const down = { ...WHOLE, looks: [{ fromSlot: 1004, toSlot: 1010 }] };
  t.is(
    (await missedAt(t, 1003, down)).reason,
    'nothing is recorded: the node was started later, in slot 1004, and keeps no records of earlier runs; ' +
      'the chain has no block of the slot: ask the delegate',
  );
  t.is(
    (await missedAt(t, 1002, down)).reason,
    'nothing is recorded: the node was started later, in slot 1004, and keeps no records of earlier runs',
  );
  // The node ran before and after slot 1004, but not in this slot.
  const asleep = [
    { fromSlot: 990, toSlot: 1003 },
    { fromSlot: 1005, toSlot: 1010 },
  ];
  t.regex((await missedAt(t, 1004, { ...WHOLE, looks: asleep })).reason, /^this node did nothing in the slot: /);
  t.regex((await missedAt(t, 1004, { ...WHOLE, looks: [] })).reason, /^nothing is recorded: .* in no slot yet/);
});

test.serial(
  "the owner of a slot above the tip of the node's chain is printed as the owner of an old order",
  async (t) => {
    const stuck = { ...WHOLE, uncertainFrom: 1004 };
    const missed = await missedAt(t, 1004, stuck);
    t.is(missed.orderOfHeight, 10);
    t.regex(missed.reason, /^no block arrived here, and the chain of this node ends at height 10: another round may/);
    const { stdout } = await runCli(['why', 'missed', '1004', '--node', await node(t, stuck, {})]);
    t.regex(stdout, /UTC, perhaps d95 \(forges on this node\) by the order of height 10: /);
    const unknown = await missedAt(t, 1004, { ...WHOLE, isForgerKnown: false });
    t.is(unknown.delegate, undefined);
    t.is(unknown.reason, 'no block arrived here, and the owner of the slot is no longer known');
  },
);

test.serial(
  "an own slot that a lagging node took for another delegate's slot is printed with the old order",
  async (t) => {
    const oldOrders = [{ fromSlot: 1003, toSlot: 1004, height: 8 }];
    t.is(
      (await missedAt(t, 1004, { ...WHOLE, oldOrders })).reason,
      'the node was behind, at height 7: by the order of height 8 the slot belonged to another delegate',
    );
  },
);

test.serial('a slot during a full disk is printed with the time since which the disk is full', async (t) => {
  const full = fact(1004, 'FORGING_PAUSED', {
    slot: 1004,
    reason: 'The chain store could not be written: ENOSPC.',
    cause: 'STORE_WRITE_FAILED',
    writesFailSince: '2016-05-24T19:40:07.123Z',
  });
  const { stdout } = await runCli([
    'why',
    'missed',
    '1004',
    '--node',
    await node(t, WHOLE, { 1004: [full] }),
    '--json',
  ]);
  t.is(
    JSON.parse(stdout).slots[0].reason,
    'forging is paused in a slot of ours, writes have failed since 2016-05-24 19:40:07 UTC: ' +
      'The chain store could not be written: ENOSPC. (FORGING_PAUSED)',
  );
});

test.serial('a single slot is found by its number', async (t) => {
  const { stdout } = await runCli(['why', 'missed', '1002', '--node', await node(t)]);
  t.regex(stdout, /^slot 1002, 2016-05-24 19:47:00 UTC, d93 \(forges on this node\): .*FORGING_PAUSED\); then .*\n$/);
});

for (const [place, message] of [
  ['9', /no slot was missed before the block at height 9/],
  ['1', /the genesis block has no forger/],
  ['1001', /slot 1001 was not missed: it has block 9/],
  ['1006', /slot 1006 is not over yet/],
  ['soon', /must be an integer/],
] as const) {
  test.serial(`an argument without a missed slot is refused with the reason: ${place}`, async (t) => {
    const { code, stderr } = await runCli(['why', 'missed', place, '--node', await node(t)]);
    t.is(code, 2);
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, message);
  });
}

import test from 'ava';
import { fc } from '../support/fast-check.ts';

import { gen2Dialect } from '../../src/p2p/dialect-gen2.ts';
import { blocksOf, rowsOf } from '../../src/p2p/rows-gen2.ts';
import type { NodeInfo, PeerRequest } from '../../src/ports/transport.ts';
import type { Block } from '../../src/protocol/types.ts';
import { ChainMaker, makeNetwork } from '../support/chain-maker.ts';
import { randomTransactions } from '../support/random-transactions.ts';

const NETHASH = '198f2b61a8eb95fbeed58b8216780b68f697f26b849acf00c8c93bb9b24f783d';
const dialect = gen2Dialect({ nethash: NETHASH, protocolVersion: '1.1', nonce: 'AAAAAAAAAAAAAAAA' });
const REQUESTS: readonly PeerRequest[] = [
  { kind: 'peers' },
  { kind: 'blocksAfter', blockId: '1' },
  { kind: 'highestCommonBlock', blockIds: ['1', '2', '3'] },
  { kind: 'transactions' },
  { kind: 'signatures' },
];
const PROCEDURES = ['updateMyself', 'status', 'list', 'blocks', 'blocksCommon', 'getTransactions', 'getSignatures'];
const MEMBERS = ['data', 'event', 'procedure', 'success', 'blocks', 'peers', 'common', 'ids', 'lastBlockId', 'b_id'];

const overTheWire = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

test('no input from the wire makes the decoder throw', (t) => {
  const anything = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(
      fc.constantFrom(...MEMBERS),
      fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...MEMBERS), fc.jsonValue())),
    ),
  );
  fc.assert(
    fc.property(anything, fc.constantFrom(...PROCEDURES, 'nosuch'), (value, procedure) => {
      dialect.readCall(value);
      dialect.readCall({ procedure, data: value });
      for (const event of ['remote-message', 'postBlock', 'postTransactions', 'postSignatures']) {
        dialect.readEvent(event, value);
        dialect.readEvent('remote-message', { event, data: value });
      }
      dialect.readInfo(value, { ip: '1.2.3.4', wsPort: 5000 });
      dialect.readQuery(new URLSearchParams({ options: JSON.stringify(value), wsPort: '1' }), '1.2.3.4', 'nonce');
      for (const request of REQUESTS) {
        const conversation = dialect.ask(request);
        let calls = 0;
        for (let step = conversation.next(); step.done !== true; calls += 1) step = conversation.next({ data: value });
        t.true(calls <= 3);
      }
    }),
    { numRuns: 400 },
  );
});

test('an error answer of a node is a refusal, and never counts as malformed', (t) => {
  const failures = [
    { message: 'Too many requests wait for an answer' },
    { message: 'Internal error' },
    { code: 'BLOCK_UNKNOWN', message: 'Invalid lastBlockId requested: 1' },
  ];
  for (const request of REQUESTS) {
    for (const failure of failures) {
      const conversation = dialect.ask(request);
      const { value: asked } = conversation.next();
      const call = dialect.readCall((asked as { data: unknown }).data);
      if (call.kind === 'refused') return t.fail(call.error.message);
      // If a node has dialled Bloomery, Bloomery may answer its call with an error packet. If Bloomery has dialled the
      // node (`outbound`), Bloomery must send the failure as the data of the answer.
      const { done, value } = conversation.next(overTheWire(dialect.packFailure(call, failure, 'outbound')));
      t.true(done);
      t.like(value, { kind: 'refused', reason: failure.message });
    }
  }
  const busy = dialect.packFailure({ kind: 'info' }, { message: 'Internal error' }, 'outbound');
  t.throws(() => dialect.openInfoAnswer(busy), { code: 'CALL_FAILED', message: 'Internal error' });
  return undefined;
});

test('blocks converted to rows and back are the same blocks', (t) => {
  const network = makeNetwork({ generation: 2 });
  const maker = new ChainMaker(network);
  const { codec } = maker.rules;
  let state = 7;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >>> 8) % limit;
  };
  const kinds = new Set<string>();
  const blocks: Block[] = [];
  while (blocks.length < 40) {
    const block = maker.forge({ transactions: below(3) === 0 ? [] : randomTransactions(maker, 10, below) });
    for (const { payload } of block.transactions) kinds.add(payload.kind);
    blocks.push(block);
  }
  t.is(kinds.size, 5);
  const rows = overTheWire(rowsOf(blocks.map((block) => codec.blockToJson(block))));
  t.is(
    rows.length,
    blocks.reduce((sum, block) => sum + Math.max(1, block.transactions.length), 0),
  );
  const read = blocksOf(rows)?.map((json) => codec.blockFromJson(json));
  t.deepEqual(read, blocks);
});

test('transactions of the early history keep their assets in rows', (t) => {
  const dapp = { category: 1, name: 'a', description: 'b', tags: 'c,d', type: 0, link: 'e', icon: 'f' };
  const transactions = [
    { id: '1', type: 5, signatures: ['aa', 'bb'], signSignature: 'cc', asset: { dapp } },
    { id: '2', type: 6, amount: '5', signatures: [], asset: { inTransfer: { dappId: '7' } } },
    { id: '3', type: 7, amount: '6', signatures: [], asset: { outTransfer: { dappId: '7', transactionId: '8' } } },
  ];
  const block = { id: '9', height: 2, totalAmount: '9007199254740993', transactions };
  t.deepEqual(blocksOf(overTheWire(rowsOf([block]))), [block]);
});

test('an answer without valid rows is not read as blocks', (t) => {
  for (const rows of [undefined, null, {}, 'rows', [5], [{}], [{ b_id: 5 }]]) t.is(blocksOf(rows), undefined);
  t.deepEqual(blocksOf([]), []);
  // The blocks in an answer are rows of the peer's database. A peer may send the numbers in these rows as text.
  t.deepEqual(blocksOf([{ b_id: '1', b_height: '7', b_reward: 5, t_id: null, t_type: '0' }]), [
    { id: '1', height: 7, reward: 5, transactions: [] },
  ]);
});

test('an info and a query describe a peer alike', (t) => {
  fc.assert(
    fc.property(fc.record({ os: fc.string({ maxLength: 40 }), httpPort: fc.nat(), height: fc.nat() }), (some) => {
      const info: NodeInfo = {
        ...some,
        version: '2.3.8',
        wsPort: 5001,
        protocolVersion: '1.1',
        nonce: 'BBBBBBBBBBBBBBBB',
        broadhash: NETHASH,
      };
      const query = dialect.readQuery(new URLSearchParams(dialect.query(info)), '1.2.3.4', 'other');
      const pushed = dialect.readInfo(dialect.packInfo(info), { ip: '1.2.3.4', wsPort: 5001 });
      if (!query.accepted || pushed.kind !== 'accepted') return t.fail();
      t.deepEqual(query.info, pushed.info);
      const { wsPort: _, ...fields } = info;
      t.like(pushed.info, { ...fields, nethash: NETHASH });
      return undefined;
    }),
    { numRuns: 100 },
  );
});

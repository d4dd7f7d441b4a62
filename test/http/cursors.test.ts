import test, { type ExecutionContext } from 'ava';
import { createHttpServer } from '../../src/http/http-server.ts';
import { cursorIn, cursorText } from '../../src/http/cursor.ts';
import { openMemoryChainStore } from '../../src/store/chain/open.ts';
import { createQueries } from '../../src/store/query/queries.ts';
import { addressOf } from '../../src/crypto/keys.ts';
import { FAKE_CODEC } from '../support/fake-codec.ts';
import { paramsWith } from '../support/fixtures.ts';
import type { Untyped } from '../support/untyped.ts';
import { Dice, nextStep, PEOPLE } from '../store/world.ts';
import { fakeNode, serve } from './fake-node.ts';

/** A node with a chain of random blocks. `grow` appends more blocks. */
async function setUpNode(t: ExecutionContext, generation: 2 | 3) {
  const params = paramsWith({ generation });
  const store = openMemoryChainStore({ codec: FAKE_CODEC, params, shortListMax: 5 });
  const dice = new Dice(generation);
  const grow = (blocks: number) => {
    for (let i = 0; i < blocks; i += 1) {
      store.transact((writer) => {
        const { block, apply } = nextStep(dice, writer.tip());
        writer.append(block, apply);
      });
    }
  };
  grow(40);
  const fake = fakeNode(generation);
  const chain = createQueries(store, params, { atOnceMax: 20, sortedMax: 30 });
  const api = { ...fake.api, params, chain };
  const checked = await serve(t, { ...fake, api });
  const server = createHttpServer(api, { port: 0, address: '127.0.0.1' });
  const { port } = await server.start();
  t.teardown(() => server.close());
  /**
   * Sends a request without checking the answer against the OpenAPI document, because the address of one account is not
   * valid.
   */
  const ask = async (target: string): Promise<Untyped> => (await fetch(`http://127.0.0.1:${port}${target}`)).json();
  return { ask, checked, grow };
}

const PERSON = PEOPLE[0] ?? '';
/** Request targets of lists, each with a function that returns the identifiers of the entries. */
const LISTS = (generation: 2 | 3): readonly (readonly [string, (data: Untyped) => readonly string[]])[] => [
  ['/accounts?', (data) => data.map(({ address }: Untyped) => address)],
  ['/accounts?sort=balance:desc&', (data) => data.map(({ address }: Untyped) => address)],
  ['/blocks?', (data) => data.map(({ id }: Untyped) => id)],
  ['/blocks?sort=totalFee:desc&', (data) => data.map(({ id }: Untyped) => id)],
  [`/blocks?sort=totalAmount:asc&generatorPublicKey=${PERSON}&`, (data) => data.map(({ id }: Untyped) => id)],
  ['/delegates?', (data) => data.map(({ username }: Untyped) => username)],
  [`/delegates?sort=username:desc&`, (data) => data.map(({ username }: Untyped) => username)],
  ['/transactions?', (data) => data.map(({ id }: Untyped) => id)],
  ['/transactions?sort=timestamp:desc&', (data) => data.map(({ id }: Untyped) => id)],
  ['/transactions?sort=fee:desc&minAmount=1&', (data) => data.map(({ id }: Untyped) => id)],
  [`/transactions?senderIdOrRecipientId=${addressOf(PERSON)}&`, (data) => data.map(({ id }: Untyped) => id)],
  [`/transactions?type=${generation === 2 ? 8 : 11}&sort=type:desc&`, (data) => data.map(({ id }: Untyped) => id)],
  ['/dapps?', (data) => data.map(({ transactionId }: Untyped) => transactionId)],
  [`/voters?publicKey=${PERSON}&`, (data) => data.voters.map(({ address }: Untyped) => address)],
  [`/voters?publicKey=${PERSON}&sort=balance:desc&`, (data) => data.voters.map(({ address }: Untyped) => address)],
  [`/votes?publicKey=${PERSON}&`, (data) => data.votes.map(({ address }: Untyped) => address)],
];

async function walk(
  ask: (target: string) => Promise<Untyped>,
  list: string,
  namesOf: (data: Untyped) => readonly string[],
  between: () => void,
) {
  const names: string[] = [];
  for (let after: string | null = ''; after !== null; between()) {
    const { data, meta } = await ask(`/api${list}limit=4&after=${after}`);
    names.push(...namesOf(data));
    after = meta.next;
  }
  return names;
}

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: a list read by cursor equals the list read by offsets`, async (t) => {
    const { ask } = await setUpNode(t, generation);
    for (const [list, namesOf] of LISTS(generation)) {
      const { data, meta } = await ask(`/api${list}limit=100`);
      t.false('next' in meta, 'no cursor without a request for it');
      t.deepEqual(await walk(ask, list, namesOf, () => undefined), namesOf(data), list);
    }
  });

  test(`generation ${generation}: new blocks during a listing neither repeat nor hide entries`, async (t) => {
    const { ask, grow } = await setUpNode(t, generation);
    for (const list of [
      '/blocks?',
      '/blocks?sort=totalFee:desc&',
      '/transactions?',
      '/transactions?sort=timestamp:desc&',
    ]) {
      const names = (data: Untyped): readonly string[] => data.map(({ id }: Untyped) => id);
      const before = names((await ask(`/api${list}limit=100`)).data);
      const seen = await walk(ask, list, names, () => grow(1));
      t.is(new Set(seen).size, seen.length, list);
      t.deepEqual(
        seen.filter((id) => before.includes(id)),
        before,
        list,
      );
    }
  });
}

test('a cursor of another sort order, an invalid one and one beside an offset are refused by name', async (t) => {
  const { checked: ask } = await setUpNode(t, 3);
  t.is((await ask('/api/blocks?limit=2&after=')).status, 200);
  const cursor = (sort: string, value: string, tie: string) => cursorText({ sort, value, tie });
  for (const [query, message] of [
    [
      `/blocks?after=${cursor('height:asc', '3', '3')}`,
      'after is a cursor of a list with another sort than height:desc.',
    ],
    [`/blocks?after=${cursor('height:desc', '3', 'x')}`, 'after is not a cursor of this list.'],
    [`/blocks?sort=totalFee:asc&after=${cursor('totalFee:asc', 'x', '3')}`, 'after is not a cursor of this list.'],
    [`/transactions?after=${cursor('amount:asc', 'many', '1.1')}`, 'after is not a cursor of this list.'],
    [`/transactions?after=${cursor('amount:asc', '1', '99999999999.1')}`, 'after is not a cursor of this list.'],
    [`/accounts?after=${cursor('balance:asc', '', '1L')}`, 'after is not a cursor of this list.'],
    [`/voters?publicKey=${PERSON}&after=${cursor('publicKey:asc', 'zz', '1L')}`, 'after is not a cursor of this list.'],
    [`/delegates?after=${cursor('voteWeight:desc', 'a', '1L')}`, 'after is not a cursor of this list.'],
    ['/blocks?after=&offset=1', 'after and offset exclude each other.'],
  ] as const) {
    const { status, body } = await ask(`/api${query}`);
    t.is(status, 400, query);
    t.like(body, { errors: [{ name: 'after', in: 'query', code: 'INVALID_PARAM', message }] }, query);
  }
  for (const text of ['x', 'WzFd', 'WzEsMiwzXQ', Buffer.from('["a","b"]').toString('base64url'), 'A'.repeat(401)]) {
    const { status, body } = await ask(`/api/blocks?after=${text}`);
    t.is(status, 400, text);
    t.like(body, { errors: [{ name: 'after', errors: [{ code: 'INVALID_FORMAT' }] }] }, text);
  }
});

test('a cursor is encoded and decoded without change', (t) => {
  const cursor = { sort: 'username:desc', value: 'größe!', tie: '12345678901234567890L' };
  t.deepEqual(cursorIn(cursorText(cursor)), cursor);
});

/**
 * Tests the JSON members in the HTTP answers of a node with `strictDialect`. Each answer must contain only members that
 * the API description of the reference (lisk-sdk) names for this answer.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { ALICE, GROUP, serve, TIP, type Answer } from './fake-node.ts';
import { populatedNode } from './populated-node.ts';

type Members = Readonly<Record<'2' | '3', Readonly<Record<string, readonly string[]>>>>;

/**
 * Names of the members of each answer, by generation and by method and path of the request.
 * `test/vectors/http/README.md` describes the file.
 */
const MEMBERS = JSON.parse(
  readFileSync(join(packageDirectory(), 'test', 'vectors', 'http', 'members.json'), 'utf8'),
) as Members;

/** The request target for each GET operation that the reference's API description contains, except `GET /spec`. */
const TARGETS: Readonly<Record<string, string>> = {
  'GET /accounts': '/accounts',
  'GET /accounts/{address}/multisignature_groups': `/accounts/${GROUP.address}/multisignature_groups`,
  'GET /accounts/{address}/multisignature_memberships': `/accounts/${ALICE.address}/multisignature_memberships`,
  'GET /blocks': '/blocks',
  'GET /dapps': '/dapps',
  'GET /delegates': '/delegates',
  'GET /delegates/forgers': '/delegates/forgers',
  'GET /delegates/{address}/forging_statistics': `/delegates/${ALICE.address}/forging_statistics`,
  'GET /node/constants': '/node/constants',
  'GET /node/status': '/node/status',
  'GET /node/status/forging': '/node/status/forging',
  'GET /node/transactions/{state}': '/node/transactions/pending',
  'GET /peers': '/peers',
  'GET /transactions': '/transactions',
  'GET /voters': `/voters?address=${ALICE.address}`,
  'GET /votes': `/votes?address=${ALICE.address}`,
};

/**
 * Returns the paths of all members of a JSON value, with `[]` for the items of a list. Leaves out the members inside
 * `asset` and inside `links`, because these members may have any names.
 */
function membersOf(value: unknown, at = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => membersOf(each, `${at}[]`));
  if (typeof value !== 'object' || value === null || /(^|\.)(asset|links)$/.test(at)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const path = at === '' ? name : `${at}.${name}`;
    return [path, ...membersOf(member, path)];
  });
}

/**
 * Returns a fake node. Without the option `strictDialect`, the answers of this node contain many members that the
 * reference (a lisk-sdk node) does not have.
 */
function nodeWithAllMembers(generation: 2 | 3) {
  const fake = populatedNode(generation);
  fake.reorgs = { count: 1, latest: [{ timeMs: 0, commonHeight: 1, revertedBlocks: 1 }] };
  fake.receivedAtMs.set('77', 0);
  fake.forging = fake.forging.map((delegate) => {
    const paused = { reason: 'synchronising', sinceMs: 0 };
    return {
      ...delegate,
      waiting: { code: 'FORGING_WAITS_FOR_EMPTY_SLOT', reason: 'a slot is watched first' },
      paused,
    };
  });
  return fake;
}

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: a strict dialect sends no member that the description of the reference does not name`, async (t) => {
    const ask = await serve(t, nodeWithAllMembers(generation), { strictDialect: true });
    const described = MEMBERS[generation];
    const asked = Object.keys(described).filter((name) => name.startsWith('GET ') && name !== 'GET /spec');
    t.deepEqual(asked.sort(), Object.keys(TARGETS).sort());
    for (const [name, target] of Object.entries(TARGETS)) {
      const { status, body } = await ask(`/api${target}`);
      t.is(status, 200, target);
      const strangers = membersOf(body).filter((member) => described[name]?.includes(member) !== true);
      t.deepEqual([...new Set(strangers)], [], target);
    }
  });

  test(`generation ${generation}: without the prefix, and by default, the members of both generations are sent`, async (t) => {
    const strict = await serve(t, nodeWithAllMembers(generation), { strictDialect: true });
    const extended = await serve(t, nodeWithAllMembers(generation));
    const described = MEMBERS[generation];
    const added: string[] = [];
    for (const [name, target] of Object.entries(TARGETS)) {
      const own = await strict(target);
      t.is((await strict(target, { method: 'HEAD' })).status, 200, target);
      t.is((await strict(`/api${target}`, { method: 'HEAD' })).status, 405, target);
      t.is(own.text, (await extended(`/api${target}`)).text, target);
      const strangers = membersOf(own.body).filter((member) => described[name]?.includes(member) !== true);
      added.push(...strangers.map((member) => `${name} ${member}`));
    }
    for (const name of ['GET /node/status', 'GET /node/constants', 'GET /delegates', 'GET /peers'])
      t.true(
        added.some((member) => member.startsWith(name)),
        name,
      );
  });
}

test('accounts without a key have an empty one in a strict dialect, null elsewhere', async (t) => {
  const keyOf = ({ body }: Answer): unknown => (body as { data: { publicKey: unknown } }).data.publicKey;
  for (const path of ['/api/votes?address=12345L', '/api/voters?address=12345L']) {
    t.is(keyOf(await (await serve(t, populatedNode(3), { strictDialect: true }))(path)), '');
    t.is(keyOf(await (await serve(t, populatedNode(3)))(path)), null);
  }
});

test('confirmed transactions show when the node received them, if known', async (t) => {
  for (const generation of [2, 3] as const) {
    const fake = populatedNode(generation);
    const ask = await serve(t, fake);
    const received = async () => {
      const { body } = await ask('/api/transactions');
      return (body as { data: { receivedAt?: string }[] }).data.map(({ receivedAt }) => receivedAt);
    };
    t.true((await received()).every((moment) => moment === undefined));
    fake.receivedAtMs.set('77', 1_464_109_200_000);
    t.true((await received()).every((moment) => moment === '2016-05-24T17:00:00.000Z'));
  }
});

test("peers of generation 2 on the node's network have its network identifier", async (t) => {
  const fake = populatedNode(2);
  const { nethash, networkIdentifier } = fake.api.params;
  fake.peers = [
    { info: { ip: '10.0.0.1', wsPort: 1, height: TIP.height, nethash }, state: 'connected' },
    { info: { ip: '10.0.0.2', wsPort: 2, nethash: 'ff' }, state: 'disconnected' },
    { info: { ip: '10.0.0.3', wsPort: 3 }, state: 'disconnected' },
  ];
  const { body } = await (await serve(t, fake))('/api/peers?sort=height:asc');
  t.deepEqual(
    (body as { data: { wsPort: number; networkId?: string }[] }).data.map(({ networkId }) => networkId),
    [networkIdentifier, undefined, undefined],
  );
});

import test from 'ava';
import { fc } from '../support/fast-check.ts';

import { readAnswer } from '../../src/p2p/calls-gen3.ts';
import { FrameFilter } from '../../src/p2p/frame-filter.ts';
import { gen3Dialect } from '../../src/p2p/dialect-gen3.ts';
import { frameOf, ipv4Of, jsonBytes, parseJson, structureBytes } from '../../src/p2p/frame-validation.ts';
import { isIpv4 } from '../../src/primitives/ip.ts';
import type { PeerInfo, PeerRequest } from '../../src/ports/transport.ts';
import { clock, NETWORK, nodeInfo } from './support.ts';

const dialect = gen3Dialect({ networkIdentifier: NETWORK, protocolVersion: '2.0' });
const REQUESTS: readonly PeerRequest[] = [
  { kind: 'peers' },
  { kind: 'tip' },
  { kind: 'blocksAfter', blockId: '1' },
  { kind: 'highestCommonBlock', blockIds: ['1'] },
  { kind: 'transactions' },
  { kind: 'signatures' },
];
/**
 * Names of the members in messages between peers. With these names, the random frames of the tests are similar to real
 * frames.
 */
const KEYS = [
  'event',
  'data',
  'cid',
  'rid',
  'error',
  'procedure',
  'peers',
  'ids',
  'blockId',
  'transactionIds',
  'block',
];
const NAMES = [
  'remote-message',
  'rpc-request',
  'getPeers',
  'getBlocksFromId',
  'postBlock',
  'postNodeInfo',
  '#handshake',
];
const { value: anything } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.jsonValue(),
    fc.constantFrom<unknown>(...NAMES, 1, 2, null, '__proto__', 'constructor'),
    fc.dictionary(fc.constantFrom(...KEYS, '__proto__', 'toString'), tie('value'), { maxKeys: 6 }),
    fc.array(tie('value'), { maxLength: 4 }),
  ),
}));
/**
 * Generates random values (`anything`), and random frames that differ from valid frames in a few wrong, missing or
 * additional members.
 */
const nearFrame = fc.oneof(
  anything,
  fc.record(
    {
      event: fc.oneof(fc.constantFrom(...NAMES), anything),
      data: fc.oneof(
        anything,
        fc.record(
          { event: fc.constantFrom(...NAMES), procedure: fc.constantFrom(...NAMES), data: anything },
          { requiredKeys: [] },
        ),
      ),
      cid: fc.oneof(fc.nat(), anything),
      extra: anything,
    },
    { requiredKeys: [] },
  ),
  fc.record({ rid: fc.oneof(fc.nat(), anything), data: anything, error: anything }, { requiredKeys: ['rid'] }),
);

test('no input from the wire makes the decoder throw', (t) => {
  fc.assert(
    fc.property(nearFrame, fc.constantFrom('acceptor', 'dialer'), (value, role) => {
      const text = JSON.stringify(value) ?? '';
      const filter = new FrameFilter(role, dialect, clock, {
        overused: () => undefined,
        flooded: () => undefined,
        overflowed: () => undefined,
      });
      filter.count({ bytes: text.length, seemsAnswer: false });
      filter.admit(text);
      const { data } = (value ?? {}) as { data?: unknown };
      dialect.readCall(data);
      dialect.readEvent('remote-message', data);
      dialect.readInfo(data, { ip: '1.2.3.4', wsPort: 5000 });
      for (const request of REQUESTS) readAnswer(request, value);
      dialect.readQuery(new URLSearchParams({ options: text, wsPort: '1' }), '1.2.3.4', 'nonce');
      t.pass();
    }),
    { numRuns: 500 },
  );
});

test('before arrays and objects are created, their depth is limited, but not their number', (t) => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  t.not(parseJson(nested(3_421)), undefined);
  t.is(parseJson(nested(3_422)), undefined);
  t.is(parseJson(nested(1_000_000)), undefined);
  const many = (count: number) => `[${'{},'.repeat(count - 2)}{}]`;
  // A frame with very many objects may be a valid block, because an asset may contain any JSON in generation 3.
  t.not(parseJson(many(1_000_000)), undefined);
  t.is(structureBytes(many(1_000_000)), 8_000_000);
  t.is(structureBytes('{"first":[],"second":"a text of 20 bytes"}'), 2 * 8 + 2 * 32);
  t.is(structureBytes(JSON.stringify(':'.repeat(100))), 4 * 102);
  const zeros = (count: number) => `[${'0,'.repeat(count)}0]`;
  t.not(parseJson(zeros(1_500_000)), undefined);
  // Brackets inside a string do not count towards the depth.
  const text = `${'[{'.repeat(100_000)}"\\`;
  t.is(parseJson(JSON.stringify(text)), text);
});

test('each parsed value can be written as JSON, whatever the names of its members', (t) => {
  const shapes = [
    ...['[', '{"a":', '{"0":', '{"a":0,"0":', '{"__proto__":', '{"\\u0030":'],
    ...['{"__proto__":0,"a":', '{"a":0,"__proto__":0,"b":', '{"__proto__":{"a":1},"0":', '[{"__proto__":1},'],
  ];
  const nested = (open: string, levels: number): string =>
    `${open.repeat(levels)}0${(open.startsWith('[') ? ']' : '}').repeat(levels)}`;
  for (const open of shapes) {
    // `open` is the text that begins one level of nested arrays or objects. A node of lisk-sdk 3.0.2 can write at most
    // 1,847 levels as JSON if the names of the members are integers, such as `"0"`. Our node must be able to parse
    // 1,847 levels with each text `open`.
    t.not(parseJson(nested(open, 1_847)), undefined, open);
    for (let levels = 1_400; levels < 3_500; levels += 20) {
      const value = parseJson(nested(open, levels));
      if (value !== undefined) t.notThrows(() => JSON.stringify({ event: [{ data: value }] }), `${open} ${levels}`);
    }
  }
  t.not(parseJson(nested('{"__proto__":0,"a":', 3_400)), undefined, 'as deep as without the removed member');
  t.is(parseJson(nested('{"0":', 3_400)), undefined);
  t.is(jsonBytes(JSON.parse(nested('{"0":', 4_000))), Infinity);
  t.is(jsonBytes({ a: 'ü' }), 10);
});

test('strings with quotes and backslashes hide their brackets, and only theirs, from the limit of the depth', (t) => {
  const characters = fc.constantFrom('"', '\\', '[', ']', 'a');
  const texts = fc.array(characters, { maxLength: 30 }).map((each) => each.join(''));
  const inside = (depth: number, text: string) =>
    parseJson(`${'['.repeat(depth)}${JSON.stringify(text)},"",[]${']'.repeat(depth)}`);
  fc.assert(
    fc.property(texts, (text) => {
      t.not(inside(3_420, text), undefined, text);
      t.is(inside(3_421, text), undefined, text);
    }),
    { numRuns: 300 },
  );
  t.is(parseJson('["'), undefined);
  t.is(parseJson('"\\"'), undefined);
});

test('an accepted frame has only the members of the message layer', (t) => {
  const events = new Set(['remote-message', 'rpc-request']);
  fc.assert(
    fc.property(nearFrame, (value) => {
      const frame = frameOf(parseJson(JSON.stringify(value) ?? ''), events);
      if (frame === undefined) return;
      const members = 'event' in frame ? ['event', 'data', 'cid'] : ['rid', 'data', 'error'];
      t.true(Object.keys(frame).every((name) => members.includes(name)));
      if ('event' in frame) t.true(events.has(frame.event));
    }),
    { numRuns: 500 },
  );
});

test('an info, a query and a list entry describe a peer alike', (t) => {
  const text = fc.string({ maxLength: 40 });
  const count = fc.nat();
  fc.assert(
    fc.property(
      fc.record({ os: text, version: text.filter((version) => version !== ''), httpPort: count, height: count }),
      fc.record({ blockVersion: count, maxHeightPrevoted: count, advertiseAddress: fc.boolean() }),
      (some, more) => {
        const info = nodeInfo({ ...some, ...more, wsPort: 5001, nonce: 'ab'.repeat(8) });
        const ip = '1.2.3.4';
        const query = dialect.readQuery(new URLSearchParams(dialect.query(info)), ip, 'other');
        const pushed = dialect.readInfo(dialect.packInfo(info), { ip, wsPort: 5001 });
        if (!query.accepted || pushed.kind !== 'accepted') return t.fail();
        t.deepEqual(query.info, pushed.info);
        const { wsPort: _, ...fields } = info;
        t.like(pushed.info, fields);
        const packed: unknown = JSON.parse(JSON.stringify(dialect.packAnswer({ kind: 'peers' }, [pushed.info], 'x')));
        const listed = readAnswer({ kind: 'peers' }, packed);
        t.deepEqual(listed, { kind: 'answer', answer: [pushed.info] as readonly PeerInfo[] });
        return undefined;
      },
    ),
    { numRuns: 200 },
  );
});

test('unusable entries of a peer list are skipped; a value that is not a list is refused', (t) => {
  const read = (peers: unknown): string => {
    const verdict = readAnswer({ kind: 'peers' }, { data: { success: true, peers } });
    if (verdict.kind === 'answer') return verdict.answer.map(({ ip, wsPort }) => `${ip}:${String(wsPort)}`).join(' ');
    return verdict.kind === 'malformed' ? verdict.offence : verdict.reason;
  };
  const entry = { ipAddress: '1.2.3.4', wsPort: 5000 };
  t.is(read([]), '');
  t.is(read([entry, { ...entry, wsPort: '5001', extra: 1 }]), '1.2.3.4:5000 1.2.3.4:5001');
  t.is(read(Array.from({ length: 1_000 }, () => entry)).split(' ').length, 1_000);
  // A node of lisk-sdk 3.0.2 may forward some of these entries although it is honest. It does so if one of its peers
  // has sent it an invalid port or address.
  const unusable: unknown[] = [
    ...['+5001', '05001', [5001], '0', '-0', 0, 65_536, 1.5, {}, null].map((wsPort) => ({ ...entry, wsPort })),
    ...['2001:db8::1', 'example.com', '256.1.1.1', 'not an address', 5, ['1.2.3.4'], null].map((ipAddress) => ({
      ...entry,
      ipAddress,
    })),
    ...[null, [], {}, 'text', { ...entry, padding: 'x'.repeat(20_480) }],
  ];
  for (const each of unusable) t.is(read([each, entry]), '1.2.3.4:5000', JSON.stringify(each).slice(0, 80));
  const bad: unknown[] = [undefined, {}, 'text', Array.from({ length: 1_001 }, () => entry)];
  for (const peers of bad) t.is(read(peers), 'MALFORMED_PEER_LIST', JSON.stringify(peers)?.slice(0, 80));
});

test('addresses are dotted IPv4, even where the system maps them to IPv6', (t) => {
  fc.assert(
    fc.property(fc.ipV4(), (ip) => {
      t.true(isIpv4(ip));
      t.is(ipv4Of(ip), ip);
      t.is(ipv4Of(`::ffff:${ip}`), ip);
    }),
    { numRuns: 100 },
  );
  for (const text of [
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.4.',
    '.1.2.3.4',
    '01.2.3.4',
    '1.2.3.256',
    '1.2.3.-4',
    '',
    'a.b.c.d',
  ]) {
    t.false(isIpv4(text), text);
  }
  t.is(ipv4Of('2001:db8::1'), undefined);
  t.is(ipv4Of(undefined), undefined);
});

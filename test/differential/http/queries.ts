/** Requests of clients, and unusual variants of these requests. */

import type { Generation } from '../../../src/protocol/params.ts';
import type { RandomBelow } from '../../fuzz/mutate.ts';
import { otherCase, pick } from '../mutations.ts';
import type { Facts } from './facts.ts';
import { pickSeldom } from './seldom.ts';

/** A request in the form in which it is printed and replayed. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

type Values = (facts: Facts) => readonly string[];

interface QueriedRoute {
  /** Path that may contain `{address}` and `{state}`. */
  readonly path: string;
  readonly parameters: Readonly<Record<string, Values>>;
}

const PAGE: Readonly<Record<string, Values>> = {
  limit: () => ['1', '2', '5', '10', '100'],
  offset: () => ['0', '1', '3', '50', '1000'],
};
const IDENTITY: Readonly<Record<string, Values>> = {
  address: ({ addresses }) => addresses,
  publicKey: ({ publicKeys }) => publicKeys,
  secondPublicKey: ({ secondPublicKeys }) => secondPublicKeys,
  username: ({ usernames }) => usernames,
};

function sorts(...fields: readonly string[]): Values {
  return () => fields.flatMap((field) => [`${field}:asc`, `${field}:desc`]);
}

/**
 * Routes with their parameters. For `/blocks`, the parameter `sort` lacks the values for `totalAmount` and `totalFee`,
 * because real nodes leave the order of blocks with equal totals undefined.
 */
function routesOf(generation: Generation): readonly QueriedRoute[] {
  const isSecond = generation === 2;
  const pool: Readonly<Record<string, Values>> = {
    id: ({ transactionIds }) => transactionIds,
    recipientId: ({ addresses }) => addresses,
    senderId: ({ addresses }) => addresses,
    senderPublicKey: ({ publicKeys }) => publicKeys,
    type: ({ types }) => types,
    ...PAGE,
    sort: sorts('amount', 'fee', 'type', 'timestamp'),
    ...(isSecond ? { recipientPublicKey: ({ publicKeys }: Facts) => publicKeys } : {}),
  };
  return [
    { path: '/accounts', parameters: { ...IDENTITY, ...PAGE, sort: sorts('balance') } },
    { path: '/accounts/{address}/multisignature_groups', parameters: {} },
    { path: '/accounts/{address}/multisignature_memberships', parameters: {} },
    {
      path: '/blocks',
      parameters: {
        blockId: ({ blockIds }) => blockIds,
        height: ({ heights }) => heights,
        fromTimestamp: ({ timestamps }) => timestamps,
        toTimestamp: ({ timestamps }) => timestamps,
        generatorPublicKey: ({ publicKeys }) => publicKeys,
        ...PAGE,
        sort: sorts('height', 'timestamp'),
      },
    },
    {
      path: '/dapps',
      parameters: {
        transactionId: ({ transactionIds }) => transactionIds,
        name: () => ['x'],
        ...PAGE,
        sort: sorts('name'),
      },
    },
    {
      path: '/delegates',
      parameters: {
        ...IDENTITY,
        search: () => ['genesis_1', 'enes', '%', '_1', 'nobody'],
        ...PAGE,
        sort: sorts('username', 'productivity', 'missedBlocks', 'producedBlocks', isSecond ? 'rank' : 'voteWeight'),
      },
    },
    { path: '/delegates/forgers', parameters: { limit: () => ['1', '10', '101'], offset: () => ['0'] } },
    {
      path: '/delegates/{address}/forging_statistics',
      parameters: {
        fromTimestamp: () => ['0', '1', '1464109200000', '1795000000000'],
        toTimestamp: () => ['1', '1464109200000', '1895000000000'],
      },
    },
    { path: '/node/constants', parameters: {} },
    { path: '/node/status', parameters: {} },
    {
      path: '/node/status/forging',
      parameters: {
        publicKey: ({ publicKeys }) => publicKeys,
        ...(isSecond ? {} : { forging: () => ['true', 'false'] }),
      },
    },
    { path: '/node/transactions/{state}', parameters: pool },
    {
      path: '/peers',
      parameters: {
        ip: () => ['127.0.0.1', '10.0.0.1'],
        httpPort: () => ['1', '4000', '65535'],
        wsPort: () => ['1', '5000', '65535'],
        os: () => ['linux', 'linux6.1', 'x y'],
        version: () => ['3.0.2', '1.0.0-rc.1'],
        protocolVersion: () => ['1.1', '2.0'],
        state: () => (isSecond ? ['0', '1', '2'] : ['connected', 'disconnected']),
        height: ({ heights }) => heights,
        ...(isSecond ? { broadhash: () => ['ab', 'AB'.repeat(32)] } : {}),
        ...PAGE,
        sort: sorts('height', 'version'),
      },
    },
    {
      path: '/transactions',
      parameters: {
        id: ({ transactionIds }) => transactionIds,
        blockId: ({ blockIds }) => blockIds,
        height: ({ heights }) => heights,
        type: ({ types }) => types,
        senderId: ({ addresses }) => addresses,
        recipientId: ({ addresses }) => addresses,
        senderIdOrRecipientId: ({ addresses }) => addresses,
        senderPublicKey: ({ publicKeys }) => publicKeys,
        ...(isSecond ? { recipientPublicKey: ({ publicKeys }: Facts) => publicKeys } : {}),
        minAmount: ({ amounts }) => amounts,
        maxAmount: ({ amounts }) => amounts,
        fromTimestamp: ({ timestamps }) => timestamps,
        toTimestamp: ({ timestamps }) => timestamps,
        data: ({ data }) => data,
        ...PAGE,
        sort: sorts('amount', 'fee', 'type', 'timestamp'),
      },
    },
    {
      path: '/voters',
      parameters: { ...IDENTITY, ...PAGE, sort: sorts('publicKey', 'balance', 'username') },
    },
    { path: '/votes', parameters: { ...IDENTITY, ...PAGE, sort: sorts('username', 'balance') } },
  ];
}

const STATES = ['pending', 'received', 'validated', 'verified', 'ready'];
const NAMES = [
  ...[
    'foo',
    'Limit',
    'OFFSET',
    'height',
    'forging',
    'sort',
    'limit',
    'state',
    'toString',
    'constructor',
    'length',
    '_',
  ],
  ...['valueOf', 'data', 'address', 'publickey', 'ip', 'id', 'blockId', 'search', 'transactionId', 'lisk', 'x y', 'é'],
];
const BRACKETS = ['[]', '[0]', '[1]', '[x]', '[][]', '[', ']', '[x][y]', '[25]', '%5B%5D'];
/** Names of members of every JavaScript object. A real node ignores parameters with these names, or answers 500. */
const OBJECT_NAMES = ['__proto__', 'hasOwnProperty'];
const OBJECT_BRACKETS = ['[__proto__]', '[toString]'];
const NUMBERS = [
  ...['007', '+5', '1e1', '1E2', '0x10', '1.0', '1.5', '-1', '-0', ' 5', '5 ', '', ' ', 'abc', 'null', 'true', 'NaN'],
  ...['Infinity', '-Infinity', '1e400', '101', '102', '3000000000', '9007199254740993', '٣', '1_0', '1,0', '5n', '0'],
];
const ODD_PAIRS = [
  ...[
    '=1',
    '=',
    '&',
    '?',
    '%zz=1',
    'a=%ff',
    '[]=1',
    '[]=1&[]=2',
    '[0]=1',
    '[][x]=1',
    '[limit]=1',
    '#x?limit=1',
    '%00=1',
  ],
  ...['a;limit=2', 'a.limit=2', 'limit%00=1', '%6cimit=2', 'utf8=%E2%9C%93'],
];
const LONG_QUERIES = ['&'.repeat(1000)];
/** Unusual headers for GET requests. */
const HEADERS: readonly Readonly<Record<string, string>>[] = [
  ...['text/html', '*/*;q=0', 'x', ''].map((accept) => ({ accept })),
  ...[{ 'if-none-match': '*' }, { 'if-modified-since': 'Thu, 01 Jan 2099 00:00:00 GMT' }, { range: 'bytes=0-1' }],
  ...[
    { 'content-type': 'application/xml' },
    { 'x-http-method-override': 'POST' },
    { 'accept-encoding': 'identity;q=0' },
    { 'transfer-encoding': 'identity' },
  ],
];
/** Values of the header `x-http-method-override` in POST requests. */
const OVERRIDES = ['GET', 'get', 'PUT', 'put, GET', ' DELETE', 'PATCH', 'nothing', ','];
const TEXTS = [
  ...[
    '',
    ' ',
    '0',
    '123',
    '-5',
    '1.5',
    'null',
    'undefined',
    'true',
    'a',
    'A',
    'é',
    '%',
    '_',
    '\\',
    "'",
    '"',
    '1l',
    '1L',
  ],
  ...['01L', 'L', 'height:asc', 'height', ':', 'asc', 'x'.repeat(21), 'y'.repeat(65), 'é'.repeat(33), 'ab'.repeat(32)],
  ...['AB'.repeat(32), 'zz'.repeat(32), '18446744073709551616L', '99999999999999999999', '999999999999999999999'],
];

export class Queries {
  readonly #facts: Facts;
  readonly #routes: readonly QueriedRoute[];

  constructor(generation: Generation, facts: Facts) {
    this.#facts = facts;
    this.#routes = routesOf(generation);
  }

  /** Returns a random request. About one request in four is a normal request; the others have an odd part. */
  next(below: RandomBelow): HttpRequest {
    const { path, parameters } = pick(this.#routes, below);
    const filled = path
      .replace('{address}', pickSeldom(this.#facts.oddAddresses, this.#facts.plainAddresses, below))
      .replace('{state}', pick(STATES, below));
    const names = Object.keys(parameters);
    const chosen = new Map<string, string>();
    for (let count = names.length === 0 ? 0 : below(4); count > 0; count -= 1) {
      const name = pick(names, below);
      const values = parameters[name]?.(this.#facts) ?? [];
      if (values.length > 0) chosen.set(name, pick(values, below));
    }
    if (path.startsWith('/vote') && below(8) !== 0 && ![...chosen.keys()].some((name) => name in IDENTITY))
      chosen.set('username', pick(this.#facts.usernames, below));
    const pairs = [...chosen].map(([name, value]) => [encodeURIComponent(name), encodeURIComponent(value)] as const);
    const texts = pairs.map(([name, value]) => `${name}=${value}`);
    if (below(4) === 0) return { method: 'GET', target: targetOf(filled, texts) };
    return this.#odd(filled, names, texts, below);
  }

  #odd(path: string, names: readonly string[], pairs: readonly string[], below: RandomBelow): HttpRequest {
    const texts = [...pairs];
    const kind = below(20);
    const add = (name: string, value: string): void => void texts.push(`${name}=${encodeURIComponent(value)}`);
    const anyName = encodeURIComponent(names.length === 0 ? pick(NAMES, below) : pick(names, below));
    if (kind < 4) add(anyName, pick(below(2) === 0 ? NUMBERS : TEXTS, below));
    else if (kind < 6) add(encodeURIComponent(pickSeldom(OBJECT_NAMES, NAMES, below)), pick(TEXTS, below));
    else if (kind < 8) add(anyName, '');
    else if (kind === 8) texts.push(anyName);
    else if (kind === 9) {
      const [name = anyName, value = '1'] = (texts[0] ?? '').split('=');
      texts.push(`${name || anyName}=${value}`);
    } else if (kind === 10) {
      const brackets = pickSeldom(OBJECT_BRACKETS, BRACKETS, below);
      add(`${anyName}${brackets}`, pick([...NUMBERS, '1', '1', 'a'], below));
    } else if (kind === 11) texts.splice(below(texts.length + 1), 0, pickSeldom(LONG_QUERIES, ODD_PAIRS, below));
    else if (kind === 12 && texts.length > 0) {
      const at = below(texts.length);
      texts[at] = otherCase(texts[at] ?? '', below);
    } else if (kind === 13) return { method: 'GET', target: oddPath(targetOf(path, texts), below) };
    else if (kind === 14)
      return {
        method: 'GET',
        target: targetOf(
          path.replace(/[^/]+L(?=\/)|(?<=transactions\/)\w+/, encodeURIComponent(pick(TEXTS, below)) || 'x'),
          texts,
        ),
      };
    else if (kind === 15 && below(3) === 0)
      return { method: 'GET', target: targetOf(path, texts), headers: pick(HEADERS, below) };
    else if (kind === 15 && below(3) === 0) {
      const headers = { 'x-http-method-override': pick(OVERRIDES, below) };
      return { method: 'POST', target: targetOf(path, texts), headers };
    } else if (kind === 15 && below(3) === 0) {
      const method = pick(['POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'], below);
      return { method, target: targetOf(path, texts) };
    } else if (kind === 16)
      return { method: 'GET', target: targetOf(path, texts), headers: namesInOtherCase(pick(HEADERS, below), below) };
    else {
      // Two odd parameters show whether a node reports both parameters, and in which order.
      add(anyName, pick(TEXTS, below));
      add(names.length === 0 ? 'foo' : pick(names, below), pick(NUMBERS, below));
    }
    return { method: 'GET', target: targetOf(path, texts) };
  }
}

function targetOf(path: string, pairs: readonly string[]): string {
  return `/api${path}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`;
}

/**
 * Changes the letter case of header names. By RFC 9110, the letter case of a header name has no meaning. The client
 * sends the names in the changed letter case.
 */
function namesInOtherCase(headers: Readonly<Record<string, string>>, below: RandomBelow): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [otherCase(name, below), value]));
}

function oddPath(target: string, below: RandomBelow): string {
  const end = target.indexOf('?');
  const [path, query] = end < 0 ? [target, ''] : [target.slice(0, end), target.slice(end)];
  const odd = pick<(text: string) => string>(
    [
      (text) => `${text}/`,
      (text) => `${text}//`,
      (text) => text.replace('/api/', '/api//'),
      (text) => text.toUpperCase(),
      (text) => otherCase(text, below),
      (text) => `${text}/more`,
      (text) => `${text}s`,
      (text) => text.slice(0, -1),
      (text) => text.replace('a', '%61'),
      (text) => text.replace('/api/', '/api/v1/'),
      (text) => `${text}%20`,
      (text) => `${text}%00`,
      (text) => `${text};a=1`,
      (text) => text.replace('/api/', '/api\\\\'),
      (text) => text.replace('/api/', '/api/./'),
      (text) => text.replace('/api/', '//api/'),
      (text) => text.replace('/api/', '/api%2F'),
      (text) => text.replace(/[^/]+L(?=\/)/, pick(['%zz', '%', '%ff', '%31L', '1%4C', '1L%00'], below)),
    ],
    below,
  );
  return odd(path) + query;
}

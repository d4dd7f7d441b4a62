/** Paths, parameters and errors that clients of at least one generation know, and the tests that cover them. */

export interface PathDescription {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  /** Names of path and query parameters. */
  readonly parameters: readonly string[];
  /** Statuses of refusals. */
  readonly errors: readonly number[];
}

export interface Shown {
  /** File name in test/http. */
  readonly file: string;
  /** Name of the test, or the part of the name that both generations share. */
  readonly title: string;
}

const PAGE = ['limit', 'offset', 'sort'] as const;
const IDENTITY = ['address', 'publicKey', 'secondPublicKey', 'username'] as const;
/** Error statuses that every path can return. */
const ANY = [400, 403, 405, 429, 500] as const;
const WITH_BODY = [...ANY, 413, 415] as const;
const TIMES = ['fromTimestamp', 'toTimestamp'] as const;

const get = (path: string, parameters: readonly string[], more: Partial<PathDescription> = {}): PathDescription => {
  return { method: 'GET', path, parameters, errors: ANY, ...more };
};

export const PATHS: readonly PathDescription[] = [
  get('/accounts', [...IDENTITY, ...PAGE]),
  get('/accounts/{address}/multisignature_groups', ['address'], { errors: [...ANY, 404] }),
  get('/accounts/{address}/multisignature_memberships', ['address'], { errors: [...ANY, 404] }),
  get('/blocks', ['blockId', 'height', ...TIMES, 'generatorPublicKey', ...PAGE]),
  get('/dapps', ['transactionId', 'name', ...PAGE]),
  get('/delegates', [...IDENTITY, 'search', ...PAGE]),
  get('/delegates/forgers', ['limit', 'offset']),
  get('/delegates/{address}/forging_statistics', ['address', ...TIMES]),
  get('/node/constants', []),
  get('/node/status', []),
  get('/node/status/forging', ['publicKey', 'forging']),
  { method: 'PUT', path: '/node/status/forging', parameters: [], errors: [...WITH_BODY, 404] },
  get('/node/transactions/{state}', [
    ...['state', 'id', 'recipientId', 'recipientPublicKey', 'senderId', 'senderPublicKey', 'type'],
    ...PAGE,
  ]),
  get('/peers', [
    ...['ip', 'httpPort', 'wsPort', 'os', 'version', 'protocolVersion', 'state', 'height', 'broadhash'],
    ...PAGE,
  ]),
  { method: 'POST', path: '/signatures', parameters: [], errors: [...WITH_BODY, 409] },
  get('/transactions', [
    ...['id', 'blockId', 'height', 'type', 'senderId', 'recipientId', 'senderIdOrRecipientId', 'senderPublicKey'],
    ...['recipientPublicKey', 'minAmount', 'maxAmount', ...TIMES, 'data', ...PAGE],
  ]),
  { method: 'POST', path: '/transactions', parameters: [], errors: [...WITH_BODY, 409] },
  get('/voters', [...IDENTITY, ...PAGE], { errors: [...ANY, 404] }),
  get('/votes', [...IDENTITY, ...PAGE], { errors: [...ANY, 404] }),
  get('/spec', []),
  get('/signatures/fee', []),
  { method: 'PUT', path: '/signatures', parameters: [], errors: WITH_BODY },
];

const shown = (file: string, title: string): Shown => ({ file: `${file}.test.ts`, title });

export const SHOWN = {
  answer: ({ path }: PathDescription): Shown =>
    path === '/spec'
      ? shown('extras', 'the API description names every route, and its page loads nothing from other sites')
      : shown(
          'pages',
          'each resource has a page in docs/http, which shows requests, and the answers of a fake node to them',
        ),

  parameter: ({ path }: PathDescription, name: string): Shown =>
    path.includes(`{${name}}`)
      ? shown('declared', 'the refusal of an invalid path parameter names the parameter')
      : shown(
          'declared',
          'each declared parameter accepts valid values; a refusal of an invalid value names the parameter',
        ),

  error: (described: PathDescription, status: number): Shown => {
    const name = `${described.method} ${described.path}`;
    return OF_PATH[`${name} ${status}`] ?? OF_STATUS[status] ?? shown('', `no test is named for ${name} ${status}`);
  },
};

const NOT_THERE = shown('answers', 'an unknown account or group gives 404 with the message of real nodes');
const FORGING = shown(
  'submit',
  'only clients in http.forgingWhitelist see and switch forging; others get 403, or 400 for an invalid request',
);

const OF_PATH: Readonly<Record<string, Shown>> = {
  'GET /accounts/{address}/multisignature_groups 404': NOT_THERE,
  'GET /accounts/{address}/multisignature_memberships 404': NOT_THERE,
  'GET /voters 404': NOT_THERE,
  'GET /votes 404': NOT_THERE,
  'GET /node/status/forging 403': FORGING,
  'PUT /node/status/forging 403': FORGING,
  'PUT /node/status/forging 400': shown('submit', 'a forging request with an invalid body gives 400'),
  'PUT /node/status/forging 404': shown('submit', 'a request that fails to switch forging gives 404 with the reason'),
  'POST /signatures 400': shown(
    'submit',
    'a signature for a multisignature transaction, with a missing field, gives 400',
  ),
  'POST /signatures 409': shown(
    'submit',
    'the node accepts a signature for a multisignature transaction, or answers 409',
  ),
  'POST /transactions 400': shown(
    'submit',
    'the refusal of a transaction names each member with a wrong type or format',
  ),
  'POST /transactions 409': shown('submit', 'a refused transaction gives 409 with every reason'),
  'PUT /signatures 403': shown(
    'second-signature',
    'only clients in legacySignaturesWhitelist may send passphrases; behind a proxy, every address must be listed',
  ),
};

const OF_STATUS: Readonly<Record<number, Shown>> = {
  400: shown('odd-requests.prop', 'no malformed or unusual request makes the node fail or send an undeclared answer'),
  403: shown('express-app', 'a client without access gets 403 on every path'),
  405: shown('express-app', 'a path answers 405 to an unsupported method, and lists the supported methods'),
  413: shown('express-app', 'the node refuses a body over 128 kB, and reads a smaller body'),
  415: shown('express-app', 'the node answers 415 to a body with an unknown charset and to a compressed body'),
  429: shown('express-app', 'a client above the rate limit gets 429; all routes share the limit'),
  500: shown('express-app', 'an error inside the node gives 500 with a fixed text, and a log line'),
};

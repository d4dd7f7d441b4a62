/** The paths, parameters and errors that clients of either generation know, and the tests that show each of them. */

export interface Told {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  /** In the path or the query. */
  readonly parameters: readonly string[];
  /** Statuses of refusals. */
  readonly errors: readonly number[];
}

export interface Shown {
  /** In test/http. */
  readonly file: string;
  /** The test's name, or the part of it that is the same for both generations. */
  readonly title: string;
}

const PAGE = ['limit', 'offset', 'sort'] as const;
const IDENTITY = ['address', 'publicKey', 'secondPublicKey', 'username'] as const;
/** What any path may answer. */
const ANY = [400, 403, 405, 429, 500] as const;
const WITH_BODY = [...ANY, 413, 415] as const;
const TIMES = ['fromTimestamp', 'toTimestamp'] as const;

const get = (path: string, parameters: readonly string[], more: Partial<Told> = {}): Told => {
  return { method: 'GET', path, parameters, errors: ANY, ...more };
};

export const PATHS: readonly Told[] = [
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
  answer: ({ path }: Told): Shown =>
    path === '/spec'
      ? shown('extras', 'the description names every route, and the page for people needs nothing from elsewhere')
      : shown(
          'pages',
          'docs/http has a page for each resource, made of what the routes declare and of exchanges that work',
        ),

  parameter: ({ path }: Told, name: string): Shown =>
    path.includes(`{${name}}`)
      ? shown('declared', 'a path parameter that does not fit is refused by name')
      : shown('declared', 'each declared parameter takes what fits and refuses what does not, by name'),

  error: (told: Told, status: number): Shown => {
    const name = `${told.method} ${told.path}`;
    return OF_PATH[`${name} ${status}`] ?? OF_STATUS[status] ?? shown('', `no test is named for ${name} ${status}`);
  },
};

const NOT_THERE = shown(
  'answers',
  'accounts and groups that are not there answer 404 with the sentence that clients know',
);
const FORGING = shown('submit', 'forging is closed to others, whatever the general access; a bad body is told first');

const OF_PATH: Readonly<Record<string, Shown>> = {
  'GET /accounts/{address}/multisignature_groups 404': NOT_THERE,
  'GET /accounts/{address}/multisignature_memberships 404': NOT_THERE,
  'GET /voters 404': NOT_THERE,
  'GET /votes 404': NOT_THERE,
  'GET /node/status/forging 403': FORGING,
  'PUT /node/status/forging 403': FORGING,
  'PUT /node/status/forging 400': shown('submit', 'a switch with a wrong shape is refused with 400'),
  'PUT /node/status/forging 404': shown('submit', 'what stops a switch answers 404 with its sentence'),
  'POST /signatures 400': shown('submit', 'a member signature with missing members is refused with 400'),
  'POST /signatures 409': shown('submit', 'a member signature is accepted, or refused with 409'),
  'POST /transactions 400': shown('submit', 'members of a transaction of the wrong type or format are refused by name'),
  'POST /transactions 409': shown('submit', 'a refused transaction answers 409 with every reason'),
  'PUT /signatures 403': shown(
    'second-signature',
    'strangers may not send secrets, and behind a proxy every address must be listed',
  ),
};

const OF_STATUS: Readonly<Record<number, Shown>> = {
  400: shown('odd-requests.prop', 'fail or leave the shapes of its answers'),
  403: shown('pipeline', 'who is not listed gets 403 on every path, unless access is public'),
  405: shown('pipeline', 'a known path with another method answers 405 and names the methods it has'),
  413: shown('pipeline', 'a body over 128 kB is refused, one below is read'),
  415: shown('pipeline', 'an unknown charset of the body, and a compressed one, is refused as the fault of the client'),
  429: shown('pipeline', 'past the limit of a window a client gets 429, shared by all routes'),
  500: shown('pipeline', 'a failure of the node answers 500 with the standard text and a log line'),
};

/** Declares the routes for the votes that an account received and placed. */

import type { NodeApi } from '../../ports/node-api.ts';
import type { AccountIdentity } from '../../ports/queries.ts';
import { VOTES_PER_ACCOUNT_MAX } from '../../protocol/params.ts';
import type { Account } from '../../protocol/state.ts';
import type { HttpDialect } from '../dialect.ts';
import { omitUndefined } from '../omit-undefined.ts';
import {
  addressParameter,
  afterParameters,
  listMeta,
  TOO_MANY_QUERIES,
  pageOf,
  pageParametersReversed,
  publicKeyParameter,
  sortOf,
  sortParameter,
  usernameParameter,
} from '../parameters.ts';
import { invalidRequest, notFound } from '../problems.ts';
import type { CheckedRequest, Parameter, Route } from '../route.ts';
import { ADDRESS, AMOUNT, COUNT, listOf, objectOf, orNull, LIST_META, PUBLIC_KEY, TEXT } from '../views/shapes.ts';

export function voterRoutes(dialect: HttpDialect): readonly Route[] {
  return [votersRoute(dialect), votesRoute(dialect)];
}

const IDENTITY: readonly Parameter[] = [
  usernameParameter('Complete delegate name of the account.'),
  addressParameter('address', 2, 'Address of the account.'),
  publicKeyParameter('publicKey', 'Public key of the account; letter case does not matter.'),
  publicKeyParameter('secondPublicKey', 'Second public key of the account; letter case does not matter.'),
];

/**
 * Returns the value that the routes of this file show as the public key of an account that never sent a transaction.
 * The extended dialect (the default) shows null, as lisk-sdk nodes do on these routes. But the published API
 * specification of lisk-sdk allows only text, so the strict dialect (`http.strictDialect`) shows an empty text. All
 * other routes show an empty text in both dialects.
 */
function noKey(dialect: HttpDialect): '' | null {
  return dialect.strict ? '' : null;
}

const KEY_OR_NULL = orNull({ type: 'string', format: 'publicKey' });

const ERRORS = { 404: 'No account matches.' } as const;

function votersRoute(dialect: HttpDialect): Route {
  return {
    isOfChain: true,
    method: 'GET',
    path: '/voters',
    summary:
      'Lists the voters of an account. The request must contain at least one of `address`, `publicKey`, `secondPublicKey` and `username`. `votes` is the number of voters.',
    parameters: [
      ...IDENTITY,
      ...pageParametersReversed(100),
      ...afterParameters(dialect),
      sortParameter(['publicKey', 'balance', 'username'], 'publicKey:asc'),
    ],
    unknownParameters: 'refused',
    answer: {
      meta: LIST_META,
      data: objectOf({
        username: TEXT,
        publicKey: KEY_OR_NULL,
        address: ADDRESS,
        balance: AMOUNT,
        voters: listOf(objectOf({ address: ADDRESS, publicKey: PUBLIC_KEY, balance: AMOUNT })),
        votes: COUNT,
      }),
    },
    errors: { ...ERRORS, 503: TOO_MANY_QUERIES },
    handle: async (api, request) => {
      const account = accountOf(api, request);
      const page = await api.chain.voters(account.publicKey, { ...pageOf(request), sort: sortOf(request) });
      const data = {
        username: account.username ?? '',
        publicKey: account.publicKey ?? noKey(dialect),
        address: account.address,
        balance: account.balance.toString(),
        voters: page.items.map(keysAndBalance),
        votes: page.total,
      };
      return { meta: listMeta(request, page), data };
    },
  };
}

function votesRoute(dialect: HttpDialect): Route {
  return {
    isOfChain: true,
    method: 'GET',
    path: '/votes',
    summary:
      'Lists the delegates that an account votes for. The request must contain at least one of `address`, `publicKey`, `secondPublicKey` and `username`.',
    parameters: [
      ...IDENTITY,
      ...pageParametersReversed(101),
      ...afterParameters(dialect),
      sortParameter(['username', 'balance'], 'username:asc'),
    ],
    unknownParameters: 'ignored',
    answer: {
      meta: LIST_META,
      data: objectOf({
        address: ADDRESS,
        balance: AMOUNT,
        username: TEXT,
        publicKey: KEY_OR_NULL,
        votesUsed: COUNT,
        votesAvailable: COUNT,
        votes: listOf(objectOf({ address: ADDRESS, publicKey: PUBLIC_KEY, balance: AMOUNT, username: TEXT })),
      }),
    },
    errors: ERRORS,
    handle: (api, request) => {
      const account = accountOf(api, request);
      const page = api.chain.votes(account, { ...pageOf(request), sort: sortOf(request) });
      const votesUsed = account.votes.length;
      const data = {
        address: account.address,
        balance: account.balance.toString(),
        username: account.username ?? '',
        publicKey: account.publicKey ?? noKey(dialect),
        votesUsed,
        votesAvailable: VOTES_PER_ACCOUNT_MAX - votesUsed,
        votes: page.items.map((voted) => ({ ...keysAndBalance(voted), username: voted.username ?? '' })),
      };
      return { meta: listMeta(request, page), data };
    },
  };
}

/**
 * Finds the account that matches the parameters `address`, `publicKey`, `secondPublicKey` and `username` of the
 * request.
 *
 * @throws Problem 400 if each of the four parameters is absent or empty; 404 if no account matches, or if one parameter
 *   is empty while another one has a value
 */
function accountOf(api: NodeApi, request: CheckedRequest): Account {
  const identity: AccountIdentity = omitUndefined({
    address: request.text('address'),
    publicKey: request.text('publicKey')?.toLowerCase(),
    secondPublicKey: request.text('secondPublicKey')?.toLowerCase(),
    username: request.text('username'),
  });
  const texts = Object.values(identity);
  if (texts.every((text) => text === '')) throw invalidRequest(NOTHING_GIVEN);
  const account = texts.includes('') ? undefined : api.chain.accountBy(identity);
  if (account === undefined) throw notFound('Delegate not found');
  return account;
}

/**
 * Errors in the 400 answer to a request in which each of the four parameters is absent or empty. The errors have the
 * same order as in the answer of a lisk-sdk node.
 */
const NOTHING_GIVEN = (
  [
    ['address', 'publicKey, secondPublicKey and username'],
    ['publicKey', 'address, secondPublicKey and username'],
    ['secondPublicKey', 'address, publicKey and username'],
    ['username', 'publicKey, secondPublicKey and address'],
  ] as const
).map(([name, others]) => {
  return {
    name,
    message: `${name} is required if ${others} not provided.`,
    in: 'query',
    code: 'INVALID_PARAM',
  } as const;
});

function keysAndBalance(account: Account) {
  return {
    address: account.address,
    publicKey: account.publicKey ?? '',
    balance: account.balance.toString(),
  };
}

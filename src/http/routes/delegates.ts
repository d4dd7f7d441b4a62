/** Declares the routes for delegates and for the next forgers. */

import type { DelegateQuery } from '../../ports/queries.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { HttpDialect } from '../dialect.ts';
import { FilterReader, pageBy } from '../filters.ts';
import { omitUndefined } from '../omit-undefined.ts';
import {
  addressParameter,
  afterParameters,
  listMeta,
  pageMeta,
  pageOf,
  pageParameters,
  pageParametersReversed,
  publicKeyParameter,
  queryParameter,
  sortOf,
  sortParameter,
  usernameParameter,
} from '../parameters.ts';
import type { Route } from '../route.ts';
import { delegateShape, delegateView } from '../views/account.ts';
import { ADDRESS, COUNT, listOf, objectOf, LIST_META, PUBLIC_KEY, TEXT } from '../views/shapes.ts';

export function delegateRoutes(dialect: HttpDialect): readonly Route[] {
  return [listRoute(dialect), FORGERS_ROUTE];
}

function listRoute(dialect: HttpDialect): Route {
  return {
    isOfChain: true,
    method: 'GET',
    path: '/delegates',
    summary: 'Lists delegates.',
    parameters: [
      addressParameter('address', 2, 'Address of the delegate.'),
      publicKeyParameter('publicKey', 'Public key of the delegate; letter case does not matter.'),
      publicKeyParameter('secondPublicKey', 'Second public key of the delegate; letter case does not matter.'),
      usernameParameter('Complete name of the delegate.'),
      ...pageParametersReversed(101),
      queryParameter('search', {
        type: 'string',
        minLength: 1,
        maxLength: 20,
        description:
          'Part of the name of the delegate. `%` stands for any text, and `_` for exactly one character. `\\` makes the next character literal.',
      }),
      ...afterParameters(dialect),
      sortParameter(sortFields(dialect), dialect.generation === 2 ? 'rank:asc' : 'voteWeight:desc'),
    ],
    unknownParameters: 'refused',
    answer: { meta: LIST_META, data: listOf(delegateShape(dialect)) },
    errors: {},
    handle: (api, request) => {
      const filters = new FilterReader(request);
      const search = filters.text('search');
      const query: DelegateQuery = {
        ...pageOf(request),
        sort: sortOf(request),
        ...omitUndefined({
          address: filters.text('address'),
          publicKey: filters.publicKey('publicKey'),
          secondPublicKey: filters.publicKey('secondPublicKey'),
          username: filters.text('username'),
          usernamePattern: search === undefined ? undefined : `%${search}%`,
        }),
      };
      const page = pageBy(filters, query, (asked) => api.chain.delegates(asked));
      return { meta: listMeta(request, page), data: page.items.map((entry) => delegateView(entry, dialect)) };
    },
  };
}

function sortFields(dialect: HttpDialect): readonly string[] {
  const common = ['username', 'productivity', 'missedBlocks', 'producedBlocks'];
  const [own, other] = dialect.generation === 2 ? ['rank', 'voteWeight'] : ['voteWeight', 'rank'];
  return dialect.strict ? [...common, own] : [...common, own, other];
}

const FORGERS_ROUTE: Route = {
  method: 'GET',
  path: '/delegates/forgers',
  summary: 'Lists the delegates that own the next slots, in the order of the slots.',
  parameters: pageParameters(101, 100),
  unknownParameters: 'ignored',
  answer: {
    meta: objectOf({ lastBlock: COUNT, lastBlockSlot: COUNT, currentSlot: COUNT, limit: COUNT, offset: COUNT }),
    data: listOf(objectOf({ username: TEXT, address: ADDRESS, publicKey: PUBLIC_KEY, nextSlot: COUNT })),
  },
  errors: {},
  handle: async (api, request) => {
    const { limit, offset } = pageMeta(request);
    const [{ secondsSinceEpoch }, forgers] = await Promise.all([api.status(), api.forgers(limit, offset)]);
    const tip = api.chain.tip();
    const meta = {
      lastBlock: tip?.height ?? 0,
      lastBlockSlot: tip === undefined ? 0 : slotAt(tip.timestamp, api.params),
      currentSlot: slotAt(secondsSinceEpoch, api.params),
      limit,
      offset,
    };
    const data = forgers.items.map(({ username, address, publicKey, nextSlot }) => {
      return { username, address, publicKey, nextSlot };
    });
    return { meta, data };
  },
};

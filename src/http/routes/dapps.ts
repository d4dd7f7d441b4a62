/**
 * Declares the route for applications that are registered on the chain. Only old blocks contain such registrations, so
 * the route answers with an empty list on most networks.
 */

import type { DappQuery } from '../../ports/queries.ts';
import type { HttpDialect } from '../dialect.ts';
import { FilterReader, pageBy } from '../filters.ts';
import { omitUndefined } from '../omit-undefined.ts';
import {
  afterParameters,
  idParameter,
  listMeta,
  pageOf,
  pageParameters,
  queryParameter,
  sortOf,
  sortParameter,
} from '../parameters.ts';
import type { Route } from '../route.ts';
import { dappView } from '../views/dapp.ts';
import { COUNT, ID, listOf, objectOf, LIST_META, TEXT } from '../views/shapes.ts';

export function dappsRoute(dialect: HttpDialect): Route {
  return {
    isOfChain: true,
    method: 'GET',
    path: '/dapps',
    summary:
      'Lists registered applications. If a request has both `transactionId` and `name`, the list contains each application that matches at least one of them.',
    parameters: [
      idParameter('transactionId', 'Id of the transaction that registered the application.'),
      queryParameter('name', {
        type: 'string',
        minLength: 1,
        maxLength: 32,
        description: 'Complete name of the application.',
      }),
      sortParameter(['name'], 'name:asc'),
      ...pageParameters(100),
      ...afterParameters(dialect),
    ],
    unknownParameters: 'refused',
    answer: {
      meta: LIST_META,
      data: listOf(
        objectOf({
          name: TEXT,
          description: TEXT,
          tags: TEXT,
          link: TEXT,
          type: COUNT,
          category: COUNT,
          icon: TEXT,
          transactionId: ID,
        }),
      ),
    },
    errors: {},
    handle: (api, request) => {
      const filters = new FilterReader(request);
      const name = filters.text('name');
      const transactionId = filters.id('transactionId');
      const query: DappQuery = { ...pageOf(request), sort: sortOf(request), ...omitUndefined({ transactionId, name }) };
      // An application is in the result if it matches at least one of the filters `name` and `transactionId`. If the
      // request has a name, the store must therefore be asked even if no transaction can have the id in
      // `transactionId`.
      const page =
        name === undefined ? pageBy(filters, query, (asked) => api.chain.dapps(asked)) : api.chain.dapps(query);
      return { meta: listMeta(request, page), data: page.items.flatMap(dappView) };
    },
  };
}

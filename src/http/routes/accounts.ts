/** Declares the routes for accounts and their multisignature groups. */

import type { AccountQuery } from '../../ports/queries.ts';
import type { HttpDialect } from '../dialect.ts';
import { FilterReader, pageBy } from '../filters.ts';
import { omitUndefined } from '../omit-undefined.ts';
import {
  addressInPath,
  addressParameter,
  afterParameters,
  listMeta,
  pageOf,
  pageParameters,
  publicKeyParameter,
  sortOf,
  sortParameter,
  usernameParameter,
} from '../parameters.ts';
import { notFound } from '../problems.ts';
import type { Route } from '../route.ts';
import { accountShape, accountView, GROUP_SHAPE, groupView } from '../views/account.ts';
import { listOf, NO_META, LIST_META } from '../views/shapes.ts';

export function accountRoutes(dialect: HttpDialect): readonly Route[] {
  return [
    {
      isOfChain: true,
      method: 'GET',
      path: '/accounts',
      summary: 'Lists accounts.',
      parameters: [
        addressParameter('address', 2, 'Address of the account.'),
        publicKeyParameter('publicKey', 'Public key of the account; letter case does not matter.'),
        publicKeyParameter('secondPublicKey', 'Second public key of the account; letter case does not matter.'),
        usernameParameter('Name of the delegate; `_` stands for exactly one character.'),
        ...pageParameters(100),
        ...afterParameters(dialect),
        sortParameter(['balance'], 'balance:asc'),
      ],
      unknownParameters: 'refused',
      answer: { meta: LIST_META, data: listOf(accountShape(dialect)) },
      errors: {},
      handle: (api, request) => {
        const filters = new FilterReader(request);
        const query: AccountQuery = {
          ...pageOf(request),
          sort: sortOf(request),
          ...omitUndefined({
            address: filters.text('address'),
            publicKey: filters.publicKey('publicKey'),
            secondPublicKey: filters.publicKey('secondPublicKey'),
            usernamePattern: filters.text('username'),
          }),
        };
        const page = pageBy(filters, query, (asked) => api.chain.accounts(asked));
        return { meta: listMeta(request, page), data: page.items.map((entry) => accountView(entry, dialect)) };
      },
    },
    {
      isOfChain: true,
      method: 'GET',
      path: '/accounts/{address}/multisignature_groups',
      summary: 'Shows the multisignature group that has this address.',
      parameters: [addressInPath('Address of the group.')],
      unknownParameters: 'ignored',
      answer: { meta: NO_META, data: listOf(GROUP_SHAPE) },
      errors: { 404: 'The account is not a multisignature group.' },
      handle: (api, request) => {
        const group = api.chain.group(request.text('address') ?? '');
        if (group === undefined) throw notFound('Multisignature account not found');
        return { meta: {}, data: [groupView(group)] };
      },
    },
    {
      isOfChain: true,
      method: 'GET',
      path: '/accounts/{address}/multisignature_memberships',
      summary: 'Lists the multisignature groups that the account is a member of.',
      parameters: [addressInPath('Address of the member.')],
      unknownParameters: 'ignored',
      answer: { meta: NO_META, data: listOf(GROUP_SHAPE) },
      errors: { 404: 'The account is unknown.' },
      handle: (api, request) => {
        const account = api.chain.accountBy({ address: request.text('address') ?? '' });
        if (account === undefined) throw notFound('Multisignature membership account not found');
        return { meta: {}, data: api.chain.memberships(account).map(groupView) };
      },
    },
  ];
}

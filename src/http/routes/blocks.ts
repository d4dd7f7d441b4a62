/** Declares the routes for blocks. */

import type { BlockQuery } from '../../ports/queries.ts';
import type { HttpDialect } from '../dialect.ts';
import { FilterReader, pageBy } from '../filters.ts';
import { omitUndefined } from '../omit-undefined.ts';
import {
  afterParameters,
  idParameter,
  int32Parameter,
  integerParameter,
  listMeta,
  TOO_MANY_QUERIES,
  pageOf,
  pageParameters,
  publicKeyParameter,
  sortOf,
  sortParameter,
} from '../parameters.ts';
import type { Route } from '../route.ts';
import { blockShape, blockView } from '../views/block.ts';
import { listOf, LIST_META } from '../views/shapes.ts';

export function blockRoutes(dialect: HttpDialect): readonly Route[] {
  return [
    {
      isOfChain: true,
      method: 'GET',
      path: '/blocks',
      summary: 'Lists blocks.',
      parameters: [
        idParameter('blockId', 'Id of the block.'),
        int32Parameter('height', 1, 'Height of the block.'),
        integerParameter('fromTimestamp', 0, 'Earliest timestamp, in seconds since the epoch of the network.'),
        integerParameter('toTimestamp', 1, 'Latest timestamp, in seconds since the epoch of the network.'),
        ...pageParameters(100),
        publicKeyParameter(
          'generatorPublicKey',
          'Public key of the delegate that forged the block; letter case does not matter.',
        ),
        ...afterParameters(dialect),
        sortParameter(['height', 'totalAmount', 'totalFee', 'timestamp'], 'height:desc'),
      ],
      unknownParameters: 'refused',
      answer: { meta: LIST_META, data: listOf(blockShape(dialect)) },
      errors: { 503: TOO_MANY_QUERIES },
      handle: async (api, request) => {
        const filters = new FilterReader(request);
        const query: BlockQuery = {
          ...pageOf(request),
          sort: sortOf(request),
          ...omitUndefined({
            blockId: filters.id('blockId'),
            height: filters.height('height'),
            fromTimestampS: filters.fromS('fromTimestamp'),
            toTimestampS: filters.toS('toTimestamp'),
            generatorPublicKey: filters.publicKey('generatorPublicKey'),
          }),
        };
        const page = await pageBy(filters, query, (asked) => api.chain.blocks(asked));
        const tipHeight = api.chain.tip()?.height ?? 0;
        return {
          meta: listMeta(request, page),
          data: page.items.map((header) => blockView(header, tipHeight, dialect)),
        };
      },
    },
  ];
}

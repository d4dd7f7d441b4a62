/** Declares the routes for transactions of the chain, and for sending a new transaction. */

import { TRANSACTION_SORTS, type TransactionQuery } from '../../ports/queries.ts';
import { extendedOnly, type HttpDialect } from '../dialect.ts';
import { FilterReader, pageBy } from '../filters.ts';
import { omitUndefined } from '../omit-undefined.ts';
import {
  addressParameter,
  afterParameters,
  idParameter,
  int32Parameter,
  integerParameter,
  keyParameter,
  listMeta,
  TOO_MANY_QUERIES,
  pageOf,
  pageParameters,
  queryParameter,
  sortOf,
  sortParameter,
} from '../parameters.ts';
import { CHECKS_EXCEEDED, NOT_KEPT, transactionRefused } from '../problems.ts';
import type { CheckedRequest, Route } from '../route.ts';
import type { Schema } from '../schema.ts';
import { COUNTED_LIST_META, FLAG, listOf, objectOf, TEXT } from '../views/shapes.ts';
import { confirmedShape, confirmedView, remarksOn } from '../views/transaction.ts';

export function transactionRoutes(dialect: HttpDialect): readonly Route[] {
  return [listRoute(dialect), submitRoute(dialect)];
}

function listRoute(dialect: HttpDialect): Route {
  return {
    isOfChain: true,
    method: 'GET',
    path: '/transactions',
    summary: 'Lists the transactions of the chain.',
    parameters: [
      idParameter('id', 'Id of the transaction.'),
      addressParameter('recipientId', 1, 'Address of the recipient.'),
      ...(dialect.generation === 2 ? [RECIPIENT_KEY] : extendedOnly(dialect, [RECIPIENT_KEY])),
      addressParameter('senderId', 1, 'Address of the sender.'),
      keyParameter('senderPublicKey', 'Public key of the sender; letter case does not matter.'),
      addressParameter('senderIdOrRecipientId', 1, 'Address of an account that is the sender, the recipient or both.'),
      integerParameter('type', 0, 'Number of the transaction type.'),
      int32Parameter('height', 1, 'Height of the block that contains the transaction.'),
      integerParameter('minAmount', 0, 'Smallest amount, in beddows.'),
      integerParameter('maxAmount', 0, 'Largest amount, in beddows.'),
      integerParameter('fromTimestamp', 0, 'Earliest timestamp, in seconds since the epoch of the network.'),
      integerParameter('toTimestamp', 1, 'Latest timestamp, in seconds since the epoch of the network.'),
      idParameter('blockId', 'Id of the block that contains the transaction.'),
      ...pageParameters(100),
      sortParameter(TRANSACTION_SORTS, 'amount:asc'),
      queryParameter('data', {
        type: 'string',
        format: 'additionalData',
        minLength: 1,
        maxLength: 64,
        description:
          'Pattern that the whole data of a transfer must match. `%` stands for any number of bytes, and `_` for exactly one byte. `\\` makes the next character literal.',
      }),
      ...afterParameters(dialect),
    ],
    unknownParameters: 'refused',
    answer: { meta: COUNTED_LIST_META, data: listOf(confirmedShape(dialect)) },
    errors: { 503: TOO_MANY_QUERIES },
    handle: async (api, request) => {
      const filters = new FilterReader(request);
      const query = queryOf(request, filters);
      const page = await pageBy(filters, query, (asked) => api.chain.transactions(asked));
      const tipHeight = api.chain.tip()?.height ?? 0;
      const data = page.items.map((entry) =>
        confirmedView(entry, tipHeight, remarksOn(entry.transaction, api), dialect),
      );
      return { meta: { ...listMeta(request, page), count: page.total }, data };
    },
  };
}

function queryOf(request: CheckedRequest, filters: FilterReader): TransactionQuery {
  return {
    ...pageOf(request),
    sort: sortOf(request),
    ...omitUndefined({
      id: filters.id('id'),
      blockId: filters.id('blockId'),
      height: filters.height('height'),
      type: filters.type('type'),
      senderId: filters.text('senderId'),
      recipientId: filters.text('recipientId'),
      senderIdOrRecipientId: filters.text('senderIdOrRecipientId'),
      senderPublicKey: filters.publicKey('senderPublicKey'),
      recipientPublicKey: filters.publicKey('recipientPublicKey'),
      minAmount: filters.fromAmount('minAmount'),
      maxAmount: filters.toAmount('maxAmount'),
      fromTimestampS: filters.fromS('fromTimestamp'),
      toTimestampS: filters.toS('toTimestamp'),
      dataPattern: filters.text('data'),
    }),
  };
}

const RECIPIENT_KEY = keyParameter(
  'recipientPublicKey',
  'Public key of the recipient; letter case does not matter. The filter finds nothing if no account of the chain has this key.',
);

function submitRoute(dialect: HttpDialect): Route {
  return {
    method: 'POST',
    path: '/transactions',
    summary: 'Sends a signed transaction to the node.',
    parameters: [],
    unknownParameters: 'ignored',
    body: { name: 'transaction', schema: dialect.generation === 2 ? BODY_2 : BODY_3 },
    answer: { meta: objectOf({ status: FLAG }), data: objectOf({ message: TEXT }) },
    errors: { 409: 'The node refused the transaction; see `errors`.', 429: CHECKS_EXCEEDED, 503: NOT_KEPT },
    handle: async (api, request) => {
      const result = await api.submitTransaction(request.body, request.client);
      if (!result.accepted) throw transactionRefused(result, dialect.generation);
      return { meta: { status: true }, data: { message: 'Transaction(s) accepted' } };
    },
  };
}

const PUBLIC_KEY: Schema = { type: 'string', format: 'publicKey' };
const SIGNATURE: Schema = { type: 'string', format: 'signature' };
const ADDRESS: Schema = { type: 'string', format: 'address' };

const BODY_COMMON: Readonly<Record<string, Schema>> = {
  id: { type: 'string', format: 'id', minLength: 1, maxLength: 20 },
  type: { type: 'integer', minimum: 0 },
  timestamp: { type: 'integer' },
  senderPublicKey: PUBLIC_KEY,
  signature: SIGNATURE,
  signSignature: SIGNATURE,
  signatures: { type: 'array', items: SIGNATURE },
};

const BODY_2: Schema = {
  type: 'object',
  required: ['id', 'type', 'amount', 'fee', 'senderPublicKey', 'recipientId', 'timestamp', 'asset', 'signature'],
  properties: {
    ...BODY_COMMON,
    asset: { type: 'object' },
    amount: { type: 'string' },
    fee: { type: 'string' },
    recipientId: ADDRESS,
    senderId: ADDRESS,
    senderSecondPublicKey: PUBLIC_KEY,
  },
};

const BODY_3: Schema = {
  type: 'object',
  required: ['id', 'type', 'senderPublicKey', 'timestamp', 'asset', 'signature'],
  properties: {
    ...BODY_COMMON,
    asset: { type: 'object', properties: { amount: { type: 'string' }, recipientId: ADDRESS } },
  },
};

/** Declares the routes for transactions that wait in the queues of the pool. */

import type { GroupSigners, NodeApi, PoolEntry, PoolState } from '../../ports/node-api.ts';
import type { Direction } from '../../ports/queries.ts';
import type { Transaction } from '../../protocol/types.ts';
import { addressOf } from '../../crypto/keys.ts';
import { extendedOnly, type HttpDialect } from '../dialect.ts';
import {
  addressParameter,
  idParameter,
  integerParameter,
  keyParameter,
  pageMeta,
  pageParameters,
  sortOf,
  sortParameter,
} from '../parameters.ts';
import { CHECKS_EXCEEDED, Problem } from '../problems.ts';
import type { CheckedRequest, Parameter, Reply, Route } from '../route.ts';
import { withLive } from '../with-live.ts';
import { amountOf } from '../../protocol/tx/amounts.ts';
import { recipientOf } from '../../protocol/tx/recipient.ts';
import { namesRecipient } from '../views/asset.ts';
import { ADDRESS, COUNTED_PAGE_META, FLAG, ID, listOf, objectOf, PUBLIC_KEY } from '../views/shapes.ts';
import { pooledShape, pooledView } from '../views/transaction.ts';

const STATES: readonly PoolState[] = ['pending', 'ready', 'received', 'validated', 'verified'];
const SORT_FIELDS = ['amount', 'fee', 'type', 'timestamp'] as const;
const RECIPIENT_KEY = keyParameter(
  'recipientPublicKey',
  'Public key of the recipient. With this parameter, the node ignores `recipientId`.',
);
type SortField = (typeof SORT_FIELDS)[number];

/**
 * Returns the routes of the pool. There are three routes. The first route shows which members of a multisignature group
 * have signed a transaction. The second route lists the transactions of the queue that the path of the request names.
 * The third route, whose path names no queue, lists the transactions of the queue `verified`.
 */
export function poolRoutes(dialect: HttpDialect): readonly Route[] {
  const state: Parameter = {
    name: 'state',
    in: 'path',
    schema: { type: 'string', enum: STATES, description: 'Queue of the pool.' },
  };
  const parameters: readonly Parameter[] = [
    idParameter('id', 'Id of the transaction.'),
    addressParameter('recipientId', 1, 'Address of the recipient.'),
    ...(dialect.generation === 2 ? [RECIPIENT_KEY] : extendedOnly(dialect, [RECIPIENT_KEY])),
    addressParameter('senderId', 1, 'Address of the sender.'),
    keyParameter('senderPublicKey', 'Public key of the sender, in lower case.'),
    integerParameter('type', 0, 'Number of the transaction type.'),
    ...pageParameters(100),
    sortParameter(SORT_FIELDS, 'amount:desc'),
  ];
  const common = {
    method: 'GET',
    unknownParameters: 'refused',
    answer: { meta: COUNTED_PAGE_META, data: listOf(pooledShape(dialect)) },
    errors: {},
    handle: (api: NodeApi, request: CheckedRequest) => listQueue(api, request, dialect),
  } as const;
  return [
    SIGNERS_ROUTE,
    {
      ...common,
      path: '/node/transactions/{state}',
      summary:
        'Lists the transactions in the queue `state` of the pool. `count` is the number of transactions in the whole queue, even if the request has filters.',
      parameters: [state, ...parameters],
    },
    {
      ...common,
      path: '/node/transactions',
      summary:
        'Lists the transactions in the queue `verified` of the pool, like `/node/transactions/verified`. `count` is the number of transactions in the whole queue, even if the request has filters.',
      parameters,
    },
  ];
}

/** The route that shows the signers of a transaction. Real lisk-sdk nodes do not have this route. */
const SIGNERS_ROUTE: Route = {
  method: 'GET',
  path: '/node/transactions/{id}/signers',
  summary:
    'Lists the members of the multisignature group of a transaction in the pool. Shows which members have signed, and the total number of member signatures that the transaction needs.',
  parameters: [
    {
      name: 'id',
      in: 'path',
      schema: { type: 'string', format: 'id', minLength: 1, maxLength: 20, description: 'Id of the transaction.' },
    },
  ],
  unknownParameters: 'refused',
  answer: {
    meta: objectOf({}),
    data: objectOf({
      id: ID,
      min: { type: 'integer', description: 'Number of member signatures that the transaction needs.' },
      signed: { type: 'integer', description: 'Number of members that have signed.' },
      members: listOf(objectOf({ address: ADDRESS, publicKey: PUBLIC_KEY, hasSigned: FLAG })),
    }),
  },
  errors: {
    404: 'No multisignature transaction with this id waits in the pool.',
    429: CHECKS_EXCEEDED,
  },
  handle: (api, request) => {
    const id = request.text('id') ?? '';
    return withLive(api.signersOf(id, request.client), (signers) => ({ meta: {}, data: signersView(id, signers) }));
  },
};

/**
 * @throws Problem 404 when `signers` is undefined, that is, when the pool contains no multisignature transaction with
 *   this id
 */
function signersView(id: string, signers: GroupSigners | undefined): Readonly<Record<string, unknown>> {
  if (signers === undefined)
    throw new Problem(404, { message: `No transaction ${id} waits for signatures of a group` });
  const members = signers.members.map((member) => ({ address: addressOf(member.publicKey), ...member }));
  return { id, min: signers.min, signed: members.filter(({ hasSigned }) => hasSigned).length, members };
}

function listQueue(api: NodeApi, request: CheckedRequest, dialect: HttpDialect): Reply | Promise<Reply> {
  const state = (request.text('state') ?? 'verified') as PoolState;
  return withLive(api.poolEntries(state), (entries) => pageOfQueue(entries, api, request, dialect));
}

function pageOfQueue(
  entries: readonly PoolEntry[],
  api: NodeApi,
  request: CheckedRequest,
  dialect: HttpDialect,
): Reply {
  const { limit, offset } = pageMeta(request);
  const { field, direction } = sortOf<SortField>(request);
  const chosen = entries.filter(filterOf(request, dialect)).sort(comparison(field, direction));
  const data = chosen.slice(offset, offset + limit).map((entry) => pooledView(entry, api, dialect));
  return { meta: { offset, limit, count: entries.length }, data };
}

function filterOf(request: CheckedRequest, { generation }: HttpDialect): (entry: PoolEntry) => boolean {
  const id = request.text('id');
  const senderId = request.text('senderId');
  const senderPublicKey = request.text('senderPublicKey');
  const type = request.number('type');
  const recipientKey = request.text('recipientPublicKey');
  const recipientId = recipientKey === undefined ? request.text('recipientId') : addressOf(recipientKey.toLowerCase());
  // In generation 3, a lisk-sdk node looks for the address of the recipient in the asset (the member `asset`) of every
  // transaction, not only of transfers. This node does the same: a transaction that is not a transfer also matches if
  // its asset contains this address.
  const isTo = (transaction: Transaction, address: string): boolean =>
    generation === 3 ? namesRecipient(transaction, address) : recipientOf(transaction) === address;
  return ({ transaction }) =>
    (id === undefined || transaction.id === id) &&
    (senderId === undefined || transaction.senderId === senderId) &&
    (senderPublicKey === undefined || transaction.senderPublicKey === senderPublicKey) &&
    (type === undefined || transaction.type === type) &&
    (recipientId === undefined || isTo(transaction, recipientId));
}

/** Compares entries. Sorting is stable, so entries with equal values stay in the order of the queue. */
function comparison(field: SortField, direction: Direction): (a: PoolEntry, b: PoolEntry) => number {
  const sign = direction === 'asc' ? 1 : -1;
  const valueOf = ({ transaction }: PoolEntry): bigint | number =>
    field === 'amount' ? amountOf(transaction) : transaction[field];
  return (a, b) => {
    const [left, right] = [valueOf(a), valueOf(b)];
    return left === right ? 0 : left < right ? -sign : sign;
  };
}

import test from 'ava';
import { hashOf, routeOfHash } from '../../src/dashboard/hash-route.ts';
import {
  accountsRequest,
  blocksRequest,
  delegatesRequest,
  nextOrder,
  orderOf,
  transactionsRequest,
  TRANSACTION_SORT_OPTIONS,
  type ListRequest,
} from '../../src/dashboard/list-requests.ts';

const PAGE = { limit: 25, after: 'cursor_-9' };

/** Returns the query parameters of a request without those for paging, or the problem of a wrong request. */
function asked(request: ListRequest): Record<string, string> {
  if ('problem' in request) return { problem: request.problem };
  const members = new URLSearchParams(request.path.split('?')[1]);
  members.delete('limit');
  members.delete('after');
  return Object.fromEntries(members);
}

test('an address keeps the filters of its view, and no others', (t) => {
  const filters = { kind: '0', from: '17L', text: 'a & b', sort: 'fee:desc' };
  t.deepEqual(routeOfHash(hashOf('transactions', undefined, filters, { page: 2, after: 'abc' })), {
    view: 'transactions',
    item: undefined,
    page: 2,
    after: 'abc',
    filters,
  });
  t.is(hashOf('transactions', undefined, { kind: '', odd: '1' }), '#/transactions');
  t.deepEqual(routeOfHash('#/accounts?kind=0&sort=balance:asc').filters, { sort: 'balance:asc' });
  t.deepEqual(routeOfHash('#/pool?sort=fee:desc').filters, {});
});

test('filters of transactions are sent under the names that the node uses, in both generations', (t) => {
  const filters = { kind: '3', from: '17', to: '18l', min: '1.5', max: '1 000', text: 'rent', sort: 'amount:asc' };
  const common = {
    senderId: '17L',
    recipientId: '18L',
    minAmount: '150000000',
    maxAmount: '100000000000',
    data: '%rent%',
    sort: 'amount:asc',
  };
  t.deepEqual(asked(transactionsRequest(filters, PAGE, false)), { ...common, type: '3' });
  t.deepEqual(asked(transactionsRequest(filters, PAGE, true)), { ...common, type: '11' });
  t.deepEqual(asked(transactionsRequest({}, PAGE, true)), { sort: 'timestamp:desc' });
  t.true(JSON.stringify(transactionsRequest({}, PAGE, true)).includes('after=cursor_-9'));
});

test('a request that cannot be sent shows a message instead', (t) => {
  t.regex(
    asked(transactionsRequest({ from: 'genesis_1' }, PAGE, true))['problem'] ?? '',
    /genesis_1 is not an address/,
  );
  t.regex(asked(transactionsRequest({ min: 'much' }, PAGE, true))['problem'] ?? '', /much is not an amount/);
  t.regex(asked(transactionsRequest({ max: '0.123456789' }, PAGE, true))['problem'] ?? '', /8 decimals/);
  t.regex(asked(blocksRequest({ delegate: 'nobody' }, PAGE, () => undefined))['problem'] ?? '', /nobody/);
});

test('a request that cannot be sent names the wrong field', (t) => {
  const fieldOf = (request: ListRequest) => ('field' in request ? request.field : undefined);
  for (const field of ['from', 'to', 'min', 'max'])
    t.is(fieldOf(transactionsRequest({ [field]: 'odd' }, PAGE, true)), field);
  t.is(fieldOf(blocksRequest({ delegate: 'nobody' }, PAGE, () => undefined)), 'delegate');
  t.is(fieldOf(transactionsRequest({ from: '17L' }, PAGE, true)), undefined);
});

test('an unknown sort order becomes the first order of the list', (t) => {
  t.is(orderOf({ sort: 'fee:desc' }, TRANSACTION_SORT_OPTIONS), 'fee:desc');
  t.is(orderOf({ sort: 'odd' }, TRANSACTION_SORT_OPTIONS), 'timestamp:desc');
});

test('the first click on a column selects its first order, later clicks its others', (t) => {
  t.is(nextOrder('amount', 'timestamp:desc', TRANSACTION_SORT_OPTIONS), 'amount:desc');
  t.is(nextOrder('amount', 'amount:desc', TRANSACTION_SORT_OPTIONS), 'amount:asc');
  t.is(nextOrder('amount', 'amount:asc', TRANSACTION_SORT_OPTIONS), 'amount:desc');
  t.is(nextOrder('odd', 'amount:asc', TRANSACTION_SORT_OPTIONS), undefined);
});

test('blocks are searched by the key of a delegate, delegates by a part of their name', (t) => {
  const key = 'ab'.repeat(32);
  const keyOf = (name: string) => (name === 'smith' ? key : undefined);
  t.is(asked(blocksRequest({ delegate: 'Smith' }, PAGE, keyOf))['generatorPublicKey'], key);
  t.is(asked(blocksRequest({ delegate: key.toUpperCase() }, PAGE, keyOf))['generatorPublicKey'], key);
  t.is(delegatesRequest({ name: 'Smi' }, PAGE), 'delegates?limit=25&sort=rank%3Aasc&after=cursor_-9&search=smi');
  t.is(accountsRequest({ sort: 'balance:asc' }, PAGE), 'accounts?limit=25&sort=balance%3Aasc&after=cursor_-9');
});

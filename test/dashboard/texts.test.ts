import test from 'ava';
import {
  agoText,
  amountText,
  countOf,
  countText,
  decimalsOf,
  productivityOf,
  resultText,
  shareText,
  shortText,
  sinceText,
  timeText,
  typeText,
  untilText,
} from '../../src/dashboard/format.ts';
import { hashOf, routeOfHash } from '../../src/dashboard/hash-route.ts';
import { soughtOf } from '../../src/dashboard/search.ts';

test('amounts are shown in LSK with separated thousands and without trailing zeros', (t) => {
  t.is(amountText('0'), '0 LSK');
  t.is(amountText('10000000'), '0.1 LSK');
  t.is(amountText('123456789012345'), '1\u202f234\u202f567.89012345 LSK');
  t.is(amountText('-10000000000000000'), '−100\u202f000\u202f000 LSK');
  t.is(countText(1234567), '1\u202f234\u202f567');
});

test('times are shown in the largest fitting unit, and a past time never in the future', (t) => {
  t.is(agoText(0, 5_000), '5 s ago');
  t.is(agoText(0, 125_000), '2 min ago');
  t.is(agoText(90_000, 0), 'in 1 min');
  t.is(agoText(0, 3 * 86_400_000), '3 d ago');
  t.is(agoText(0, 800 * 86_400_000), '2 y ago');
  t.is(sinceText(1_400, 0), '0 s ago');
});

test('an amount has as many decimals as its text shows', (t) => {
  t.deepEqual(['0', '10000000', '123456789', '200000000', '1'].map(decimalsOf), [0, 1, 8, 0, 8]);
});

test('a delegate without a slot has no productivity', (t) => {
  const results = { producedBlocks: 1200, missedBlocks: 2, productivity: 99.83 };
  t.is(resultText(results), '1\u202f200 forged, 2 missed, 99.83 %');
  const none = { producedBlocks: 0, missedBlocks: 0, productivity: 0 };
  t.is(productivityOf(none), undefined);
  t.is(productivityOf({ ...results, productivity: 100 }, 2), '100.00 %');
  t.is(resultText(none), '0 forged, 0 missed');
});

test('a count of one has no plural', (t) => {
  t.is(countOf(1, 'block'), '1 block');
  t.is(countOf(0, 'block'), '0 blocks');
  t.is(countOf(1200, 'byte'), '1\u202f200 bytes');
});

test('a future time below one hour is shown to the second', (t) => {
  t.is(untilText(5_000, 0), 'in 5 s');
  t.is(untilText(125_000, 0), 'in 2 min 5 s');
  t.is(untilText(2 * 3_600_000 + 5_000, 0), 'in 2 h');
  t.is(untilText(0, 5_000), 'in 0 s');
  t.is(timeText(Date.UTC(2026, 10, 21, 12, 30, 5)), '12:30:05');
});

test('only long ids are shortened, and a type has the same name in both generations', (t) => {
  t.is(shortText('12345678901234567890'), '123456…567890');
  t.is(shortText('1234567890123'), '1234567890123');
  t.is(typeText(0), typeText(8));
  t.is(typeText(4), typeText(12));
  for (const type of [13, 15, 99]) t.is(typeText(type), `Type ${type}`);
});

test('each view has an address that leads back to it, and an unknown address leads to the first view', (t) => {
  t.deepEqual(routeOfHash(hashOf('blocks', '12')), { view: 'blocks', item: '12', page: 1, after: '', filters: {} });
  t.is(routeOfHash(hashOf('delegates', 'a&b!c')).item, 'a&b!c');
  t.is(routeOfHash(hashOf('accounts', undefined, {}, { page: 3, after: 'x_-' })).page, 3);
  t.is(routeOfHash(hashOf('accounts', undefined, {}, { page: 3, after: 'x_-' })).after, 'x_-');
  t.is(routeOfHash('#/accounts?page=3').page, 1, 'a number without a cursor leads to the first page');
  for (const odd of ['', '#', '#/', '#/nowhere', '#/glance', '#content']) t.is(routeOfHash(odd).view, 'glance', odd);
  t.is(routeOfHash('#/blocks?page=-1').page, 1);
  t.is(routeOfHash('#/blocks/%E0%A4%A').item, '%E0%A4%A');
});

test('a share has two decimals, and a small share is not shown as zero', (t) => {
  t.is(shareText('5', '10'), '50 %');
  t.is(shareText('1', '3'), '33.33 %');
  t.is(shareText('2', '3'), '66.67 %');
  t.is(shareText('1', '1000000'), 'below 0.01 %');
  t.is(shareText('0', '7'), '0 %');
  t.is(shareText('5', '10', 2), '50.00 %');
  t.is(shareText('7', undefined), '–');
  t.is(shareText('7', '0'), '–');
});

test('a search tries the kinds of results in the order of their likelihood', (t) => {
  t.deepEqual(
    soughtOf(' 12 ').map(({ kind }) => kind),
    ['height', 'block', 'transaction', 'usedAddress'],
  );
  t.deepEqual(
    soughtOf('12345678901234567890').map(({ kind }) => kind),
    ['block', 'transaction', 'usedAddress'],
  );
  t.deepEqual(soughtOf('123l'), [{ kind: 'address', address: '123L' }]);
  t.deepEqual(soughtOf('Genesis_1'), [{ kind: 'delegate', name: 'genesis_1' }]);
  t.is(soughtOf('A'.repeat(64))[0]?.kind, 'publicKey');
  t.deepEqual(soughtOf('no such thing'), []);
});

import test from 'ava';
import { epochTimeS, slotAt, slotAtMs, slotStartMs, slotStartS } from '../../src/protocol/slots.ts';

const params = { blockTimeS: 10, epochMs: 1_464_109_200_000 };

test('a slot lasts from its first second to the second before the next slot', (t) => {
  t.is(slotAt(0, params), 0);
  t.is(slotAt(9, params), 0);
  t.is(slotAt(10, params), 1);
  t.is(slotStartS(1, params), 10);
});

test('times before the epoch have negative slots', (t) => {
  t.is(slotAt(-1, params), -1);
  t.is(slotAt(-10, params), -1);
  t.is(slotAt(-11, params), -2);
});

test('chain time counts whole seconds since the epoch, rounded down', (t) => {
  t.is(epochTimeS(params.epochMs, params), 0);
  t.is(epochTimeS(params.epochMs + 999, params), 0);
  t.is(epochTimeS(params.epochMs + 1000, params), 1);
  t.is(epochTimeS(params.epochMs - 1, params), -1);
});

test('slots of Unix times begin at their computed start', (t) => {
  t.is(slotStartMs(3, params), params.epochMs + 30_000);
  t.is(slotAtMs(slotStartMs(3, params), params), 3);
  t.is(slotAtMs(slotStartMs(3, params) - 1, params), 2);
});

import test from 'ava';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import { setUpForging } from './forging-fixture.ts';

test('on a full disk one block is dropped, nothing more is signed, and forging resumes when there is room', async (t) => {
  const { scheduler, chain, signed, fillDisk, nowMs, pass, logged } = setUpForging();
  scheduler.start();
  await pass(12);
  const { height } = chain.tip.header;
  t.true(height > 2);
  const before = new Map(signed);

  fillDisk(true);
  const fullMs = nowMs();
  // 130 slots are more than a round, so each delegate of the node has a slot. If forging did not pause, each of these
  // delegates would sign a header that no block contains.
  await pass(130);
  t.is(chain.tip.header.height, height);
  const bound = [...signed].filter(([publicKey, header]) => before.get(publicKey) !== header);
  t.is(bound.length, 1);
  const codes = logged.map(({ code }) => code);
  t.true(codes.includes('STORE_WRITE_FAILED'));
  t.true(codes.filter((code) => code === 'FORGING_PAUSED').length > 20);
  const paused = logged.find(({ code }) => code === 'FORGING_PAUSED');
  t.is(paused?.fields['reason'], 'The chain store could not be written: full.');
  t.is(paused?.fields['cause'], 'STORE_WRITE_FAILED');
  t.false(codes.includes('STORE_RECOVERED'));

  // The log lines of the failed slot and of each later slot contain the time of the first failure.
  const failed = logged.find(({ code, fields }) => code === 'STORE_WRITE_FAILED' && 'slot' in fields);
  const since = String(failed?.fields['writesFailSince']);
  t.true(Date.parse(since) >= fullMs && Date.parse(since) <= fullMs + 40_000, since);
  const pauses = logged.filter(({ code }) => code === 'FORGING_PAUSED');
  t.deepEqual(new Set(pauses.map(({ fields }) => fields['writesFailSince'])), new Set([since]));

  fillDisk(false);
  await pass(12);
  await scheduler.stop();
  t.true(chain.tip.header.height > height + 2);
  t.is(logged.filter(({ code }) => code === 'STORE_RECOVERED').length, 1);
});

test('a slot whose signature cannot be recorded reports since when writes fail', async (t) => {
  const { scheduler, chain, breakJournal, nowMs, pass, logged } = setUpForging();
  breakJournal(new ProtocolError('JOURNAL_WRITE_FAILED', {}, 'forging-journal: cannot be written'));
  const fullMs = nowMs();
  scheduler.start();
  await pass(30);
  t.is(chain.tip.header.height, 1);
  const refused = logged.filter(({ code }) => code === 'JOURNAL_WRITE_FAILED');
  t.true(refused.length > 2);
  const [since, ...others] = new Set(refused.map(({ fields }) => String(fields['writesFailSince'])));
  t.deepEqual(others, []);
  t.true(Date.parse(since ?? '') >= fullMs && Date.parse(since ?? '') <= fullMs + 40_000, since);

  breakJournal(undefined);
  await pass(30);
  t.true(chain.tip.header.height > 1);
  const roomMs = nowMs();
  breakJournal(new ProtocolError('JOURNAL_WRITE_FAILED', {}, 'forging-journal: cannot be written'));
  await pass(30);
  await scheduler.stop();
  t.true(Date.parse(String(logged.at(-1)?.fields['writesFailSince'])) >= roomMs);
});

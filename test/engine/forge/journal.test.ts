import test from 'ava';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import { setUpForging } from './forging-fixture.ts';

test('the header of a block is in the journal before the block is announced', async (t) => {
  const { scheduler, chain, signed, pass } = setUpForging();
  let blocks = 0;
  chain.listen({
    applied: ([block], origin) => {
      t.is(origin, 'forged');
      t.is(signed.get(block?.generatorPublicKey ?? '')?.blockId, block?.id);
      blocks += 1;
    },
  });
  scheduler.start();
  await pass(20);
  await scheduler.stop();
  t.true(blocks > 3);
});

for (const [what, error, code] of [
  ['refuses', new ProtocolError('JOURNAL_WRITE_FAILED', {}, 'no space left on the device'), 'JOURNAL_WRITE_FAILED'],
  ['fails to write', new Error('EIO'), 'FORGING_FAILED'],
] as const) {
  test(`no block is made when the journal ${what} its header, and the slot is logged with the reason`, async (t) => {
    const { scheduler, chain, breakJournal, pass, logged } = setUpForging();
    breakJournal(error);
    scheduler.start();
    await pass(20);
    await scheduler.stop();
    t.is(chain.tip.header.height, 1);
    t.true(logged.length > 3);
    t.deepEqual(new Set(logged.map((each) => each.code)), new Set([code]));
    t.is(logged[0]?.fields['reason'], error.message);
  });
}

/** Forging beside a disk that takes nothing for a while. */

import test from 'ava';
import { scene } from './forging-scene.ts';

test('on a full disk one block is given up, nothing more is signed, and forging goes on when there is room', async (t) => {
  const { scheduler, chain, signed, fillDisk, pass, told } = scene();
  scheduler.start();
  await pass(12);
  const { height } = chain.tip.header;
  t.true(height > 2);
  const before = new Map(signed);

  fillDisk(true);
  // More slots than there are delegates: each of them would have bound itself.
  await pass(130);
  t.is(chain.tip.header.height, height);
  const bound = [...signed].filter(([publicKey, header]) => before.get(publicKey) !== header);
  t.is(bound.length, 1);
  const codes = told.map(({ code }) => code);
  t.true(codes.includes('STORE_WRITE_FAILED'));
  t.true(codes.filter((code) => code === 'FORGING_PAUSED').length > 20);
  const paused = told.find(({ code }) => code === 'FORGING_PAUSED');
  t.is(paused?.fields['reason'], 'The chain store could not be written: full.');
  t.is(paused?.fields['cause'], 'STORE_WRITE_FAILED');
  t.false(codes.includes('STORE_WRITES_AGAIN'));

  fillDisk(false);
  await pass(12);
  await scheduler.stop();
  t.true(chain.tip.header.height > height + 2);
  t.is(told.filter(({ code }) => code === 'STORE_WRITES_AGAIN').length, 1);
});

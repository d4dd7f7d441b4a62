import test from 'ava';
import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import { createInlineVerifier } from '../../src/workers/inline-verifier.ts';
import { applyChain, makeChain } from './stage.ts';

test('the stage of the bench makes a chain and applies it to a store on the disk', async (t) => {
  const { seconds, storeBytes } = await applyChain(makeChain(3, 2), createInlineVerifier(selectEd25519(), 1000));
  t.true(seconds > 0 && storeBytes > 0);
});

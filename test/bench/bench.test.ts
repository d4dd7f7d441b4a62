import test from 'ava';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import { createInlineVerifier } from '../../src/workers/inline-verifier.ts';
import { applyChain, makeChain } from './chains.ts';

test('the bench makes a chain and applies it to a store on the disk', async (t) => {
  const { seconds, storeBytes } = await applyChain(makeChain(3, 2), createInlineVerifier(selectEd25519(), 1000));
  t.true(seconds > 0 && storeBytes > 0);
});

test('the bench refuses an unknown flag, and two parts at once, before it measures anything', (t) => {
  const main = fileURLToPath(new URL('./main.js', import.meta.url));
  for (const flags of [['--nonsense'], ['extra'], ['--http', '--slots'], ['--cycles', 'x']]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...flags], { encoding: 'utf8' });
    t.is(status, 2, flags.join(' '));
    t.is(stdout, '', flags.join(' '));
    t.regex(stderr, /^error: /, flags.join(' '));
  }
});

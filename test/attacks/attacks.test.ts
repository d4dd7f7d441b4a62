import test from 'ava';
import { Arena } from './arena.ts';
import { attacksOn } from './attacks.ts';
import { measure } from './measure.ts';

/** One of each kind; `npm run attacks` has them all, and longer. */
const SHORT: Readonly<Record<2 | 3, readonly string[]>> = {
  2: [
    'wrong types in every field of every message',
    'blocks with a valid header and a wrong payload',
    'control frames',
  ],
  3: [
    'a flood of fake peers',
    'slow handshakes',
    'wrong types in every field of every message',
    'deep nesting',
    'malleable signatures',
    'announcements of unknown ids',
  ],
};
const SECONDS = 1;
const TRIES = 2;

for (const generation of [3, 2] as const) {
  test.serial(
    `a devnet of generation ${generation} keeps its peers, its chain and its memory under attack`,
    async (t) => {
      t.timeout(600_000);
      const arena = await Arena.open(generation, 2);
      t.teardown(() => arena.close());
      const attacks = attacksOn(generation).filter(({ name }) => SHORT[generation].includes(name));
      t.is(attacks.length, SHORT[generation].length);
      for (const attack of attacks) {
        const { faults, did, seconds } = await measure(arena, attack, SECONDS, TRIES);
        t.log(`${attack.name}: ${did} (${seconds.toFixed(1)} s)`);
        // Other tests keep the same processors busy; the long form holds the node to its slots.
        t.deepEqual(
          faults.filter((fault) => !fault.endsWith('slots passed unused')),
          [],
          attack.name,
        );
      }
    },
  );
}

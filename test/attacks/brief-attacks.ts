/**
 * Runs each attack on a devnet briefly. `npm run attacks` runs each attack longer, and waits for a new block after each
 * attack.
 */

import type { TestFn } from 'ava';
import { lastWords } from '../support/devnet.ts';
import { Arena } from './arena.ts';
import { attacksOn, type Setting } from './attacks.ts';
import { measure } from './measure.ts';
import { LATE } from './operator-watch.ts';

const PACE = { seconds: 0.3, blocksAfter: 0, tries: 3 };

/**
 * Adds a test that attacks a devnet with all attacks that `attacksOn` lists for a protocol generation and a
 * configuration of the nodes (`setting`), one after the other.
 */
export function testAttacks(test: TestFn, generation: 2 | 3, setting: Setting): void {
  test.serial(
    `a devnet of generation ${generation} keeps its peers, its chain and its memory under attack (${setting})`,
    async (t) => {
      t.timeout(600_000);
      const attacks = attacksOn(generation, setting);
      const arena = await Arena.open(generation, 2, attacks, setting);
      t.teardown(async () => {
        if (!t.passed) t.log(lastWords(arena.devnet));
        await arena.close();
      });
      for (const attack of attacks) {
        const { faults, did, grownBytes, seconds } = await measure(arena, attack, PACE);
        t.log(`${attack.name}: ${did} (${seconds.toFixed(1)} s, ${(grownBytes / 2 ** 20).toFixed(1)} MB more)`);
        // Other tests use the same processors, so this test allows missed slots and late probes. `npm run attacks`
        // allows neither.
        t.deepEqual(
          faults.filter((fault) => !fault.endsWith('slots passed unused') && !fault.endsWith(LATE)),
          [],
          attack.name,
        );
      }
    },
  );
}

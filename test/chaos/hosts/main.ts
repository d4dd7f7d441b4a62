/**
 * Runs the test (form) `hosts` of `npm run chaos` (option `--hosts N`). `runOnHosts` (`forms.ts`) starts this program
 * in a new network namespace.
 */

import { messageOf } from '../../../src/primitives/errors.ts';
import type { Generation } from '../../../src/protocol/params.ts';
import { generationIn, positiveNumber, testProgram, wholeNumber } from '../../support/program.ts';
import { runHosts } from './run-hosts.ts';

interface Flags {
  readonly hosts: number;
  readonly minutes: number;
  readonly perSecond: number;
  readonly generation: Generation;
}

const flags = testProgram('hosts', 'Runs nodes in network namespaces with the latencies of a wide area network')
  .option('--hosts <number>', 'network namespaces', wholeNumber(1), 5)
  .option('--minutes <number>', 'length of the run', positiveNumber, 5)
  .option('--per-second <number>', 'transactions per second', positiveNumber, 3)
  .option('--generation <number>', 'protocol generation, 2 or 3', generationIn, 3 as Generation)
  .parse()
  .opts<Flags>();

try {
  const wrongs = await runHosts({
    ...flags,
    log: (line) => console.log(line),
  });
  for (const wrong of wrongs) console.log(`wrong: ${wrong}`);
  process.exitCode = wrongs.length > 0 ? 1 : 0;
} catch (error) {
  console.error(`the hosts failed: ${messageOf(error)}`);
  process.exitCode = 1;
}

/**
 * Runs the form `hosts` of `npm run chaos` (option `--hosts N`). `runOnHosts` (`forms.ts`) starts this program in a new
 * network namespace.
 */

import { parseArgs } from 'node:util';
import { messageOf } from '../../../src/primitives/errors.ts';
import { runHosts } from './run-hosts.ts';

const { values } = parseArgs({
  options: {
    hosts: { type: 'string', default: '5' },
    minutes: { type: 'string', default: '5' },
    'per-second': { type: 'string', default: '3' },
    generation: { type: 'string', default: '3' },
  },
});

try {
  const wrongs = await runHosts({
    hosts: Number(values.hosts),
    minutes: Number(values.minutes),
    perSecond: Number(values['per-second']),
    generation: values.generation === '2' ? 2 : 3,
    log: (line) => console.log(line),
  });
  for (const wrong of wrongs) console.log(`wrong: ${wrong}`);
  process.exitCode = wrongs.length > 0 ? 1 : 0;
} catch (error) {
  console.error(`the hosts failed: ${messageOf(error)}`);
  process.exitCode = 1;
}

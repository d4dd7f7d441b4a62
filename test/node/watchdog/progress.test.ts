import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '../../support/network-folder.ts';

const MODULE = fileURLToPath(new URL('../../../src/node/watchdog/watchdog.js', import.meta.url));
/**
 * Returns the text of a program that blocks its main thread for six times the limit of the watchdog, in steps.
 *
 * @param step code of one step
 */
const PROGRAM = (step: string): string => `
  import { startWatchdog } from ${JSON.stringify(MODULE)};
  const observer = { log: () => undefined };
  const limits = { memoryLimitBytes: 4e9, blockedMsMax: 500 };
  const watchdog = startWatchdog({ limits, exitCode: 3, log: { format: 'human' }, observer });
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  watchdog.arm();
  const endMs = performance.now() + ${step === '' ? 20_000 : 3_000};
  while (performance.now() < endMs) { ${step} }
  console.log('done');
  await watchdog.stop();
`;

function run(t: ExecutionContext, step: string) {
  // A worker inherits the flags of its process, and refuses those of a program in a flag (`-e`).
  const file = join(temporaryFolder(t), 'program.mjs');
  writeFileSync(file, PROGRAM(step));
  const { signal, stdout } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
  return { signal, stdout };
}

test('long synchronous work that reports progress does not end the process', (t) => {
  t.deepEqual(run(t, 'watchdog.progress();'), { signal: null, stdout: 'done\n' });
  t.deepEqual(run(t, ''), { signal: 'SIGALRM', stdout: '' });
});

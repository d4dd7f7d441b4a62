import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '../../support/network-folder.ts';

const MODULE = fileURLToPath(new URL('../../../src/node/watchdog/watchdog.js', import.meta.url));
/**
 * Returns the text of a program that blocks its main thread in a loop for longer than the limit of the watchdog. The
 * loop lasts for six times the limit. Without a step, the loop lasts for forty times the limit.
 *
 * @param step code that the loop runs again and again; an empty text if there is no step
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
  // The program is in a file, not in the flag `-e`. With `-e`, the program would need the flag `--input-type=module`.
  // The worker of the watchdog inherits the flags of the process, and Node.js does not start a worker from a file with
  // the flag `--input-type`.
  const file = join(temporaryFolder(t), 'program.mjs');
  writeFileSync(file, PROGRAM(step));
  const { signal, stdout } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
  return { signal, stdout };
}

test('long synchronous work that reports progress does not end the process', (t) => {
  t.deepEqual(run(t, 'watchdog.progress();'), { signal: null, stdout: 'done\n' });
  t.deepEqual(run(t, ''), { signal: 'SIGALRM', stdout: '' });
});

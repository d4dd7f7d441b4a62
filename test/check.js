/**
 * Runs checks at the same time. `npm run check` runs the fast checks of types, import layers, and lint rules of the
 * sources. These checks take little time, so that developers can start them after each saved change. The command
 * `npm run check:all` also runs the slow checks. Prints only errors. The exit code is 1 if a check fails.
 */

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Scripts of package.json, so that each check can also run alone. The longest checks come first. */
const FAST = ['check:types', 'check:lint', 'check:types-page', 'check:layers'];
const SLOW = ['check:lint-types', 'check:lint-tests', 'check:format', 'check:exports'];
const CHECKS = process.argv.includes('--all') ? [...SLOW, ...FAST] : FAST;
/** Number of checks that run at the same time. On two cores, more checks would only delay each other. */
const AT_A_TIME = 2;

const results = [];
const waiting = [...CHECKS];
async function work() {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) results.push(await run(name));
}
await Promise.all(Array.from({ length: AT_A_TIME }, work));
for (const { name, code, output } of results) {
  if (code === 0) continue;
  process.exitCode = 1;
  console.error(`${name} failed:\n${output.trimEnd()}\n`);
}

function run(name) {
  const child = spawn('npm', ['run', '-s', name], { cwd: fileURLToPath(new URL('..', import.meta.url)) });
  const chunks = [];
  child.stdout.on('data', (chunk) => chunks.push(chunk));
  child.stderr.on('data', (chunk) => chunks.push(chunk));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ name, code, output: Buffer.concat(chunks).toString('utf8') }));
  });
}

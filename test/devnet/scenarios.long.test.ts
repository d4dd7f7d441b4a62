import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readScenarioFile } from '../../src/cli/devnet/scenario/read-scenario.ts';
import { packageDirectory } from '../../src/config/package.ts';
import { CLI_ENTRY, isProblemLine, runCli } from '../support/cli.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { freePortRanges } from '../support/ports.ts';

const EXAMPLES = join(packageDirectory(), 'docs', 'examples', 'scenarios');
/**
 * Time limit for the run of a scenario. Each step waits for the state that it expects, and a busy machine makes the
 * steps slow. The limit is therefore generous.
 */
const RUN_MS_MAX = 400_000;

async function portFlags(file: string): Promise<{ readonly http: number; readonly flags: readonly string[] }> {
  const { http, ws } = await freePortRanges(readScenarioFile(file).devnet.nodes);
  return { http, flags: ['--http-port', `${http}`, '--ws-port', `${ws}`] };
}

async function run(file: string, more: readonly string[] = []) {
  const { flags, http } = await portFlags(file);
  return { http, ...(await runCli(['devnet', 'run', file, ...flags, ...more], { timeoutMs: RUN_MS_MAX })) };
}

function written(t: ExecutionContext, text: string): string {
  const file = join(temporaryFolder(t), 'scenario.yaml');
  writeFileSync(file, text);
  return file;
}

for (const name of readdirSync(EXAMPLES)) {
  test.serial(`the example ${name} passes`, async (t) => {
    t.timeout(RUN_MS_MAX + 50_000);
    const { code, stdout, stderr } = await run(join(EXAMPLES, name));
    t.is(code, 0, `${stdout}${stderr}`);
    t.regex(stdout, /^passed: .*, \d+ steps$/m);
    t.is(
      stdout.split('\n').filter((line) => line.startsWith('ok ')).length,
      readScenarioFile(join(EXAMPLES, name)).steps.length,
    );
  });
}

test.serial(
  'a scenario that fails names the step with the expected and the found value, keeps the logs and leaves no node',
  async (t) => {
    t.timeout(RUN_MS_MAX + 50_000);
    const file = written(
      t,
      'name: too much\ndevnet: { nodes: 1, delegates: 5, mine: on-demand }\nsteps:\n  - mine: 2\n' +
        '  - { expect: { heights: 9, log: NODE_STARTED }, within: 1s }\n  - heal\n',
    );
    const junit = join(temporaryFolder(t), 'junit.xml');
    writeFileSync(junit, 'of an earlier run');
    const { code, stdout, stderr, http } = await run(file, ['--junit', junit]);
    t.is(code, 1, stderr);
    const failure = 'expected height at least 9 on node 0 within 1 s; found node 0: 3';
    t.true(stdout.includes(`FAILED  2 of 3  expect { heights: 9, log: NODE_STARTED }  (line 5): ${failure}\n`), stdout);
    t.true(stdout.endsWith('failed: too much, at step 2 of 3\n'), stdout);
    const xml = readFileSync(junit, 'utf8');
    t.true(xml.includes(`<failure message="line 5: ${failure}"/>`), xml);
    t.regex(xml, /tests="3" failures="1" errors="0" skipped="1"/);
    const [, folder = ''] = /^the logs of the nodes are in (.*)$/m.exec(stderr) ?? [];
    t.true(existsSync(join(folder, 'node-0', 'node.log')), stderr);
    rmSync(folder, { recursive: true });
    await t.throwsAsync(fetch(`http://127.0.0.1:${http}/api/node/status`));
  },
);

test.serial('an operation that the devnet refuses makes the step fail with the reason', async (t) => {
  t.timeout(RUN_MS_MAX + 50_000);
  const file = written(
    t,
    'name: refused\ndevnet: { nodes: 1, delegates: 5, mine: on-demand }\nsteps:\n  - warp: 1h\n  - warp: 2017-01-01\n',
  );
  const { code, stdout, stderr } = await run(file);
  t.is(code, 1, stderr);
  t.regex(
    stdout,
    /^FAILED {2}2 of 2 {2}warp 2017-01-01 {2}\(line 5\): the devnet's clock shows .* and cannot go back/m,
  );
  const [, folder = ''] = /^the logs of the nodes are in (.*)$/m.exec(stderr) ?? [];
  rmSync(folder, { recursive: true });
});

test.serial('a stopped run leaves no process and no folder', async (t) => {
  t.timeout(RUN_MS_MAX);
  const file = written(t, 'name: long\ndevnet: { nodes: 2, delegates: 5 }\nsteps:\n  - mine\n  - wait: 10m\n');
  const { flags, http } = await portFlags(file);
  const temporary = temporaryFolder(t);
  const child = spawn(process.execPath, [CLI_ENTRY, 'devnet', 'run', file, ...flags], {
    env: { PATH: process.env['PATH'], TMPDIR: temporary, BLOOMERY_HOME: temporary },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = once(child, 'close');
  const began = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (stdout.includes('ok      1 of 2')) resolve();
    });
  });
  await Promise.race([began, ended]);
  child.kill('SIGINT');
  t.deepEqual(await ended, [1, null], `${stdout}${stderr}`);
  t.regex(stderr, /^stopped after 1 of 2 steps$/m);
  t.deepEqual(readdirSync(temporary), []);
  for (const port of [http, http + 1]) await t.throwsAsync(fetch(`http://127.0.0.1:${port}/api/node/status`));
});

test.serial('an invalid scenario is refused in one line before anything starts', async (t) => {
  const file = written(t, 'name: wrong\nsteps:\n  - mine: 5\n  - expects: { heights: 5 }\n');
  const temporary = temporaryFolder(t);
  const junit = join(temporary, 'junit.xml');
  const { code, stdout, stderr } = await runCli(['devnet', 'run', file, '--junit', junit], {
    env: { TMPDIR: temporary },
  });
  t.is(code, 2);
  t.is(stdout, '');
  t.true(isProblemLine(stderr), stderr);
  t.is(stderr, `bloomery: ${file}: line 4: a step has no \`expects\`: did you mean expect? (SCENARIO_INVALID)\n`);
  t.deepEqual(readdirSync(temporary), []);
  const right = written(t, 'name: right\nsteps: [mine]\n');
  const nowhere = join(temporary, 'none', 'junit.xml');
  const unwritable = await runCli(['devnet', 'run', right, '--junit', nowhere], { env: { TMPDIR: temporary } });
  t.is(unwritable.code, 2);
  t.true(isProblemLine(unwritable.stderr) && unwritable.stderr.includes('the results cannot be written there'));
  t.deepEqual(readdirSync(temporary), []);
  const half = await runCli(['devnet', 'run', right, '--http-port', '4000']);
  t.is(half.code, 2, half.stderr);
  const missing = await runCli(['devnet', 'run', join(temporary, 'none.yaml')]);
  t.is(missing.code, 2);
  t.regex(missing.stderr, /none\.yaml: the scenario cannot be read: there is no such file/);
});

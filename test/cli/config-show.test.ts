import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { runCli } from '../support/cli.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import type { Untyped } from '../support/untyped.ts';

const KEY = 'ab'.repeat(32);
const ENTRY = `{ publicKey: '${KEY}', encryptedPassphrase: 'iterations=1&salt=aa&cipherText=bb&iv=cc&tag=dd&version=1' }`;

test.serial('each option is shown with its value and its origin; secrets are hidden', async (t) => {
  const file = join(temporaryFolder(t), 'node.json5');
  writeFileSync(
    file,
    `{ http: { port: 4321 }, log: { modules: ['p2p=debug', 'http=warn'] }, forging: { defaultPassword: 'opens everything', delegates: [${ENTRY}] } }`,
  );
  const args = ['config', 'show', '--network', 'devnet', '--config', file];
  const { code, stdout, stderr } = await runCli(args, { env: { BLOOMERY_LOG_LEVEL: 'warn' } });
  t.is(code, 0, stderr);
  const rowOf = (option: string): readonly string[] => {
    const line = stdout.split('\n').find((each) => each.startsWith(`${option} `)) ?? '';
    return line.split(/ {2,}/);
  };
  t.deepEqual(rowOf('http.port'), ['http.port', '4321', file]);
  t.deepEqual(rowOf('log.level'), ['log.level', 'warn', 'environment (BLOOMERY_LOG_LEVEL)']);
  t.deepEqual(rowOf('log.modules'), ['log.modules', 'p2p=debug, http=warn', file]);
  t.deepEqual(rowOf('p2p.outboundMax'), ['p2p.outboundMax', '20', 'default']);
  t.regex(rowOf('p2p.port')[2] ?? '', /networks.devnet$/);
  t.deepEqual(rowOf('forging.defaultPassword').slice(1), ['***', file]);
  t.is(rowOf('forging.delegates')[1], `${KEY}|***`);
  t.deepEqual(rowOf('forging.riskDoubleForging').slice(1), ['true', 'default']);
  t.regex(rowOf('forging.watermarkFolder')[1] ?? '', /^bloomery.signed below \$XDG_STATE_HOME/);
  t.is(rowOf('log.file')[1], 'none');
  t.false(stdout.includes('opens everything') || stdout.includes('cipherText'));

  const json = JSON.parse((await runCli([...args, '--json'])).stdout) as Untyped;
  t.deepEqual(
    json.options.find(({ option }: { option: string }) => option === 'http.port'),
    { option: 'http.port', value: 4321, origin: file },
  );
});

test.serial('a wrong value is refused as by a start: with file, key and expected value', async (t) => {
  const file = join(temporaryFolder(t), 'node.json5');
  writeFileSync(file, '{ http: { port: "many" } }');
  const { code, stderr } = await runCli(['config', 'show', '--network', 'devnet', '--config', file]);
  t.is(code, 2);
  t.is(stderr, `bloomery: ${file}: http.port must be an integer from 0 to 65535 (CONFIG_INVALID)\n`);
});

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import JSON5 from 'json5';
import test, { type ExecutionContext } from 'ava';
import { decryptPassphrase, keyPairOfPassphrase } from '../../src/crypto/keys.ts';
import { hexOf } from '../../src/primitives/bytes.ts';
import { isProblemLine, runCli } from '../support/cli.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const WORDS = `${'abandon '.repeat(11)}about`;
const PASSWORD = 'a long password';

function setUpHome(t: ExecutionContext) {
  const home = temporaryFolder(t);
  const data = join(home, 'data of mine');
  const run = (args: readonly string[], lines: readonly string[] = []) =>
    runCli(['init', '--iterations', '1', ...args], {
      env: { BLOOMERY_HOME: home },
      input: lines.map((line) => `${line}\n`).join(''),
    });
  return { home, data, run };
}

interface WrittenConfig {
  readonly http: { readonly port: number; readonly accessPublic?: boolean };
  readonly p2p: { readonly port: number };
  readonly forging?: { readonly delegates: readonly { publicKey: string; encryptedPassphrase: string }[] };
}

function configIn(data: string): WrittenConfig {
  return JSON5.parse(readFileSync(join(data, 'config.json5'), 'utf8'));
}

test('answers to the questions lead to a configuration that a node takes, a new account and a unit', async (t) => {
  const { home, data, run } = setUpHome(t);
  const answers = ['devnet', data, '4321', '', 'y', 'y', '', PASSWORD, PASSWORD, 'y', 'y'];
  const { code, stdout, stderr } = await run([], answers);
  t.is(code, 0, stderr);
  t.regex(stderr, /Network \(.*devnet-gen2.*\) \[devnet\]: Folder for data \[/);
  t.regex(stderr, /network {8}devnet, generation 3\n/);
  const written = configIn(data);
  t.like(written, { http: { port: 4321, accessPublic: true }, p2p: { port: 5000 } });

  const passphrase = readFileSync(join(data, 'passphrase'), 'utf8').trim();
  t.is(passphrase.split(' ').length, 12);
  for (const file of ['passphrase', 'config.json5']) t.is(statSync(join(data, file)).mode & 0o777, 0o600, file);
  const [entry] = written.forging?.delegates ?? [];
  t.is(await decryptPassphrase(entry?.encryptedPassphrase ?? '', PASSWORD), passphrase);
  t.is(entry?.publicKey, hexOf(keyPairOfPassphrase(passphrase).publicKey));
  t.false(`${stdout}${stderr}`.includes(passphrase));
  t.false(`${stdout}${stderr}`.includes(PASSWORD));

  const shown = await runCli(['config', 'show', '--network', 'devnet', '--config', join(data, 'config.json5')], {
    env: { BLOOMERY_HOME: home },
  });
  t.is(shown.code, 0, shown.stderr);
  t.regex(shown.stdout, /http\.port +4321/);
  t.regex(stdout, /bloomery start --network devnet --data-dir '.*data of mine' --config '.*config\.json5'\n/);

  const unit = readFileSync(join(data, 'bloomery.service'), 'utf8');
  t.regex(
    unit,
    new RegExp(`^ExecStart=${process.execPath} .*bloomery\\.js start --network devnet --data-dir "${data}"`, 'm'),
  );
  t.regex(unit, /^ReadWritePaths=".*data of mine" .*\/\.local\/state\/bloomery\/signed$/m);
  for (const line of ['Type=notify', 'Restart=on-failure', 'ProtectSystem=strict', 'WantedBy=multi-user.target'])
    t.regex(unit, new RegExp(`^${line}$`, 'm'));
  t.true(unit.includes(`\nEnvironment=NODE_ENV=production BLOOMERY_LOG_FORMAT=json BLOOMERY_HOME=${home}\n`), unit);
  t.is(unit.match(/^(User|ExecStart|ProtectHome)=/gm)?.length, 3);
  t.notRegex(unit, /StateDirectory|EnvironmentFile|\/var\/lib/);
});

test('flags answer all questions with --yes, and the result is one object with --json', async (t) => {
  const { home, data, run } = setUpHome(t);
  const [passphrase, password] = [join(home, 'words'), join(home, 'password')];
  writeFileSync(passphrase, `${WORDS}\n`);
  writeFileSync(password, `${PASSWORD}\n`);
  const secrets = ['--passphrase-file', passphrase, '--password-file', password];
  const places = ['--network', 'devnet-gen2', '--data-dir', data, '--http-port', '4567', '--ws-port', '5678'];
  const { code, stdout, stderr } = await run(['--yes', '--json', ...places, ...secrets]);
  t.is(code, 0, stderr);
  t.is(stderr, '');
  const { publicKey } = { publicKey: hexOf(keyPairOfPassphrase(WORDS).publicKey) };
  const result = JSON.parse(stdout) as Record<string, string>;
  t.like(result, { network: 'devnet-gen2', dataDirectory: data, config: join(data, 'config.json5'), publicKey });
  t.regex(result['address'] ?? '', /^\d+L$/);
  t.like(configIn(data), { http: { port: 4567 }, p2p: { port: 5678 } });
  t.deepEqual(readdirSync(data), ['config.json5']);
});

test('without a delegate and a unit only a configuration is written', async (t) => {
  const { data, run } = setUpHome(t);
  const { code } = await run(['--network', 'devnet', '--data-dir', data, '--no-unit'], ['', '', 'n', 'n', 'y']);
  t.is(code, 0);
  t.deepEqual(configIn(data), { http: { port: 4000 }, p2p: { port: 5000 } });
  t.deepEqual(readdirSync(data), ['config.json5']);
});

test('no file is replaced, and an existing one prevents the writes of the others', async (t) => {
  const { data, run } = setUpHome(t);
  const places = ['--yes', '--network', 'devnet', '--data-dir', data];
  t.is((await run(places)).code, 0);
  const before = readFileSync(join(data, 'config.json5'), 'utf8');
  const again = await run([...places, '--http-port', '4999', '--unit']);
  t.is(again.code, 2);
  t.true(isProblemLine(again.stderr), again.stderr);
  t.regex(again.stderr, /config\.json5 already exists/);
  t.is(readFileSync(join(data, 'config.json5'), 'utf8'), before);
  t.false(existsSync(join(data, 'bloomery.service')));
});

test('an invalid answer is asked again; the answer no, and the end of the input, write nothing', async (t) => {
  const { data, run } = setUpHome(t);
  const corrected = ['nowhere', 'devnet', data, '99999', '4001', '5001', 'perhaps', 'n', 'n', 'n', 'n'];
  const refused = await run([], corrected);
  t.not(refused.code, 0);
  t.regex(refused.stderr, /unknown network `nowhere`/);
  t.regex(refused.stderr, /a port is a number from 1 to 65535/);
  t.regex(refused.stderr, /answer y or n/);
  t.regex(refused.stderr, /HTTP 4001, for this machine; peers 5001/);
  t.regex(refused.stderr, /nothing was written \(CANCELLED\)\n$/);
  const ended = await run(['--network', 'devnet', '--data-dir', data], ['4001']);
  t.not(ended.code, 0);
  t.regex(ended.stderr, /nothing was answered: nothing was written \(CANCELLED\)\n$/);
  t.false(existsSync(data));
});

test('a network folder of the working directory is written as an absolute path, because a unit starts elsewhere', async (t) => {
  const { home, data } = setUpHome(t);
  const cwd = join(home, 'work');
  cpSync(join('networks', 'devnet'), join(cwd, 'mine'), { recursive: true });
  for (const [network, written] of [
    ['mine', join(cwd, 'mine')],
    ['./mine', join(cwd, 'mine')],
    ['devnet', 'devnet'],
    // The relative path points to the packaged network only from this working directory, so the unit must contain the
    // absolute path.
    [relative(cwd, resolve('networks', 'devnet')), resolve('networks', 'devnet')],
  ] as const) {
    const args = ['init', '--yes', '--network', network, '--data-dir', data, '--unit'];
    const { code, stdout, stderr } = await runCli(args, { env: { BLOOMERY_HOME: home }, cwd });
    t.is(code, 0, stderr);
    t.true(stdout.includes(`bloomery start --network ${written} --data-dir`), stdout);
    t.true(readFileSync(join(data, 'bloomery.service'), 'utf8').includes(`start --network ${written} --data-dir`));
    rmSync(data, { recursive: true });
  }
});

test('a missing network, one port twice, two kinds of account and a misspelt passphrase are refused', async (t) => {
  const { home, data, run } = setUpHome(t);
  const wrong = join(home, 'wrong');
  writeFileSync(wrong, `${WORDS} about\n`);
  const places = ['--yes', '--network', 'devnet', '--data-dir', data];
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['--yes'], /--network is required/],
    [['--yes', '--network', 'nowhere'], /unknown network/],
    [[...places, '--http-port', '5000'], /cannot share port 5000/],
    [[...places, '--new-account', '--passphrase-file', wrong], /give one of them/],
    [[...places, '--passphrase-file', wrong, '--password-file', wrong], /is a word misspelt/],
    [[...places, '--new-account'], /no terminal to ask for the password/],
  ];
  for (const [args, reason] of cases) {
    const { code, stderr, stdout } = await run(args);
    t.not(code, 0);
    t.regex(stderr, reason);
    t.true(isProblemLine(stderr), stderr);
    t.is(stdout, '');
  }
  t.false(existsSync(data));
});

import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { systemClock } from '../../src/node/system.ts';
import { takeLock } from '../../src/store/disk/process-lock.ts';
import { isProblemLine, runCli, takePort } from '../support/cli.ts';
import { canMakeCertificates, makeCertificate } from '../support/certificate.ts';
import { freePortRanges } from '../support/ports.ts';
import { devnetCopy, editJson, temporaryFolder } from '../support/network-folder.ts';

test.serial('start on a taken HTTP or peer port names the port and writes nothing', async (t) => {
  const taken = await takePort(t);
  const data = join(temporaryFolder(t), 'data');
  for (const [flag, other] of [
    ['--http-port', '--ws-port'],
    ['--ws-port', '--http-port'],
  ] as const) {
    const args = ['start', '--network', 'devnet', flag, `${taken}`, other, '0', '--data-dir', data];
    const { code, stderr } = await runCli(args);
    t.is(code, 1);
    t.is(
      stderr,
      `bloomery: port ${taken} is in use: stop the program that has it or choose another port (PORT_IN_USE)\n`,
    );
    t.false(existsSync(data));
  }
});

test.serial('a second start of a node names the data folder that is in use, and not the port', async (t) => {
  const taken = await takePort(t);
  const data = temporaryFolder(t);
  const chain = join(data, 'devnet', 'chain');
  mkdirSync(chain, { recursive: true });
  const lock = takeLock(chain, 'in-use', systemClock);
  t.teardown(() => {
    lock.release();
  });
  const args = ['start', '--network', 'devnet', '--http-port', `${taken}`, '--ws-port', '0', '--data-dir', data];
  const { code, stderr } = await runCli(args);
  t.is(code, 1);
  t.true(isProblemLine(stderr), stderr);
  t.true(stderr.startsWith(`bloomery: The chain store in ${chain} is in use by process ${process.pid}`), stderr);
  t.regex(stderr, /\(STORE_IN_USE\)$/m);
});

test.serial(
  'start refuses a log file that it cannot write, as a wrong configuration, and writes nothing',
  async (t) => {
    const folder = temporaryFolder(t);
    const config = join(folder, 'config.json5');
    writeFileSync(config, JSON.stringify({ log: { file: join(config, 'node.log') } }));
    const data = join(folder, 'data');
    const ports = ['--http-port', '0', '--ws-port', '0'];
    const args = ['start', '--network', 'devnet', ...ports, '--config', config, '--data-dir', data];
    const { code, stderr } = await runCli(args);
    t.is(code, 2, stderr);
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, /\(LOG_FILE_UNUSABLE\)$/m);
    t.false(existsSync(data));
  },
);

for (const args of [
  ['devnet', '--data-dir', '', '--fresh'],
  ['devnet', '--fork', ''],
  ['devnet', 'list', '--data-dir', ''],
  ['start', '--network', 'devnet', '--data-dir', ''],
  ['start', '--network', ''],
]) {
  test.serial(`an empty folder is refused, and the current one is unchanged: ${args.join(' ')}`, async (t) => {
    const cwd = temporaryFolder(t);
    const { code, stdout, stderr } = await runCli(args, { cwd, timeoutMs: 20_000 });
    t.is(code, 2, stderr);
    t.is(stdout, '');
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, /It must not be empty/);
    t.deepEqual(readdirSync(cwd), []);
  });
}

/**
 * Runs `bloomery start` with a TLS listener. The caller must not create the data folder (`data` in `folder`) before the
 * call, because `isWritten` in the result states whether the command has created this data folder.
 */
async function startWithTls(folder: string, http: Readonly<Record<string, unknown>>) {
  const config = join(folder, 'config.json5');
  writeFileSync(config, JSON.stringify({ http }));
  const data = join(folder, 'data');
  const ports = ['--http-port', '0', '--ws-port', '0'];
  const args = ['start', '--network', 'devnet', ...ports, '--config', config, '--data-dir', data];
  return { ...(await runCli(args)), isWritten: existsSync(data) };
}

test.serial('start refuses a TLS file that it cannot read, and writes nothing', async (t) => {
  const folder = temporaryFolder(t);
  const [tlsKeyFile, tlsCertificateFile] = [join(folder, 'no-key.pem'), join(folder, 'no-certificate.pem')];
  const { code, stderr, isWritten } = await startWithTls(folder, { tlsPort: 4443, tlsKeyFile, tlsCertificateFile });
  t.is(code, 2);
  t.true(isProblemLine(stderr), stderr);
  t.true(stderr.startsWith(`bloomery: http.tlsKeyFile \`${tlsKeyFile}\` cannot be read: `), stderr);
  t.false(isWritten);
});

test.serial('start refuses a TLS file that holds no key, and writes nothing', async (t) => {
  const folder = temporaryFolder(t);
  const [tlsKeyFile, tlsCertificateFile] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  for (const file of [tlsKeyFile, tlsCertificateFile]) writeFileSync(file, 'no PEM');
  const { code, stderr, isWritten } = await startWithTls(folder, { tlsPort: 4443, tlsKeyFile, tlsCertificateFile });
  t.is(code, 2);
  t.true(isProblemLine(stderr), stderr);
  t.true(stderr.includes(`\`${tlsKeyFile}\``) && stderr.includes(`\`${tlsCertificateFile}\``), stderr);
  t.regex(stderr, /\(TLS_INVALID\)$/m);
  t.false(isWritten);
});

if (canMakeCertificates) {
  test.serial('start refuses a TLS certificate of another key, also of another kind of key', async (t) => {
    const folder = temporaryFolder(t);
    const ec = makeCertificate(folder, 'ec');
    const rsa = makeCertificate(folder, 'rsa');
    const files = { tlsKeyFile: rsa.keyFile, tlsCertificateFile: ec.certificateFile };
    const { code, stderr, isWritten } = await startWithTls(folder, { tlsPort: 4443, ...files });
    t.is(code, 2);
    t.regex(stderr, /the key does not belong to the certificate.*\(TLS_INVALID\)$/m);
    t.false(isWritten);
  });

  test.serial('start on a taken TLS port names the port and writes nothing', async (t) => {
    const folder = temporaryFolder(t);
    const { keyFile, certificateFile } = makeCertificate(folder);
    const tlsPort = await takePort(t);
    const files = { tlsKeyFile: keyFile, tlsCertificateFile: certificateFile };
    const { code, stderr, isWritten } = await startWithTls(folder, { tlsPort, ...files });
    t.is(code, 1);
    t.regex(stderr, new RegExp(`port ${tlsPort} is in use: stop the program`));
    t.false(isWritten);
  });
}

test.serial('devnet names a port in use before it starts anything', async (t) => {
  const taken = await takePort(t);
  const { ws } = await freePortRanges(4);
  const data = join(temporaryFolder(t), 'data');
  const first = `${taken - 2}`;
  const { code, stdout, stderr } = await runCli([
    'devnet',
    '--http-port',
    first,
    '--ws-port',
    `${ws}`,
    '--data-dir',
    data,
  ]);
  t.is(code, 1);
  t.is(stdout, '');
  t.true(isProblemLine(stderr), stderr);
  t.regex(stderr, /port \d+ is in use/);
  t.false(existsSync(data));
});

test.serial(
  'an encrypted passphrase with a wrong password is refused with its key, and nothing is written',
  async (t) => {
    const folder = temporaryFolder(t);
    const config = join(folder, 'config.json5');
    writeFileSync(config, "{ forging: { force: true, defaultPassword: 'wrong' } }");
    const data = join(folder, 'data');
    const ports = ['--http-port', '0', '--ws-port', '0'];
    const { code, stderr } = await runCli([
      'start',
      '--network',
      'devnet',
      '--config',
      config,
      '--data-dir',
      data,
      ...ports,
    ]);
    t.is(code, 2);
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, /the encrypted passphrase of [0-9a-f]{64} cannot be used .*--no-forging/);
    t.false(stderr.includes('wrong)'));
    t.false(existsSync(data));
  },
);

test.serial('a network folder with a broken genesis block is refused with file and key', async (t) => {
  const network = devnetCopy(t);
  editJson(network, 'genesis.json', (json) => void (json.payloadLength = 1));
  const data = join(temporaryFolder(t), 'data');
  const { code, stderr } = await runCli(['start', '--network', network, '--data-dir', data]);
  t.is(code, 2);
  t.true(isProblemLine(stderr), stderr);
  t.regex(stderr, /genesis\.json: id must be \d+, which the header has/);
  t.false(existsSync(data));
});

test.serial('a configuration file with a misspelt key is refused with file and key', async (t) => {
  const folder = temporaryFolder(t);
  const config = join(folder, 'config.json5');
  writeFileSync(config, '{ forging: { delegate: [] } }');
  const { code, stderr } = await runCli(['start', '--network', 'devnet', '--config', config, '--data-dir', folder]);
  t.is(code, 2);
  t.is(stderr, `bloomery: ${config}: forging.delegate is not a known key: correct or remove it (CONFIG_INVALID)\n`);
  t.deepEqual(readdirSync(folder), ['config.json5']);
});

test.serial('a file in the place of the data folder is refused', async (t) => {
  const file = join(temporaryFolder(t), 'file');
  writeFileSync(file, '');
  const ports = ['--http-port', '0', '--ws-port', '0'];
  const blocks = join(temporaryFolder(t), 'blocks');
  writeFileSync(blocks, '');
  for (const folder of [file, join(file, 'below')]) {
    for (const args of [
      ['start', ...ports],
      ['import', blocks],
    ]) {
      const { code, stderr } = await runCli([...args, '--network', 'devnet', '--data-dir', folder]);
      t.is(code, 2);
      t.is(stderr, `bloomery: --data-dir ${folder}: ${file} is a file, not a folder: choose another folder\n`);
    }
  }
});

test.serial('a data folder that cannot be created is refused at once', async (t) => {
  for (const command of [
    ['devnet', '--nodes', '1'],
    ['start', '--network', 'devnet'],
  ]) {
    const ports = await freePortRanges(1);
    const args = [...command, '--http-port', `${ports.http}`, '--ws-port', `${ports.ws}`, '--data-dir', '/proc/foo'];
    const { code, stdout, stderr } = await runCli(args, { timeoutMs: 100_000 });
    t.is(code, 1);
    t.is(stdout, '');
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, /\/proc\/foo: no folder can be made there: choose another place/);
  }
});

test.serial('a data folder of another network is refused with advice and left unchanged', async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'data');
  const other = join(folder, 'other');
  t.is((await runCli(['genesis', 'create', '--name', 'devnet', '--out', other, '--seed', 'another'])).code, 0);
  const ports = await freePortRanges(1);
  const devnet = ['devnet', '--nodes', '1', '--http-port', `${ports.http}`, '--ws-port', `${ports.ws}`];
  t.is((await runCli([...devnet, '--data-dir', data, '--until-height', '1'])).code, 0);
  const node = join(data, 'node-0');
  const before = filesIn(join(node, 'devnet'));
  const start = ['start', '--network', other, '--data-dir', node, '--http-port', '0', '--ws-port', '0'];
  const { code, stderr } = await runCli(start);
  t.is(code, 1);
  t.true(isProblemLine(stderr), stderr);
  t.deepEqual(filesIn(join(node, 'devnet')), before);
});

test.serial(
  'a devnet is not continued with other parameters, and --fresh deletes only the data of the devnet',
  async (t) => {
    const data = temporaryFolder(t);
    const ports = await freePortRanges(2);
    const devnet = ['devnet', '--http-port', `${ports.http}`, '--ws-port', `${ports.ws}`, '--data-dir', data];
    writeFileSync(join(data, 'mine'), 'x');
    t.is((await runCli([...devnet, '--nodes', '1', '--until-height', '1'])).code, 0);
    const others: readonly (readonly [string[], RegExp])[] = [
      [['--nodes', '2'], /holds a devnet with 1 nodes/],
      [['--nodes', '1', '--block-time', '3'], /holds a devnet with a block time of 2 s/],
    ];
    for (const [flags, message] of others) {
      const { code, stderr } = await runCli([...devnet, ...flags, '--until-height', '1']);
      t.is(code, 1);
      t.true(isProblemLine(stderr), stderr);
      t.regex(stderr, message);
      t.regex(stderr, /--fresh/);
    }
    const fresh = await runCli([...devnet, '--nodes', '1', '--block-time', '3', '--fresh', '--until-height', '1']);
    t.is(fresh.code, 0, fresh.stderr);
    t.true(existsSync(join(data, 'mine')));
    t.true(existsSync(join(data, 'network', 'genesis.json')));
  },
);

test.serial('a copy of the network folder in the home is found by its name', async (t) => {
  const home = temporaryFolder(t);
  mkdirSync(join(home, 'networks'));
  cpSync(devnetCopy(t), join(home, 'networks', 'mine'), { recursive: true });
  editJson(join(home, 'networks', 'mine'), 'network.json', (json) => void (json.wsPort = 0));
  const { code, stderr } = await runCli(['start', '--network', 'mine'], { env: { BLOOMERY_HOME: home } });
  t.is(code, 2);
  t.true(stderr.includes(join(home, 'networks', 'mine', 'network.json')), stderr);
});

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
}

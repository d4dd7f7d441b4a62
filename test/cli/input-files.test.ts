/** Runs commands with a pipe without a writer, an endless device or a folder in the place of a regular file. */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { packagedNetworkDirectory } from '../../src/config/network.ts';
import { isProblemLine, runCli } from '../support/cli.ts';
import { makeWorkplace, type Workplace } from '../support/every-command.ts';

let folder: string;
let work: Workplace;

test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-files-'));
  work = await makeWorkplace(folder);
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  symlinkSync('/dev/zero', join(folder, 'zero'));
  mkdirSync(join(folder, 'directory'));
});

test.after.always(() => rmSync(folder, { recursive: true, force: true }));

/** Arguments of commands that read `file`. Each key names the purpose for which the command reads the file. */
function commands(file: string): Readonly<Record<string, readonly string[]>> {
  const fresh = mkdtempSync(join(folder, 'fresh-'));
  const data = ['--data-dir', join(fresh, 'data'), '--network', work.network];
  const networkWith = (name: string): string => {
    const network = join(mkdtempSync(join(folder, 'net-')), 'network');
    cpSync(packagedNetworkDirectory('devnet'), network, { recursive: true });
    rmSync(join(network, name), { force: true });
    symlinkSync(file, join(network, name));
    return network;
  };
  const foreignWith = (name: string): string => {
    const foreign = mkdtempSync(join(folder, 'foreign-'));
    cpSync(join(folder, 'foreign'), foreign, { recursive: true });
    rmSync(join(foreign, name));
    symlinkSync(file, join(foreign, name));
    return foreign;
  };
  const tls = join(fresh, 'tls.json');
  writeFileSync(tls, JSON.stringify({ http: { tlsPort: 1, tlsKeyFile: file, tlsCertificateFile: file } }));
  const journal = join(fresh, 'signed', 'made');
  mkdirSync(journal, { recursive: true });
  symlinkSync(file, join(journal, 'forged.journal'));
  const isPipe = file.endsWith('pipe');
  const show = ['config', 'show', '--network'];
  return {
    config: [...show, 'devnet', '--config', file],
    'network.json': [...show, networkWith('network.json')],
    'genesis.json': [...show, networkWith('genesis.json')],
    'exceptions.json': [...show, networkWith('exceptions.json')],
    'forgers.json': [...show, networkWith('forgers.json')],
    'config.json': ['network', 'import', '--from', foreignWith('config.json'), '--name', 'x'],
    'genesis_block.json': ['network', 'import', '--from', foreignWith('genesis_block.json'), '--name', 'x'],
    // These commands accept a pipe and wait for its data, so the test does not run them with a pipe.
    ...(isPipe
      ? {}
      : {
          passphrase: ['keys', 'show', '--passphrase-file', file],
          password: ['keys', 'encrypt', '--passphrase-file', work.passphrase, '--password-file', file],
          documents: ['broadcast', file],
          'signing record': ['forging', 'import', file, ...data],
        }),
    'chain file': ['import', file, ...data],
    snapshot: ['snapshot', 'restore', file, ...data],
    scenario: ['devnet', 'run', file],
    tls: ['start', '--config', tls, '--http-port', '0', '--ws-port', '0', ...data],
  };
}

for (const [kind, what] of [
  ['pipe', 'a pipe'],
  ['zero', 'a device'],
  ['directory', 'a folder'],
] as const) {
  test.serial(`no command waits for ${what} in the place of a file, or reads it`, async (t) => {
    for (const [name, args] of Object.entries(commands(join(folder, kind)))) {
      const { code, stderr } = await runCli(args, { timeoutMs: 60_000 });
      t.true(code === 1 || code === 2, `${name}: ${code} ${stderr}`);
      t.true(isProblemLine(stderr), `${name}: ${stderr}`);
      t.true(stderr.includes(`it is ${what}, not a file`), `${name}: ${stderr}`);
    }
  });
}

test.serial('a passphrase can be read from a pipe of the shell', async (t) => {
  const writer = execFileSync('sh', ['-c', `(cat ${work.passphrase} > ${join(folder, 'pipe')} &) > /dev/null 2>&1`]);
  t.is(writer.length, 0);
  const { code, stdout, stderr } = await runCli(['keys', 'show', '--passphrase-file', join(folder, 'pipe')]);
  t.is(code, 0, stderr);
  t.true(stdout.startsWith('public key  '));
});

test.serial('a configuration with a duplicate key is refused with key and line', async (t) => {
  const config = join(folder, 'twice.json5');
  writeFileSync(config, '{\n  http: { port: 4100 },\n  p2p: { port: 5100 },\n  http: {},\n}\n');
  const { code, stderr } = await runCli(['config', 'show', '--network', 'devnet', '--config', config]);
  t.is(code, 2);
  t.is(stderr, `bloomery: ${config}: line 4 has the key http again: keep one of them (CONFIG_INVALID)\n`);
});

test.serial('control characters in a configuration key do not reach the terminal', async (t) => {
  const config = join(folder, 'odd.json5');
  writeFileSync(config, '{ "\\u001b]0;owned\\u0007\\u202e": 1 }');
  const { code, stderr } = await runCli(['config', 'show', '--network', 'devnet', '--config', config]);
  t.is(code, 2);
  t.is(stderr, `bloomery: ${config}: ?]0;owned?? is not a known key: correct or remove it (CONFIG_INVALID)\n`);
});

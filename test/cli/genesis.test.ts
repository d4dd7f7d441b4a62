import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import test from 'ava';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { decryptPassphrase } from '../../src/crypto/keys.ts';
import { isProblemLine, runCli } from '../support/cli.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import type { Untyped } from '../support/untyped.ts';

const reference = createRequire(import.meta.url)('lisk-cryptography-2');

for (const [generation, name] of [
  ['3', 'devnet'],
  ['2', 'devnet-gen2'],
] as const) {
  test.serial(`the packaged ${name} equals the output of genesis create for its seed`, async (t) => {
    const out = join(temporaryFolder(t), 'made', name);
    const args = ['--generation', generation, '--name', name, '--out', out, '--seed', 'devnet', '--block-time', '2'];
    const { code, stdout, stderr } = await runCli(['genesis', 'create', ...args]);
    t.is(code, 0, stderr);
    t.regex(stdout, /genesis block \d+/);
    const packaged = packagedNetworkDirectory(name);
    t.deepEqual(readdirSync(out).sort(), readdirSync(packaged).sort());
    for (const file of readdirSync(packaged)) {
      t.is(readFileSync(join(out, file), 'utf8'), readFileSync(join(packaged, file), 'utf8'), file);
    }
  });
}

test.serial('both devnets have the same accounts', async (t) => {
  const [older, newer] = await Promise.all(
    ['2', '3'].map((generation) => runCli(['devnet', 'accounts', '--json', '--generation', generation])),
  );
  t.is(older?.code, 0);
  t.is(older?.stdout, newer?.stdout);
});

test.serial('without a seed two networks of the same name differ', async (t) => {
  const folder = temporaryFolder(t);
  for (const out of ['a', 'b']) {
    const { code } = await runCli([
      'genesis',
      'create',
      '--name',
      'mine',
      '--out',
      join(folder, out),
      '--delegates',
      '5',
    ]);
    t.is(code, 0);
  }
  const [a, b] = [loadNetwork(join(folder, 'a')), loadNetwork(join(folder, 'b'))];
  t.not(a.params.genesisBlockId, b.params.genesisBlockId);
  t.is(a.forgers?.delegates.length, 5);
  t.is(a.params.blockTimeS, 10);
});

test.serial('genesis create does not write to a folder that is not empty', async (t) => {
  const out = join(temporaryFolder(t), 'out');
  mkdirSync(out);
  writeFileSync(join(out, 'mine'), 'x');
  const { code, stderr } = await runCli(['genesis', 'create', '--name', 'mine', '--out', out]);
  t.is(code, 1);
  t.true(isProblemLine(stderr), stderr);
  t.deepEqual(readdirSync(out), ['mine']);
});

test.serial('a failed genesis create leaves nothing behind', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const { code, stderr } = await runCli(['genesis', 'create', '--name', 'mine', '--out', join(file, 'out')]);
  t.is(code, 1);
  t.true(isProblemLine(stderr), stderr);
  // The user gave the path with --out. The message must therefore advise another folder, and may name --data-dir only
  // for the data of a node.
  t.regex(
    stderr,
    /is not a folder: choose another folder, for the data of a node with --data-dir \((EEXIST|ENOTDIR)\)\n$/,
  );
  t.deepEqual(readdirSync(folder), ['file']);
});

test.serial(
  'devnet accounts lists genesis, ten accounts and all delegates, with the keys that the reference derives',
  async (t) => {
    const { code, stdout } = await runCli(['devnet', 'accounts', '--json']);
    t.is(code, 0);
    const { accounts } = JSON.parse(stdout);
    t.is(accounts.length, 112);
    t.deepEqual(
      accounts.slice(0, 11).map((account: { name: string }) => account.name),
      ['genesis', ...Array.from({ length: 10 }, (_, index) => `account_${index + 1}`)],
    );
    for (const account of accounts) {
      t.deepEqual(Object.keys(account), ['name', 'address', 'publicKey', 'passphrase']);
      const expected = reference.getAddressAndPublicKeyFromPassphrase(account.passphrase);
      t.like(account, expected);
    }
    const text = await runCli(['devnet', 'accounts']);
    t.regex(text.stdout, /^Devnet only/);
    t.true(text.stdout.includes(accounts[5].passphrase));
  },
);

test.serial('the encrypted forger keys of the devnet open with its password and belong to its delegates', async (t) => {
  const { forgers } = loadNetwork(packagedNetworkDirectory('devnet'));
  const { accounts } = JSON.parse(readFileSync(join(packagedNetworkDirectory('devnet'), 'accounts.json'), 'utf8'));
  const byKey = new Map<string, string>(accounts.map((account: Untyped) => [account.publicKey, account.passphrase]));
  for (const { publicKey, encryptedPassphrase } of forgers?.delegates ?? []) {
    t.is(await decryptPassphrase(encryptedPassphrase, forgers?.defaultPassword ?? ''), byKey.get(publicKey) ?? 'none');
  }
  t.false(existsSync(join(packagedNetworkDirectory('devnet'), 'exceptions.json')));
});

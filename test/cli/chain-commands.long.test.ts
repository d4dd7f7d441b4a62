import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { lineOfBlock } from '../../src/protocol/block/block-line.ts';
import { openSnapshot } from '../../src/node/chain-tool.ts';
import { openLmdb } from '../../src/store/disk/lmdb.ts';
import type { KeyValue } from '../../src/store/tables/key-value.ts';
import { LAYOUT_VERSION, TABLES } from '../../src/store/tables/layout.ts';
import { makeOlder } from '../store/older-layouts.ts';
import { madeChain, NETWORK_NAME, locationIn, writeNetworkFolder } from '../support/chain-folder.ts';
import { CLI_ENTRY, isProblemLine, runCli, type CliResult } from '../support/cli.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const HEIGHT = 200;
const { maker, network, blocks } = madeChain(HEIGHT);
const text = blocks.map((block) => `${lineOfBlock(block, maker.rules.codec)}\n`).join('');

interface CommandFixture {
  readonly network: string;
  readonly data: string;
  readonly file: string;
  run(command: string, ...args: readonly string[]): Promise<CliResult>;
}

/** Creates a network folder and a file with the chain. Each command gets the network folder and a data folder. */
function setUpCommands(t: ExecutionContext, its = network): CommandFixture {
  const folder = temporaryFolder(t);
  const networkFolder = writeNetworkFolder(join(folder, 'net'), its);
  const data = join(folder, 'data');
  const file = join(folder, 'chain.ndjson');
  writeFileSync(file, text);
  const run = async (command: string, ...args: readonly string[]): Promise<CliResult> => {
    const result = await runCli([command, '--data-dir', data, '--network', networkFolder, ...args]);
    // Remove the progress lines, which a command writes only on a slow machine.
    return {
      ...result,
      stderr: result.stderr.replace(/^([0-9]+ %, )?(im|ex)porting: .*\n|^([0-9]+ %, )?verifying: .*\n/gm, ''),
    };
  };
  return { network: networkFolder, data, file, run };
}

test.serial(
  'a store of an earlier layout is upgraded by a command, which changes nothing when it is repeated',
  async (t) => {
    const { run, file, data, network: networkFolder } = setUpCommands(t);
    t.is((await run('upgrade')).code, 2, 'there is no store yet');
    await run('import', file);
    const chain = join(data, NETWORK_NAME, 'chain');
    const keys = openLmdb(chain, false);
    const before = contentOf(keys);
    makeOlder(keys, '5');
    t.not(contentOf(keys), before);
    await keys.close();

    const upgraded = await run('upgrade', '--json');
    t.is(upgraded.stderr, '');
    t.like(JSON.parse(upgraded.stdout), { from: 5, to: LAYOUT_VERSION });
    const after = openLmdb(chain, false);
    t.is(contentOf(after), before);
    const held = await run('upgrade');
    await after.close();
    t.is(held.code, 1);
    t.regex(held.stderr, /in use/);
    const again = await run('upgrade');
    t.is(again.stdout, `${NETWORK_NAME}: the chain store has layout ${LAYOUT_VERSION} already\n`);
    t.is((await run('verify')).code, 0);

    const raw = openLmdb(chain, false);
    raw.transact((writer) => writer.put(TABLES.meta.key('layout'), Buffer.from('2')));
    await raw.close();
    const refused = await run('upgrade', '--network', networkFolder);
    t.is(refused.code, 1);
    t.regex(
      refused.stderr,
      /has layout 2, and this version of the node reads layouts 4 to .*nothing was changed.*bloomery export/,
    );
  },
);

/** Digest of all keys and values of a store. */
function contentOf(keys: KeyValue): string {
  const hash = createHash('sha256');
  for (const { key, value } of keys.entries({ gte: Buffer.from([0]), lt: Buffer.from([255]) })) {
    hash.update(`${key.toString('hex')} ${value.toString('hex')}\n`);
  }
  return hash.digest('hex');
}

test.serial('a chain is imported, verified, exported, rolled back and imported again', async (t) => {
  const { run, file, data, network: networkFolder } = setUpCommands(t);
  const imported = await run('import', file);
  t.is(imported.stderr, '');
  t.is(imported.code, 0);
  const tip = `height ${HEIGHT}, block ${blocks.at(-1)?.id}`;
  t.is(imported.stdout, `${NETWORK_NAME}: ${HEIGHT - 1} blocks and 63 transactions imported; ${tip}\n`);

  const verified = await run('verify');
  t.is(verified.stderr, '');
  t.regex(
    verified.stdout,
    new RegExp(`^made: ${HEIGHT} blocks and [0-9]+ keys agree with the rules; ${tip}, digest [0-9a-f]{64}\n$`),
  );

  const copy = `${file}.copy`;
  t.is((await run('export', copy)).stdout, `${copy}: blocks 1 to ${HEIGHT}\n`);
  t.is(sha256(readFileSync(copy, 'utf8')), sha256(text));
  const packed = `${file}.gz`;
  t.is((await run('export', packed)).code, 0);
  t.is(sha256(gunzipSync(readFileSync(packed)).toString('utf8')), sha256(text));
  const other = await runCli(['import', '--data-dir', `${data}-2`, '--network', networkFolder, packed]);
  t.is(other.stdout, imported.stdout);
  t.is((await runCli(['verify', '--data-dir', `${data}-2`, '--network', networkFolder])).stdout, verified.stdout);
  const part = await run('export', '--from', '199', '--to', '200');
  t.is(part.stdout, text.split('\n').slice(198).join('\n'));

  const asked = await run('rollback', '--to', '190');
  t.is(asked.code, 2);
  t.is(
    asked.stderr,
    `${NETWORK_NAME}: 10 blocks, heights 191 to 200, with 3 transactions\n` +
      'bloomery: there is no terminal for a confirmation: use --yes to continue without one\n',
  );
  const back = await run('rollback', '--to', '190', '--yes');
  t.is(back.stdout, `${NETWORK_NAME}: 10 blocks removed; height 190, block ${blocks[189]?.id}\n`);
  t.regex((await run('verify')).stdout, /^made: 190 blocks /);
  t.regex((await run('import', file)).stdout, /: 10 blocks and 3 transactions imported; height 200, /);
  t.is((await run('verify')).stdout, verified.stdout);
});

test.serial(
  'without finality, a chain that was rolled back is intact, although it lacks old undo records',
  async (t) => {
    const long = madeChain(1100, { generation: 2, blockTimeS: 10, delegateListRoundOffset: 0 });
    const { run, file } = setUpCommands(t, long.network);
    writeFileSync(file, long.blocks.map((block) => `${lineOfBlock(block, long.maker.rules.codec)}\n`).join(''));
    t.regex((await run('import', file)).stdout, /: 1099 blocks /);
    t.regex((await run('rollback', '--to', '1085', '--yes')).stdout, /: 15 blocks removed; height 1085, /);
    t.regex((await run('verify')).stdout, /^made: 1085 blocks /);
  },
);

test.serial('a refused block ends the import with exit code 1 and one line that names it', async (t) => {
  const { run, file } = setUpCommands(t);
  const lines = text.split('\n');
  lines[99] = (lines[99] ?? '').replace(/"blockSignature":"../, '"blockSignature":"00');
  writeFileSync(file, lines.join('\n'));
  const { code, stderr, stdout } = await run('import', file);
  t.is(code, 1);
  t.is(stdout, '');
  t.true(isProblemLine(stderr), stderr);
  const where = `${file}, line 100: block ${blocks[99]?.id} at height 100 is refused: Invalid block signature`;
  t.is(stderr, `bloomery: ${where} (BLOCK_SIGNATURE_INVALID); the chain ends at height 99 (IMPORT_REFUSED)\n`);
  t.regex((await run('verify')).stdout, /^made: 99 blocks /);
});

test.serial(
  'an import killed in the middle leaves an intact chain, and the next one continues from there',
  async (t) => {
    const long = madeChain(1100);
    const lines = long.blocks.map((block) => `${lineOfBlock(block, long.maker.rules.codec)}\n`);
    const { run, file, data, network: networkFolder } = setUpCommands(t, long.network);
    writeFileSync(file, lines.join(''));
    const place = locationIn(data, long.network);
    const heightNow = async (): Promise<number> => {
      const snapshot = await openSnapshot(place).catch(() => undefined);
      const height = snapshot?.store.tip()?.height ?? 0;
      await snapshot?.store.close();
      return height;
    };
    const args = ['import', '--data-dir', data, '--network', networkFolder, '-'];
    const child = spawn(process.execPath, [CLI_ENTRY, ...args], { stdio: ['pipe', 'ignore', 'inherit'] });
    t.teardown(() => child.kill('SIGKILL'));
    // These 800 lines are enough for one commit of the import (510 blocks), but not for a second commit.
    child.stdin.write(lines.slice(0, 800).join(''));
    const deadlineMs = Date.now() + 200_000;
    while ((await heightNow()) < 100 && Date.now() < deadlineMs) await sleep(20);
    t.is(await heightNow(), 510);
    // The import builds the indexes last. Until then, a command that needs no index works. `verify` compares the
    // indexes, so `verify` must tell the user to wait for the end of the import.
    t.deepEqual(await run('export', '--to', '99'), { code: 0, stdout: lines.slice(0, 99).join(''), stderr: '' });
    const early = await run('verify');
    t.is(early.code, 1);
    t.regex(
      early.stderr,
      /^bloomery: The chain store in .* can be examined when process [0-9]+ has ended: it imports /,
    );
    child.kill('SIGKILL');
    await once(child, 'exit');
    const left = await heightNow();
    t.true(left > 100 && left < 800, `height ${left}`);
    t.deepEqual(await run('export', '--to', '99'), { code: 0, stdout: lines.slice(0, 99).join(''), stderr: '' });
    t.regex((await run('verify')).stdout, new RegExp(`^made: ${left} blocks and `));
    t.regex((await run('import', file)).stdout, new RegExp(`: ${1100 - left} blocks and .* height 1100, `));
    t.is((await run('verify')).code, 0);
  },
);

test.serial('a command beyond the range of a chain, or without an argument, is a one-line usage error', async (t) => {
  const { run, file, data, network: networkFolder } = setUpCommands(t);
  const none = await run('verify');
  t.is(none.code, 2);
  t.regex(none.stderr, /^bloomery: there is no chain of made in .*: correct --data-dir\n$/);
  await run('import', file);
  for (const [args, words] of [
    [['export', '--from', '201'], /--from 201 is above the last height of 200/],
    [['export', '--to', '201'], /--to 201 is above the tip: the chain ends at height 200/],
    [['rollback', '--to', '201'], /--to 201 is above the tip: the chain ends at height 200/],
    [['rollback', '--to', '2'], /--to 2 is below the finalized height [0-9]+: blocks up to it are final/],
    [['rollback'], /required option/],
    [['import'], /missing required argument/],
  ] as const) {
    const [command, ...rest] = args;
    const { code, stderr, stdout } = await run(command, ...rest);
    t.is(code, 2, args.join(' '));
    t.is(stdout, '');
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, words);
  }
  const unknown = await runCli(['verify', '--data-dir', data]);
  t.is(unknown.code, 2);
  t.regex(unknown.stderr, /unknown network `made`/);
  t.is((await runCli(['verify', '--data-dir', join(networkFolder, 'none')])).code, 2);
});

test.serial('a store can be read while a node has it open, and only the node can write to it', async (t) => {
  const { run, file, data, network: networkFolder } = setUpCommands(t);
  await run('import', file);
  const args = ['start', '--data-dir', data, '--network', networkFolder, '--http-port', '0', '--no-peers'];
  const node = spawn(process.execPath, [CLI_ENTRY, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  t.teardown(() => node.kill('SIGKILL'));
  await once(node.stdout, 'data');
  t.regex((await run('verify')).stdout, /^made: 200 blocks /);
  t.is(sha256((await run('export')).stdout), sha256(text));
  for (const command of [
    ['rollback', '--to', '199', '--yes'],
    ['import', file],
  ] as const) {
    const [name, ...rest] = command;
    const { code, stderr } = await run(name, ...rest);
    t.is(code, 1);
    t.regex(stderr, /^bloomery: The chain store in .* is in use by process [0-9]+\./);
  }
  node.kill('SIGTERM');
  t.deepEqual(await once(node, 'exit'), [0, null]);
});

test.serial('an existing file is replaced only with --force', async (t) => {
  const { run, file, data, network: networkFolder } = setUpCommands(t);
  await run('import', file);
  const mine = `${file}.mine`;
  const place = ['--data-dir', data, '--network', networkFolder];
  for (const command of [['export'], ['snapshot', 'create']]) {
    writeFileSync(mine, 'precious');
    const refused = await runCli([...command, mine, ...place]);
    t.is(refused.code, 2);
    t.is(
      refused.stderr,
      `bloomery: ${mine} already exists: name another file, or replace it with --force (FILE_EXISTS)\n`,
    );
    t.is(readFileSync(mine, 'utf8'), 'precious');
    const forced = await runCli([...command, mine, '--force', ...place]);
    t.is(forced.code, 0, forced.stderr);
    t.not(readFileSync(mine, 'utf8'), 'precious');
  }
  t.is((await runCli(['export', '/dev/null', ...place])).code, 0);
});

function sha256(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}

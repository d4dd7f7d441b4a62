import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { startDevnet } from '../../src/testing/index.ts';
import { runCli } from '../support/cli.ts';
import { freePortRanges } from '../support/ports.ts';
import type { Untyped } from '../support/untyped.ts';

const README = readFileSync(join(packageDirectory(), 'README.md'), 'utf8');
const LSK = 100_000_000n;

/** Arguments of the command in the README that sends a first transaction. */
function firstTransaction(): readonly string[] {
  const [, command = ''] = /^node bin\/bloomery\.js (transfer .*)$/m.exec(README) ?? [];
  return command.split(' ');
}

test('the first transaction of the README says in one line that no devnet runs', async (t) => {
  const { http } = await freePortRanges(1);
  const { code, stdout, stderr } = await runCli([...firstTransaction(), '--node', `http://127.0.0.1:${http}`]);
  t.is(code, 1);
  t.is(stdout, '');
  t.regex(stderr, /^bloomery: no node answers at http:.* \(NODE_UNREACHABLE\)\n$/);
});

for (const generation of [2, 3] as const) {
  test(`the first transaction of the README is in a block of generation ${generation} when the command returns`, async (t) => {
    const net = await startDevnet({ generation });
    t.teardown(() => net.close());
    // The devnets of both generations have the same accounts, so the command of the README is valid for both.
    const { code, stdout, stderr } = await runCli([...firstTransaction(), '--node', net.url]);
    t.is(code, 0, stderr);
    const [, id = '', height = ''] = /^transaction (\d+): in block (\d+)\n$/.exec(stdout) ?? [];
    t.is(height, '2', stdout);
    const response = await fetch(`${net.url}/api/transactions?id=${id}`);
    const [found] = ((await response.json()) as Untyped).data;
    t.is(
      found.senderId ?? found.senderPublicKey,
      found.senderId === undefined ? net.account('account_1').publicKey : net.account('account_1').address,
    );
    t.is(generation === 3 ? found.asset.amount : found.amount, String(10n * LSK));
  });
}

test('a sender name is looked up in the network of the node', async (t) => {
  const net = await startDevnet({ delegates: 2 });
  t.teardown(() => net.close());
  const send = (...args: readonly string[]) => runCli(['transfer', '42L', '1', '--node', net.url, ...args]);
  const stranger = await send('--from', 'account_1');
  t.is(stranger.code, 1);
  t.regex(
    stranger.stderr,
    /^bloomery: the accounts of network [0-9a-f]{12} are not known here: name its folder with --network/,
  );
  const both = await send('--from', 'account_1', '--passphrase-file', '/dev/null');
  t.is(both.code, 2);
  t.regex(both.stderr, /name two senders/);
});

test('a sender name without an account in the network is refused with that name', async (t) => {
  const net = await startDevnet();
  t.teardown(() => net.close());
  const { code, stderr } = await runCli(['transfer', '42L', '1', '--node', net.url, '--from', 'nobody']);
  t.is(code, 1);
  t.regex(stderr, /--from `nobody`: devnet has no account of that name: bloomery devnet accounts lists them/);
});

/** Tests the first lines that a devnet prints, and the permissions of the devnet folder. */

import { cpSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { counted } from '../../src/cli/output.ts';
import { devnetDirectory, lockDevnetFolder, writeImpersonated } from '../../src/cli/devnet/folder.ts';
import { forkSourceOf } from '../../src/cli/devnet/fork/source.ts';
import { planDevnet } from '../../src/cli/devnet/plan.ts';
import { bannerLines } from '../../src/cli/devnet/startup-banner.ts';
import { loadNetwork, packagedNetworkDirectory, type Network } from '../../src/config/network.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const network = loadNetwork(packagedNetworkDirectory('devnet'));

function lines(directory: string, of: Network = network, httpPort = 4000): string {
  const nodes = planDevnet({ nodes: 1, httpPort, wsPort: 5000, directory, network: of });
  const facts = { network: of, nodes, directory, mode: 'interval', blockTimeS: 2, fork: undefined } as const;
  return bannerLines(facts).join('\n');
}

test('a devnet in the default folder prints the plain commands', (t) => {
  const text = lines(devnetDirectory({}, 'devnet'));
  t.notRegex(text, /--data-dir|--network|--node/);
  t.regex(text, /bloomery devnet accounts$/m);
  t.regex(text, /bloomery transfer --from account_1 ADDRESS 10$/m);
});

test('a devnet of generation 2 prints commands that name its network', (t) => {
  const text = lines(devnetDirectory({}, 'devnet-gen2'), loadNetwork(packagedNetworkDirectory('devnet-gen2')));
  t.regex(text, /bloomery devnet accounts --network devnet-gen2$/m);
  t.regex(text, /bloomery transfer --from account_1 ADDRESS 10 --network devnet-gen2$/m);
});

test('a devnet in another folder prints the folder, the network and the port that commands need', (t) => {
  const folder = join(temporaryFolder(t), 'some where');
  mkdirSync(join(folder, 'network'), { recursive: true });
  cpSync(join(network.directory, 'accounts.json'), join(folder, 'network', 'accounts.json'));
  const text = lines(folder, { ...network, directory: join(folder, 'network') }, 4100);
  t.true(text.includes(` | stop, each with --data-dir '${folder}' (`));
  const node = '--node http://127.0.0.1:4100';
  t.true(text.includes(`bloomery devnet accounts --network '${folder}/network'\n`));
  t.true(text.includes(`bloomery transfer --from account_1 ADDRESS 10 --network '${folder}/network' ${node}\n`));
});

test('a folder that a devnet creates is readable by its owner only, and an existing one stays unchanged', (t) => {
  const folder = temporaryFolder(t);
  const modeOf = (path: string): number => statSync(path).mode & 0o777;
  lockDevnetFolder(join(folder, 'made')).release();
  t.is(modeOf(join(folder, 'made')), 0o700);
  const own = join(folder, 'own');
  mkdirSync(own, { mode: 0o755 });
  const before = modeOf(own);
  lockDevnetFolder(own).release();
  t.is(modeOf(own), before);
  writeImpersonated(own, []);
  t.is(modeOf(join(own, 'impersonated.json')), 0o600);
});

test('a file that is not a snapshot is refused with that reason', async (t) => {
  const file = join(temporaryFolder(t), 'a.txt');
  for (const content of ['hello', '']) {
    writeFileSync(file, content);
    await t.throwsAsync(forkSourceOf(file, undefined), {
      code: 'USAGE',
      message: `--fork ${file}: is not a file of bloomery snapshot create`,
    });
  }
});

test('the count 1 is printed with a noun in the singular', (t) => {
  t.is(counted(1, 'slot'), '1 slot');
  t.is(counted(0, 'slot'), '0 slots');
  t.is(counted(2, 'delegate'), '2 delegates');
});

/** Checks the files that `bloomery init` writes for plans made by the test. */

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { unitText, writeFiles } from '../../src/cli/init/files.ts';
import type { InitPlan } from '../../src/cli/init/plan.ts';
import { findNetworkDirectory, loadNetwork } from '../../src/config/network.ts';
import { temporaryFolder } from '../support/network-folder.ts';

function planIn(t: ExecutionContext, change: Partial<InitPlan> = {}): InitPlan & { readonly elsewhere: string } {
  const folder = temporaryFolder(t);
  const elsewhere = join(folder, 'elsewhere');
  return {
    network: loadNetwork(findNetworkDirectory('devnet', folder)),
    networkFlag: 'devnet',
    home: join(folder, 'home'),
    dataDirectory: join(folder, 'data'),
    configFile: join(elsewhere, 'config.json5'),
    unitFile: join(elsewhere, 'bloomery.service'),
    httpPort: 4000,
    wsPort: 5000,
    isPublic: false,
    delegate: undefined,
    elsewhere,
    ...change,
  };
}

test('init creates the data folder, even when it writes all files elsewhere', (t) => {
  const plan = planIn(t);
  t.deepEqual(writeFiles(plan), [plan.configFile, plan.unitFile ?? '']);
  t.true(statSync(plan.dataDirectory).isDirectory());
  t.deepEqual(readdirSync(plan.elsewhere).sort(), ['bloomery.service', 'config.json5']);
  t.is(statSync(plan.configFile).mode & 0o777, 0o600);
});

test('a service searches networks in the same places as the user, whatever the folder is called', (t) => {
  const home = '/srv/50% of $mine "now"';
  const text = unitText(planIn(t, { home, dataDirectory: '/srv/$data' }));
  t.true(text.includes(`"BLOOMERY_HOME=/srv/50%% of $mine \\"now\\""\n`), text);
  t.regex(text, /^ReadWritePaths=\/srv\/\$data$/m);
  t.regex(text, /--data-dir \/srv\/\$\$data /);
});

test('a write that fails halfway leaves no file, and a file gets its name only when it is complete', (t) => {
  const plan = planIn(t);
  let writes = 0;
  const write = (descriptor: number, text: string): void => {
    writes += 1;
    t.false(existsSync(plan.configFile));
    t.false(existsSync(plan.unitFile ?? ''));
    if (writes === 1) return writeFileSync(descriptor, text);
    writeFileSync(descriptor, text.slice(0, 10));
    throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  };
  t.throws(() => writeFiles(plan, write), { code: 'INIT_UNWRITABLE', message: /no space left/ });
  t.is(writes, 2);
  t.deepEqual(readdirSync(plan.elsewhere), []);
});

test('a file that appears during the writes is not replaced, and none of the written files stays', (t) => {
  const plan = planIn(t);
  const write = (descriptor: number, text: string): void => {
    writeFileSync(descriptor, text);
    mkdirSync(plan.elsewhere, { recursive: true });
    writeFileSync(plan.unitFile ?? '', 'of somebody else');
  };
  t.throws(() => writeFiles(plan, write), { code: 'FILE_EXISTS' });
  t.deepEqual(readdirSync(plan.elsewhere), ['bloomery.service']);
  t.is(readFileSync(plan.unitFile ?? '', 'utf8'), 'of somebody else');
});

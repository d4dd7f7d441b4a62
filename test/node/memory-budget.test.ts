import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { OPTIONS } from '../../src/config/schema.ts';
import { loadConfig } from '../../src/config/load.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { budgetsOf, checkMemoryLimit, neededBytes } from '../../src/node/memory-budget.ts';

const MB = 1_000_000;
const config = loadConfig({
  network: loadNetwork(packagedNetworkDirectory('devnet')),
  environment: {},
  flags: new Map(),
});

test('the sum of all budgets and the base use stays below each allowed memory limit', (t) => {
  const { limitMb } = OPTIONS.memory;
  const neededMb = neededBytes(config) / MB;
  t.log(`${Math.ceil(neededMb)} MB of ${limitMb.default} MB`);
  t.is(limitMb.read(Math.floor(neededMb)), undefined);
  t.true(neededMb < 0.75 * limitMb.default, 'a quarter of the default is left for what is not collected yet');
});

test('a limit below the need of larger budgets is refused with the smallest valid limit', (t) => {
  t.notThrows(() => checkMemoryLimit(config));
  const wide = { ...config, pool: { ...config.pool, transactionsPerQueueMax: 5000 } };
  t.true(neededBytes(wide) > neededBytes(config) + 200 * MB);
  const low = { ...wide, memory: { limitMb: 1280 } };
  const error = t.throws(() => checkMemoryLimit(low), { code: 'CONFIG_INVALID' });
  const [, least] = /at least (\d+) /.exec(error.message) ?? [];
  t.notThrows(() => checkMemoryLimit({ ...wide, memory: { limitMb: Number(least) } }));
});

test('each budget is positive, has its own name and names an existing source file', (t) => {
  const budgets = budgetsOf(config);
  t.is(new Set(budgets.map(({ name }) => name)).size, budgets.length);
  for (const { name, file, bytesMax } of budgets) {
    t.true(Number.isFinite(bytesMax) && bytesMax > 0, name);
    t.true(existsSync(join(packageDirectory(), 'src', file)), file);
  }
});

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { OPTIONS } from '../../src/config/schema.ts';
import { BASE_BYTES, BUDGETS, budgetedBytes } from '../../src/node/memory-budget.ts';

const MB = 1_000_000;

test('all budgets and what a node needs by itself stay below every ceiling that may be configured', (t) => {
  const { ceilingMb } = OPTIONS.memory;
  const needed = BASE_BYTES + budgetedBytes();
  t.log(`${Math.round(needed / MB)} MB of ${ceilingMb.default} MB`);
  const least = Math.ceil(needed / MB);
  t.is(ceilingMb.read(least - 1), undefined, 'a ceiling below what is needed is refused');
  t.true(needed < 0.75 * ceilingMb.default * MB, 'a quarter of the default is left for garbage');
});

test('every budget is positive, has a name of its own and a file that states its bound', (t) => {
  t.is(new Set(BUDGETS.map(({ name }) => name)).size, BUDGETS.length);
  for (const { name, file, bytesMax } of BUDGETS) {
    t.true(Number.isFinite(bytesMax) && bytesMax > 0, name);
    t.true(existsSync(join(packageDirectory(), 'src', file)), file);
  }
});

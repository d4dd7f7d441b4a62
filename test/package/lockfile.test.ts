import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly link?: boolean;
}

const { packages } = JSON.parse(readFileSync(join(packageDirectory(), 'package-lock.json'), 'utf8')) as {
  packages: Record<string, LockedPackage>;
};

test('an install verifies every package: each entry of the lockfile has a SHA-512', (t) => {
  const installed = Object.entries(packages).filter(([place, { link }]) => place !== '' && link !== true);
  t.true(installed.length > 500);
  const unverified = installed.filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''));
  t.deepEqual(
    unverified.map(([place]) => place),
    [],
  );
});

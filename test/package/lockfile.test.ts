import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';

interface LockedPackage {
  readonly version?: string;
  readonly dev?: boolean;
  readonly integrity?: string;
  readonly link?: boolean;
}

const { packages } = JSON.parse(readFileSync(join(packageDirectory(), 'package-lock.json'), 'utf8')) as {
  packages: Record<string, LockedPackage>;
};

test('an install verifies each package: each lockfile entry has a SHA-512', (t) => {
  const installed = Object.entries(packages).filter(([place, { link }]) => place !== '' && link !== true);
  t.true(installed.length > 500);
  const unverified = installed.filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''));
  t.deepEqual(
    unverified.map(([place]) => place),
    [],
  );
});

interface Bom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string } };
  readonly components: readonly { readonly name: string; readonly hashes?: readonly { readonly alg: string }[] }[];
}

test('npm run sbom names each package that a node runs, with its SHA-512', (t) => {
  const script = fileURLToPath(new URL('sbom.js', import.meta.url));
  const text = execFileSync(process.execPath, [script], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  const { bomFormat, components, metadata } = JSON.parse(text) as Bom;
  t.is(bomFormat, 'CycloneDX');
  const shipped = Object.entries(packages).filter(([place, { dev }]) => place !== '' && dev !== true);
  const names = new Set(components.map(({ name }) => name));
  t.true(shipped.length > 100);
  for (const [place] of shipped) t.true(names.has(place.replace(/^.*node_modules\//, '')), place);
  // npm installs these packages only for the build. But the build includes their code in the dashboard, the API
  // reference and the programs, so the bill of materials must name them.
  for (const name of ['preact', 'uplot', 'swagger-ui-dist', 'supports-color']) t.true(names.has(name), name);
  t.is(metadata.component.name, 'bloomery');
  t.deepEqual(
    components.filter(({ hashes = [] }) => !hashes.some(({ alg }) => alg === 'SHA-512')).map(({ name }) => name),
    [],
  );
});

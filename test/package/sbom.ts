/**
 * `npm run -s sbom`: prints a CycloneDX bill of materials of the packages that a node runs. npm creates the bill from
 * the lockfile, and this script removes the packages that only development needs. `npm sbom --omit dev` would also
 * remove packages that both development and the node need. Packages that the build bundles into programs and pages
 * count as shipped, even if the lockfile marks them as development packages.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageDirectory } from '../../src/config/package.ts';
import type { Untyped } from '../support/untyped.ts';

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

interface LockedPackage {
  readonly name?: string;
  readonly version?: string;
  readonly dev?: boolean;
}

const directory = packageDirectory();
const { packages } = JSON.parse(readFileSync(join(directory, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const bundled = JSON.parse(readFileSync(join(directory, 'dist', 'src', 'bundled.json'), 'utf8')) as readonly string[];
const installed = Object.entries(packages)
  .filter(([place, { dev }]) => place !== '' && dev !== true)
  .map(([place, { name, version }]) => `${name ?? place.replace(/^.*node_modules\//, '')}@${version}`);
const shipped = new Set([...installed, ...bundled]);
const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
const whole = JSON.parse(
  execFileSync('npm', args, { cwd: directory, encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX }),
) as Untyped;
/** Marks a bundled package as shipped, even if the lockfile marks it as a development package. */
const asShipped = ({ properties = [], ...component }: Untyped): Untyped => ({
  ...component,
  scope: 'required',
  properties: properties.filter(({ name }: Untyped) => name !== 'cdx:npm:package:development'),
});
const components = whole.components
  .filter(({ name, version }: Untyped) => shipped.has(`${name}@${version}`))
  .map((component: Untyped) =>
    bundled.includes(`${component.name}@${component.version}`) ? asShipped(component) : component,
  );
// npm names the application after its folder, so the script takes the name from `package.json`.
const { name: ownName } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
  readonly name: string;
};
const metadata = { ...whole.metadata, component: { ...whole.metadata.component, name: ownName } };
const references = new Set([metadata.component, ...components].map((each: Untyped) => each['bom-ref']));
const dependencies = whole.dependencies
  .filter(({ ref }: Untyped) => references.has(ref))
  .map(({ ref, dependsOn }: Untyped) => ({ ref, dependsOn: dependsOn.filter((each: string) => references.has(each)) }));
console.log(JSON.stringify({ ...whole, metadata, components, dependencies }, undefined, 2));

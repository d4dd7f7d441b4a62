/**
 * The script of `npm run -s sbom`. It prints a software bill of materials (SBOM): a list of the packages of which a
 * node and its pages consist. The bill has the format CycloneDX. npm creates a bill from the lockfile, and this script
 * removes the packages that only development needs. `npm sbom --omit dev` would also remove packages that both
 * development and the node need. The bill also contains the packages that the build bundles into programs and pages,
 * even if the lockfile marks them as development packages.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageDirectory } from '../../src/config/package.ts';
import { testProgram } from '../support/program.ts';
import type { Untyped } from '../support/untyped.ts';

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

interface LockedPackage {
  readonly name?: string;
  readonly version?: string;
  readonly dev?: boolean;
}

testProgram('sbom', 'Prints a software bill of materials in the format CycloneDX').parse();
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
/** Marks a bundled package in the bill as required, and removes the property that marks it as a development package. */
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
// In the bill of npm, the application has the name of its folder. The script replaces this name by the name in
// `package.json`.
const { name: ownName } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
  readonly name: string;
};
const metadata = { ...whole.metadata, component: { ...whole.metadata.component, name: ownName } };
const references = new Set([metadata.component, ...components].map((each: Untyped) => each['bom-ref']));
const dependencies = whole.dependencies
  .filter(({ ref }: Untyped) => references.has(ref))
  .map(({ ref, dependsOn }: Untyped) => ({ ref, dependsOn: dependsOn.filter((each: string) => references.has(each)) }));
console.log(JSON.stringify({ ...whole, metadata, components, dependencies }, undefined, 2));

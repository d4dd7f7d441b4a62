/**
 * Checks the import layers: `node test/layers.js` reads the import graph of `src`, including type imports. The check
 * fails on an import from a higher layer, an import between two adapters, and a circular import. docs/architecture.md
 * shows the same layers.
 */

import { cruise } from 'dependency-cruiser';
import { fileURLToPath } from 'node:url';

/** Modules of each layer, lowest first. A module imports its own files and the files of lower layers. */
const LAYERS = [
  ['primitives'],
  ['crypto'],
  ['protocol'],
  ['ports'],
  ['engine'],
  ['store', 'p2p', 'http', 'workers', 'telemetry', 'config', 'sinks'],
  ['node'],
  ['cli'],
  ['testing'],
];

/**
 * Adapters implement ports. The engine uses adapters through ports only. Adapters import neither the engine nor each
 * other.
 */
const ADAPTERS = LAYERS[5];

/** Modules of the store, lowest first. A module of the store imports no file of a higher module in this list. */
const STORE_LAYERS = ['tables', 'disk', 'index', 'chain', 'query'];

/** Minimum number of modules. A lower number means that the graph was not read, and an empty graph has no wrong import. */
const MODULES_MIN = 100;

const folder = (modules) => `^src/(${modules.join('|')})/`;

const folderOfStore = (modules) => `^src/store/(${modules.join('|')})/`;

const forbidden = [
  ...LAYERS.slice(0, -1).map((modules, layer) => ({
    name: `${modules.join('|')} imports from above`,
    severity: 'error',
    from: { path: folder(modules) },
    to: { path: folder(LAYERS.slice(layer + 1).flat()) },
  })),
  ...ADAPTERS.map((module) => ({
    name: `${module} imports another adapter or the engine`,
    severity: 'error',
    from: { path: folder([module]) },
    to: { path: folder([...ADAPTERS.filter((other) => other !== module), 'engine']) },
  })),
  ...STORE_LAYERS.slice(0, -1).map((module, layer) => ({
    name: `store/${module} imports from above`,
    severity: 'error',
    from: { path: folderOfStore([module]) },
    to: { path: folderOfStore(STORE_LAYERS.slice(layer + 1)) },
  })),
  {
    name: 'file outside the modules of the store',
    severity: 'error',
    from: { path: '^src/store/', pathNot: folderOfStore(STORE_LAYERS) },
    to: {},
  },
  {
    name: 'the dashboard imports only its own files',
    severity: 'error',
    from: { path: folder(['dashboard']) },
    to: { path: '^src/', pathNot: folder(['dashboard']) },
  },
  {
    name: 'a module imports the dashboard, which is for browsers only',
    severity: 'error',
    from: { path: '^src/', pathNot: folder(['dashboard']) },
    to: { path: folder(['dashboard']) },
  },
  {
    name: 'the client imports only its own files',
    severity: 'error',
    from: { path: folder(['client']) },
    to: { path: '.', pathNot: folder(['client']) },
  },
  {
    name: 'a module imports the client, which is for programs that use the package',
    severity: 'error',
    from: { path: '^src/', pathNot: folder(['client']) },
    to: { path: folder(['client']) },
  },
  {
    name: 'circular import',
    severity: 'error',
    from: {},
    to: { circular: true },
  },
  {
    name: 'file outside the modules',
    severity: 'error',
    from: { path: '^src/', pathNot: folder([...LAYERS.flat(), 'dashboard', 'client']) },
    to: {},
  },
  {
    name: 'not found',
    severity: 'error',
    from: {},
    to: { couldNotResolve: true },
  },
  {
    name: 'development package in the product',
    severity: 'error',
    from: { path: '^src/', pathNot: folder(['dashboard']) },
    to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
  },
];

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const { output } = await cruise(['src'], {
  validate: true,
  ruleSet: { forbidden },
  tsPreCompilationDeps: true,
  tsConfig: { fileName: 'tsconfig.json' },
  doNotFollow: { path: 'node_modules' },
  exclude: { path: '^(dist|test)/' },
});

const modules = output.modules.filter((module) => module.source.startsWith('src/'));
const broken = output.summary.violations.map(({ rule, from, to, cycle }) =>
  rule.name === 'circular import'
    ? `circular import: ${[from, ...cycle.map((step) => step.name)].join(' -> ')}`
    : `${rule.name}: ${from} -> ${to}`,
);
if (modules.length < MODULES_MIN) {
  broken.push(
    `only ${modules.length} modules were read, at least ${MODULES_MIN} were expected: is the compiler supported?`,
  );
}
for (const line of [...new Set(broken)]) console.error(line);
process.exitCode = broken.length === 0 ? 0 : 1;

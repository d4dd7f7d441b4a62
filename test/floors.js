/**
 * The import floors of the house: `node test/floors.js`. Reads the import graph of `src` (type imports count too) and fails
 * on an import that goes up, across two edges or in a circle. docs/architecture.md draws the same floors for people.
 */

import { cruise } from 'dependency-cruiser';
import { fileURLToPath } from 'node:url';

/** Modules of each floor, lowest first; a module imports its own files and those of lower floors. */
const FLOORS = [
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

/** Edges implement ports; the engine meets them as ports alone, and they know neither it nor each other. */
const EDGES = FLOORS[5];

/** Modules within the store, lowest first, held to the same rule. */
const STORE_FLOORS = ['tables', 'disk', 'index', 'chain', 'query'];

/** Fewer modules than this mean that the graph was not read: an empty graph has no wrong import. */
const MODULES_MIN = 100;

const folder = (modules) => `^src/(${modules.join('|')})/`;

const folderOfStore = (modules) => `^src/store/(${modules.join('|')})/`;

const forbidden = [
  ...FLOORS.slice(0, -1).map((modules, floor) => ({
    name: `${modules.join('|')} imports from above`,
    severity: 'error',
    from: { path: folder(modules) },
    to: { path: folder(FLOORS.slice(floor + 1).flat()) },
  })),
  ...EDGES.map((module) => ({
    name: `${module} imports another edge or the engine`,
    severity: 'error',
    from: { path: folder([module]) },
    to: { path: folder([...EDGES.filter((other) => other !== module), 'engine']) },
  })),
  ...STORE_FLOORS.slice(0, -1).map((module, floor) => ({
    name: `store/${module} imports from above`,
    severity: 'error',
    from: { path: folderOfStore([module]) },
    to: { path: folderOfStore(STORE_FLOORS.slice(floor + 1)) },
  })),
  {
    name: 'file outside the modules of the store',
    severity: 'error',
    from: { path: '^src/store/', pathNot: folderOfStore(STORE_FLOORS) },
    to: {},
  },
  {
    name: 'the dashboard knows only the HTTP interface',
    severity: 'error',
    from: { path: folder(['dashboard']) },
    to: { path: '^src/', pathNot: folder(['dashboard']) },
  },
  {
    name: 'the dashboard is for browsers alone',
    severity: 'error',
    from: { path: '^src/', pathNot: folder(['dashboard']) },
    to: { path: folder(['dashboard']) },
  },
  {
    name: 'the client knows only the HTTP interface',
    severity: 'error',
    from: { path: folder(['client']) },
    to: { path: '.', pathNot: folder(['client']) },
  },
  {
    name: 'circle',
    severity: 'error',
    from: {},
    to: { circular: true },
  },
  {
    name: 'file outside the modules',
    severity: 'error',
    from: { path: '^src/', pathNot: folder([...FLOORS.flat(), 'dashboard', 'client']) },
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
  rule.name === 'circle'
    ? `circle: ${[from, ...cycle.map((step) => step.name)].join(' -> ')}`
    : `${rule.name}: ${from} -> ${to}`,
);
if (modules.length < MODULES_MIN) {
  broken.push(
    `only ${modules.length} modules were read, at least ${MODULES_MIN} were expected: is the compiler supported?`,
  );
}
for (const line of [...new Set(broken)]) console.error(line);
process.exitCode = broken.length === 0 ? 0 : 1;

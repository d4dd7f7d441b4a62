/** Rules of the linter that need no types: `eslint --config test/eslint.config.js src test bin`. */

import { builtinModules } from 'node:module';
import tseslint from 'typescript-eslint';

/**
 * Modules that must not use the clock, the timers or the random numbers of the system. They get times and random
 * numbers from their callers (docs/architecture.md).
 */
const MODULES_WITHOUT_CLOCK = ['primitives', 'crypto', 'protocol', 'ports', 'engine', 'store'].map(
  (module) => `src/${module}/**/*.ts`,
);
/** Modules without files, sockets and Node.js, because they must run anywhere. */
const MODULES_WITHOUT_NODE = ['primitives', 'protocol', 'ports', 'engine'].map((module) => `src/${module}/**/*.ts`);

/** Modules of Node.js, with and without the prefix `node:`. */
const NODE_MODULES = `^(node:|(${builtinModules.join('|')})(/|$))`;

const TIME = 'Time is handed in: take a Clock (ports/clock.ts) or a number.';
const CHANCE = 'Chance is handed in: take a Random (ports/clock.ts) or a seed.';
const PROCESS = 'Process, environment and terminal belong to node/ and cli/; report through an Observer.';

const CLOCK_GLOBALS = [
  ...['performance', 'setTimeout', 'setInterval', 'setImmediate'].map((name) => ({ name, message: TIME })),
  { name: 'crypto', message: CHANCE },
];

const PURE_GLOBALS = [...CLOCK_GLOBALS, ...['process', 'console', 'fetch'].map((name) => ({ name, message: PROCESS }))];

/**
 * Expressions that read the clock, which these rules forbid in addition to `Date.now` (see `no-restricted-properties`).
 * Uses of `Date` that do not read the clock are allowed, for example the conversion of a given time to text.
 */
const CLOCK_READS = [
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: TIME },
  { selector: "CallExpression[callee.name='Date']", message: TIME },
];

const SYNCHRONOUS = 'A rule is one synchronous function: gather first, then decide.';

export default tseslint.config(
  { ignores: ['dist/**', 'dist-*/**', '.build/**', 'node_modules/**', 'test/vectors/**'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    name: 'all JavaScript and TypeScript',
    extends: [tseslint.configs.recommended],
    rules: {
      eqeqeq: 'error',
      'no-console': 'off',
      'no-constant-binary-expression': 'error',
      'no-self-compare': 'error',
      'no-template-curly-in-string': 'error',
      'no-unmodified-loop-condition': 'error',
      'no-useless-return': 'error',
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
      'preserve-caught-error': 'error',
    },
  },
  {
    name: 'what the compiler reports better',
    files: ['src/**/*.ts', 'src/**/*.tsx', 'test/**/*.ts'],
    rules: {
      // The compiler reports it (noUnusedLocals, noUnusedParameters).
      '@typescript-eslint/no-unused-vars': 'off',
    },
  },
  {
    name: 'what runs inside nodes of the reference, on their runtimes',
    files: ['test/interop/real/*.cjs'],
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
  {
    name: 'commands write in one place',
    files: ['src/cli/**/*.ts'],
    ignores: ['src/cli/output.ts'],
    rules: {
      'no-console': 'error',
      'no-restricted-syntax': [
        'error',
        {
          selector: "CallExpression[callee.property.name='write'][callee.object.property.name=/^std(out|err)$/]",
          message: 'Use output.ts: it reports failed writes, and removes terminal control characters.',
        },
      ],
    },
  },
  {
    name: 'time and chance are handed in',
    files: MODULES_WITHOUT_CLOCK,
    rules: {
      'no-restricted-globals': ['error', { globals: CLOCK_GLOBALS, checkGlobalObject: true }],
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: CHANCE },
        { object: 'Date', property: 'now', message: TIME },
      ],
      'no-restricted-syntax': ['error', ...CLOCK_READS],
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { group: ['node:timers', 'node:timers/*', 'node:perf_hooks', 'timers', 'timers/*'], message: TIME },
          ],
        },
      ],
    },
  },
  {
    name: 'no Node modules below the adapters',
    files: MODULES_WITHOUT_NODE,
    rules: {
      'no-restricted-globals': ['error', { globals: PURE_GLOBALS, checkGlobalObject: true }],
      'no-restricted-imports': [
        'error',
        { patterns: [{ regex: NODE_MODULES, message: 'This module must run anywhere; what it needs is handed in.' }] },
      ],
    },
  },
  {
    name: 'the rules of the protocol are synchronous',
    files: ['src/primitives/**/*.ts', 'src/crypto/hash.ts', 'src/protocol/**/*.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        {
          globals: [
            ...PURE_GLOBALS,
            { name: 'Promise', message: SYNCHRONOUS },
            { name: 'queueMicrotask', message: SYNCHRONOUS },
          ],
          checkGlobalObject: true,
        },
      ],
      'no-restricted-syntax': ['error', ...CLOCK_READS, { selector: ':function[async=true]', message: SYNCHRONOUS }],
    },
  },
);

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import type { Route } from '../../src/http/route.ts';
import { allRoutes } from '../../src/http/routes/all.ts';
import { PATHS, SHOWN, type Shown, type PathDescription } from './coverage.ts';

const GENERATIONS = [2, 3] as const;
const ROUTES = {
  2: allRoutes({ generation: 2, strict: false }),
  3: allRoutes({ generation: 3, strict: false }),
};

function routeOf(described: PathDescription, generation: 2 | 3): Route | undefined {
  return ROUTES[generation].find(({ method, path }) => method === described.method && path === described.path);
}

test('each path and parameter that clients of either generation know is declared', (t) => {
  for (const described of PATHS) {
    for (const generation of GENERATIONS) {
      const route = routeOf(described, generation);
      const name = `${described.method} ${described.path} in generation ${generation}`;
      t.truthy(route, name);
      const declared = route?.parameters.map((parameter) => parameter.name) ?? [];
      for (const wanted of described.parameters) t.true(declared.includes(wanted), `${wanted} of ${name}`);
      for (const status of described.errors) {
        const ofEach = [400, 403, 405, 429, 500, ...(route?.body === undefined ? [] : [413, 415])];
        t.true(ofEach.includes(status) || status in (route?.errors ?? {}), `${status} of ${name}`);
      }
    }
  }
});

test('docs/http/coverage.md names an existing test for each path, parameter and error of either generation', (t) => {
  const sources = new Map<string, string>();
  const checked = ({ file, title }: Shown): string => {
    const source = sources.get(file) ?? readFileSync(join(packageDirectory(), 'test', 'http', file), 'utf8');
    sources.set(file, source);
    t.true(source.includes(title), `${file} has no test "${title}"`);
    return `\`test/http/${file}\`: ${title}`;
  };
  const lines = [
    '# Tests of each path, parameter and error',
    '',
    'This page names a test for each path, parameter and error that clients of lisk-sdk nodes or of older Lisk nodes know.',
    '`test/http/coverage.test.ts` generates the page. The test fails if the routes do not declare a path, parameter or',
    'error of this page, or if a named test does not exist. The [pages of the resources](README.md) list all paths,',
    'parameters and errors of the interface.',
    '',
    '| Path | Parameters and statuses | Test |',
    '| --- | --- | --- |',
  ];
  for (const described of PATHS) {
    const name = `${described.method} /api${described.path}`;
    const partsOf = new Map<string, string[]>();
    const add = (part: string, shown: Shown): void => {
      const named = checked(shown);
      partsOf.set(named, [...(partsOf.get(named) ?? []), part]);
    };
    add('status 200', SHOWN.answer(described));
    for (const parameter of described.parameters) add(`\`${parameter}\``, SHOWN.parameter(described, parameter));
    for (const status of described.errors) add(`status ${status}`, SHOWN.error(described, status));
    for (const [named, parts] of partsOf) lines.push(`| ${name} | ${parts.join(', ')} | ${named} |`);
  }
  const page = `${lines.join('\n')}\n`;
  const file = join(packageDirectory(), 'docs', 'http', 'coverage.md');
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, page);
  t.is(readFileSync(file, 'utf8'), page, 'run the test with UPDATE_DOCS=1');
});

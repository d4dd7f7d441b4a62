/**
 * Tests which HTTP requests a node with `strictDialect` accepts. The node must accept exactly the parameters that the
 * reference's API description names. For the parameter `sort`, the node must accept exactly the values that this
 * description names.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { allRoutes } from '../../src/http/routes/all.ts';
import type { Route } from '../../src/http/route.ts';

type Names = Readonly<Record<'2' | '3', Readonly<Record<string, readonly string[]>>>>;

/**
 * Names of the parameters, and values of `sort`, by generation and by method and path of the request.
 * `test/vectors/http/README.md` describes the file.
 */
const NAMES = JSON.parse(
  readFileSync(join(packageDirectory(), 'test', 'vectors', 'http', 'parameters.json'), 'utf8'),
) as Names;

function namesOf({ parameters }: Route): readonly string[] {
  return parameters
    .flatMap(({ name, schema }) => (name === 'sort' ? (schema.enum ?? []).map((value) => `sort=${value}`) : [name]))
    .sort();
}

for (const generation of [2, 3] as const) {
  for (const [of, expected] of Object.entries(NAMES[generation])) {
    test(`generation ${generation}: ${of} knows the parameters of the reference in a strict dialect`, (t) => {
      const route = allRoutes({ generation, strict: true }).find(({ method, path }) => `${method} ${path}` === of);
      t.deepEqual(route && namesOf(route), expected);
    });
  }
}

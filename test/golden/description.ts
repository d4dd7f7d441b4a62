/**
 * Reads the API description of the reference from the package `lisk-sdk`. This repository does not contain the
 * description, but only the names of the described members and parameters (`test/vectors/http/`).
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import Ajv from 'ajv';
import type { ValidateFunction } from 'ajv';
import type { Untyped } from '../support/untyped.ts';

/** An answer to check against the description. */
export interface RecordedResponse {
  readonly method: string;
  /** Path below `/api`, without the query. */
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
}

export interface Description {
  /**
   * @returns faults of an answer; undefined if the answer matches the description, or if the description has no schema
   *   for the answer
   */
  faultsOf(answer: RecordedResponse): string | undefined;
  /** Whether the description has a schema for the answer. */
  describes(answer: Omit<RecordedResponse, 'body'>): boolean;
  /** For each method and URL path: the members of the answer with status 200, for example `data[].id`. */
  members(): Readonly<Record<string, readonly string[]>>;
  /**
   * For each method and URL path: the names of the path and query parameters. Each value of `sort` has its own entry,
   * for example `sort=fee:asc`.
   */
  parameters(): Readonly<Record<string, readonly string[]>>;
}

/** @param sdk folder of the package `lisk-sdk` */
export function loadDescription(sdk: string): Description {
  const ofSdk = createRequire(join(sdk, 'package.json'));
  const framework = dirname(ofSdk.resolve('lisk-framework/package.json'));
  const own = createRequire(join(framework, 'package.json'));
  const { safeLoad } = own('js-yaml') as { safeLoad(text: string): Untyped };
  const source = safeLoad(readFileSync(join(framework, 'src/modules/http_api/schema/swagger.yml'), 'utf8'));
  const formats = own(join(framework, 'src/controller/validator/formats.js')) as Readonly<Record<string, Untyped>>;

  const ajv = new Ajv({ allErrors: true, unknownFormats: 'ignore', logger: false });
  for (const [name, check] of Object.entries(formats)) {
    if (typeof check === 'function') ajv.addFormat(name, (text: string) => check(text) as boolean);
  }
  const compiled = new Map<unknown, ValidateFunction>();
  const resolve = (node: Untyped, within: readonly string[] = []): Untyped => {
    if (Array.isArray(node)) return node.map((each: Untyped) => resolve(each, within));
    if (typeof node !== 'object' || node === null) return node;
    if (typeof node.$ref === 'string') {
      if (within.includes(node.$ref as string)) return {};
      const target = (node.$ref as string)
        .slice(2)
        .split('/')
        .reduce((at: Untyped, name) => at[name], source);
      return resolve(target, [...within, node.$ref as string]);
    }
    const { example: _example, ...rest } = node;
    return Object.fromEntries(Object.entries(rest).map(([name, each]) => [name, resolve(each, within)]));
  };
  const paths = Object.entries(source.paths as Record<string, Untyped>).map(([path, operations]) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`, 'i'),
    operations,
  }));
  const schemas = new Map<string, Untyped>();
  const schemaOf = ({ method, path, status }: Omit<RecordedResponse, 'body'>): Untyped => {
    // A path without parameters has precedence over a path with parameters.
    const found = paths
      .filter(({ pattern }) => pattern.test(path))
      .sort((a, b) => byBraces(a.path) - byBraces(b.path))[0];
    const raw = found?.operations[method.toLowerCase()]?.responses?.[status]?.schema;
    if (found === undefined || raw === undefined) return undefined;
    const key = `${method} ${found.path} ${status}`;
    if (!schemas.has(key)) schemas.set(key, closed(resolve(raw)));
    return schemas.get(key);
  };
  return {
    describes: (answer) => schemaOf(answer) !== undefined,
    faultsOf(answer) {
      const schema = schemaOf(answer);
      if (schema === undefined) return undefined;
      let validate = compiled.get(schema);
      if (validate === undefined) compiled.set(schema, (validate = ajv.compile(schema as object)));
      return validate(answer.body) === true ? undefined : ajv.errorsText(validate.errors);
    },
    members() {
      const entries = paths.flatMap(({ path, operations }) =>
        ['get', 'post', 'put'].flatMap((method) => {
          const raw = operations[method]?.responses?.[200]?.schema;
          return raw === undefined ? [] : [[`${method.toUpperCase()} ${path}`, membersOf(resolve(raw))] as const];
        }),
      );
      return Object.fromEntries(entries);
    },
    parameters() {
      const entries = paths.flatMap(({ path, operations }) =>
        ['get', 'post', 'put'].flatMap((method) => {
          if (operations[method] === undefined) return [];
          const parameters = resolve(operations[method].parameters ?? []) as readonly DescribedParameter[];
          return [[`${method.toUpperCase()} ${path}`, parameters.flatMap(namesOf).sort()] as const];
        }),
      );
      return Object.fromEntries(entries);
    },
  };
}

interface DescribedParameter {
  readonly in: string;
  readonly name: string;
  readonly enum?: readonly string[];
}

function namesOf(parameter: DescribedParameter): readonly string[] {
  if (parameter.in === 'body') return [];
  return parameter.name === 'sort' ? (parameter.enum ?? []).map((value) => `sort=${value}`) : [parameter.name];
}

function byBraces(path: string): number {
  return path.includes('{') ? 1 : 0;
}

/** Returns a copy of the schema. In the copy, an object may have no members other than those that the schema lists. */
function closed(node: Untyped): Untyped {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const members = Object.fromEntries(Object.entries(node as object).map(([name, each]) => [name, closed(each)]));
  const isObject = typeof node.properties === 'object' && node.type === 'object';
  return isObject ? { ...members, additionalProperties: false } : members;
}

function membersOf(schema: Untyped, at = ''): string[] {
  if (schema?.items !== undefined) return membersOf(schema.items, `${at}[]`);
  return Object.entries((schema?.properties ?? {}) as Record<string, Untyped>).flatMap(([name, each]) => {
    const path = at === '' ? name : `${at}.${name}`;
    return [path, ...membersOf(each, path)];
  });
}

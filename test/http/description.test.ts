import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import SwaggerParser from '@apidevtools/swagger-parser';
import test, { type ExecutionContext } from 'ava';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { packageDirectory } from '../../src/config/package.ts';
import { schemaErrorsOf, type Schema } from '../../src/http/schema.ts';
import { fakeNode, serve } from './fake-node.ts';
import { refusalsOfTypes } from './type-check.ts';
import type { Untyped } from '../support/untyped.ts';

interface Media {
  readonly schema: Schema & { readonly $ref?: string };
  readonly example?: unknown;
}

interface Document {
  readonly security: readonly unknown[];
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly description?: string;
            readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
            readonly responses: Readonly<Record<string, { readonly content: Readonly<Record<string, Media>> }>>;
          }
        >
      >
    >
  >;
}

/**
 * Routes whose answers have no example in the OpenAPI document. The answer of `/events` never ends, and the other two
 * answers would be long examples.
 */
const WITHOUT_EXAMPLE = ['/events', '/spec', '/docs'];

test('redocly finds no fault in the served documents of both generations, in either dialect', async (t) => {
  const folder = emptyFolder(t);
  const files: string[] = [];
  for (const generation of [2, 3] as const) {
    for (const strictDialect of [false, true]) {
      const ask = await serve(t, fakeNode(generation), { strictDialect });
      files.push(join(folder, `generation-${generation}-${strictDialect ? 'strict' : 'extended'}.json`));
      writeFileSync(files.at(-1) ?? '', (await ask('/api/spec')).text);
    }
  }
  t.deepEqual(redoclyProblems(files, folder), []);
});

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: swagger-parser accepts the served document, and its generated types compile`, async (t) => {
    const ask = await serve(t, fakeNode(generation));
    const { text, body } = await ask('/api/spec');
    await t.notThrowsAsync(SwaggerParser.validate(JSON.parse(text) as Untyped));
    const types = astToString(await openapiTypescript(text));
    t.regex(types, /export interface paths/);
    t.deepEqual(refusalsOfTypes(types), []);
    t.deepEqual((body as Document).security, []);
  });

  test(`generation ${generation}: each operation has an example answer that fits its schema`, async (t) => {
    const ask = await serve(t, fakeNode(generation));
    const resolved = (await SwaggerParser.dereference((await ask('/api/spec')).body as Untyped)) as Untyped as Document;
    for (const [path, operations] of Object.entries(resolved.paths)) {
      for (const [method, { requestBody, responses }] of Object.entries(operations)) {
        const title = `${method} ${path}`;
        const answers = Object.values(responses['200']?.content ?? {});
        t.true(answers.length > 0, title);
        if (WITHOUT_EXAMPLE.includes(path)) continue;
        for (const { schema, example } of answers) {
          t.not(example, undefined, title);
          t.deepEqual(schemaErrorsOf(schema, example), [], title);
        }
        for (const media of Object.values(requestBody?.content ?? {})) t.not(media.example, undefined, title);
      }
    }
  });
}

test('operations for few clients name their whitelist, and the others do not', async (t) => {
  const ask = await serve(t, fakeNode(3));
  const { paths } = (await ask('/api/spec')).body as Document;
  const descriptionOf = (method: string, path: string) => paths[path]?.[method]?.description;
  t.regex(descriptionOf('put', '/node/status/forging') ?? '', /http\.forgingWhitelist/);
  t.regex(descriptionOf('put', '/signatures') ?? '', /http\.legacySignaturesWhitelist/);
  t.is(descriptionOf('get', '/blocks'), undefined);
});

test('each tool reports an unclean document, so none of the checks is idle', async (t) => {
  const ask = await serve(t, fakeNode(3));
  const { text } = await ask('/api/spec');
  const broken = text.replace('"#/components/schemas/Account"', '"#/components/schemas/Nothing"');
  t.not(broken, text);
  await t.throwsAsync(SwaggerParser.validate(JSON.parse(broken) as Untyped));
  await t.throwsAsync(openapiTypescript(broken, { silent: true }));
  const folder = emptyFolder(t);
  const file = join(folder, 'spec.json');
  writeFileSync(file, broken);
  t.true(redoclyProblems([file], folder).length > 0);
  t.true(refusalsOfTypes('export interface paths { "/x": Missing }').length > 0);
});

function emptyFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-spec-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Runs `redocly lint` with its recommended rules, and returns its errors and warnings. */
function redoclyProblems(files: readonly string[], cwd: string): readonly string[] {
  const { resolve } = createRequire(join(packageDirectory(), 'package.json'));
  const program = join(dirname(resolve('@redocly/cli/package.json')), 'bin', 'cli.js');
  const { stdout, stderr } = spawnSync(process.execPath, [program, 'lint', ...files, '--format', 'github-actions'], {
    cwd,
    encoding: 'utf8',
    // Disable the telemetry and the update check of Redocly.
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  const lines = `${stdout}\n${stderr}`.split('\n');
  // For each file that Redocly has checked, it prints a line with `validated in`, even if the file has faults. Without
  // this check, a program that read no file would look like success.
  if (lines.filter((line) => / validated in /.test(line)).length !== files.length) throw new Error(lines.join('\n'));
  return lines.filter((line) => line.startsWith('::'));
}

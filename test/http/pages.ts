/**
 * Generates the reference pages of the HTTP API, one for each resource. The content of a page comes from the
 * declarations of the routes, and from requests to a fake node and its answers.
 */

import type { OpenApiDocument, Operation } from '../../src/http/openapi.ts';
import type { Schema } from '../../src/http/schema.ts';

export interface Example {
  readonly method: string;
  /** Path without the prefix `/api`. */
  readonly path: string;
  readonly target: string;
  /** Request body that the page shows for both generations; undefined for a request without a body. */
  readonly body: unknown;
  readonly sent: Readonly<Record<'2' | '3', unknown>>;
  readonly answers: Readonly<Record<'2' | '3', { readonly status: number; readonly text: string }>>;
}

export function resourceOf(path: string): string {
  const [, first = ''] = path.split('/');
  if (first === '') return 'index';
  return first === 'healthz' || first === 'readyz' || first === 'metrics' ? 'health' : first;
}

export function pageOf(resource: string, document: OpenApiDocument, examples: readonly Example[]): string {
  const sections = Object.entries(document.paths)
    .filter(([path]) => resourceOf(path) === resource)
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => {
        const example = examples.find((found) => found.path === path && found.method === method.toUpperCase());
        return sectionOf(path, method.toUpperCase(), operation, example);
      }),
    );
  const body = sections.join('\n');
  const comparison =
    commandsOf(body).length === 0
      ? ''
      : 'The tests send each request of this page to a node and compare the answer with this page. ';
  return `# ${resource}\n\nThis page is generated from the declarations of the routes. ${comparison}Generation 2 is the protocol of lisk-sdk 2.3, and generation 3 is the protocol of lisk-sdk 3.0. The tables describe a node on a network of generation 3. Each node describes its own interface at the path \`/api/spec\`.\n\n${body}`;
}

/** A request that a page shows to its readers. */
export interface Command {
  /** The path and the query of the request, for example `/api/blocks?limit=1`. */
  readonly target: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

const COMMAND =
  /^curl(?: -N)?(?: -X ([A-Z]+))?(?: -H '([^:']+): ([^']+)')?(?: -d '([^']+)')? 'http:\/\/127\.0\.0\.1:4000([^']*)'$/;

/**
 * Parses each line in the shell snippets of a page as a `curl` command, and returns these commands.
 *
 * @throws Error if a line is not a `curl` command of the expected form
 */
export function commandsOf(page: string): readonly Command[] {
  return [...page.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, snippet = '']) =>
    snippet
      .trimEnd()
      .split('\n')
      .map((line) => {
        const parts = COMMAND.exec(line);
        if (parts === null) throw new Error(`not a request of the interface: ${line}`);
        const [, method = 'GET', name, value = '', body, target = ''] = parts;
        return { target, method, headers: name === undefined ? {} : { [name]: value }, body: body ?? null };
      }),
  );
}

function sectionOf(path: string, method: string, operation: Operation, example: Example | undefined): string {
  const lines = [`## ${method} /api${path === '/' ? '' : path}`, '', operation.summary, ''];
  const parameters = operation.parameters ?? [];
  if (parameters.length > 0) {
    lines.push('| Parameter | In | Values | Default | Meaning |', '| --- | --- | --- | --- | --- |');
    for (const { name, in: place, schema, description } of parameters)
      lines.push(
        `| \`${name}\` | ${place} | ${valuesOf(schema)} | ${String(schema.default ?? '')} | ${(description ?? '').replaceAll('|', '\\|')} |`,
      );
    lines.push('');
  }
  const statuses = Object.entries(operation.responses).map(
    ([status, { description }]) => `| ${status} | ${description} |`,
  );
  lines.push('| Status | When |', '| --- | --- |', ...statuses, '');
  if (example !== undefined) lines.push(...exchangeOf(example));
  return lines.join('\n');
}

function exchangeOf({ method, target, body, answers }: Example): readonly string[] {
  const sent =
    body === undefined ? '' : ` -X ${method} -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
  const lines = ['```sh', `curl${sent} 'http://127.0.0.1:4000${target}'`, '```', ''];
  for (const generation of ['2', '3'] as const) {
    const { status, text } = answers[generation];
    const isJson = /^[[{]/.test(text);
    const shown = isJson ? ['```json', prettyOf(text)] : ['```', text.trimEnd()];
    lines.push(`Generation ${generation}, status ${status}:`, '', ...shown, '```', '');
  }
  return lines;
}

function prettyOf(text: string): string {
  return JSON.stringify(JSON.parse(text), undefined, 2);
}

function valuesOf(schema: Schema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map(valuesOf).join(', or ');
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(', ');
  const { minimum, maximum, minLength, maxLength } = schema;
  const range = [
    String(schema.format ?? schema.type ?? ''),
    minimum === undefined ? '' : `from ${minimum}`,
    maximum === undefined ? '' : `to ${maximum}`,
  ];
  const lengths = lengthsOf(minLength, maxLength);
  return [range.filter((part) => part !== '').join(' '), lengths].filter((part) => part !== '').join(', ');
}

function lengthsOf(least: number | undefined, most: number | undefined): string {
  if (most === undefined)
    return least === undefined ? '' : `at least ${least} ${least === 1 ? 'character' : 'characters'}`;
  return least === undefined ? `at most ${most} characters` : `${least} to ${most} characters`;
}

/**
 * Renders the OpenAPI document of the interface as one HTML page. The page has no scripts or fonts, and loads nothing
 * from other sites.
 */

import { createHash } from 'node:crypto';
import type { OpenApiDocument, Operation, ParameterObject } from './openapi.ts';
import type { Schema } from './schema.ts';

export function docsPage(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const contents = operations
    .map(({ path, method, operation }) => `<li><a href="#${operation.operationId}">${method} ${text(path)}</a></li>`)
    .join('\n');
  const sections = operations.map(({ path, method, operation }) => section(path, method, operation)).join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(document.info.title)} HTTP interface</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${text(document.info.title)} ${text(document.info.version)}</h1>
<p>${text(document.info.description)}</p>
<p>The node serves every path below <code>/api</code>, and also without this prefix. The machine-readable form is
<a href="spec">spec</a>.</p>
<ul>
${contents}
</ul>
${sections}
</body>
</html>
`;
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}' +
  'table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.2rem .5rem;text-align:left;vertical-align:top}' +
  'code,pre{font-size:.9em}pre{background:#f4f4f4;padding:.5rem;overflow:auto}h2{margin-top:2.5rem}' +
  '@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#242424}a{color:#8bf}}';

/** Content security policy of the page. It allows only the inline style of the page itself. */
export const DOCS_PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

function section(path: string, method: string, operation: Operation): string {
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema;
  const answers = Object.entries(operation.responses).map(
    ([status, { description, content }]) =>
      `<details><summary>${status}: ${text(description)}</summary>${schemaBlock(Object.values(content)[0]?.schema)}</details>`,
  );
  return [
    `<h2 id="${operation.operationId}">${method} ${text(path)}</h2>`,
    `<p>${text(operation.summary)}</p>`,
    operation.description === undefined ? '' : `<p>${text(operation.description)}</p>`,
    parameterTable(operation.parameters ?? []),
    body === undefined ? '' : `<h3>Body</h3>${schemaBlock(body)}`,
    '<h3>Answers</h3>',
    ...answers,
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function parameterTable(parameters: readonly ParameterObject[]): string {
  if (parameters.length === 0) return '';
  const rows = parameters.map(
    ({ name, in: place, description, schema }) =>
      `<tr><td><code>${text(name)}</code></td><td>${place}</td><td>${text(typeText(schema))}</td>` +
      `<td>${text(String(schema.default ?? ''))}</td><td>${text(description ?? '')}</td></tr>`,
  );
  const head = '<tr><th>Parameter</th><th>In</th><th>Values</th><th>Default</th><th>Meaning</th></tr>';
  return `<table>${head}${rows.join('')}</table>`;
}

function typeText(schema: Schema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeText).join(', or ');
  if (schema.enum !== undefined) return schema.enum.join(', ');
  const bounds = [
    schema.minimum === undefined ? '' : `from ${schema.minimum}`,
    schema.maximum === undefined ? '' : `to ${schema.maximum}`,
    schema.minLength === undefined ? '' : `from ${schema.minLength} characters`,
    schema.maxLength === undefined ? '' : `to ${schema.maxLength} characters`,
  ];
  return [String(schema.format ?? schema.type ?? ''), ...bounds].filter((part) => part !== '').join(' ');
}

function schemaBlock(schema: Schema | undefined): string {
  return schema === undefined ? '' : `<pre>${text(JSON.stringify(schema, undefined, 2))}</pre>`;
}

function text(raw: string): string {
  return raw.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { jsonSchemas, jsonSchemaText } from '../../src/cli/json-schemas.ts';

const SCHEMAS = fileURLToPath(new URL('../../../docs/cli/', import.meta.url));

test('docs/cli holds the schema of what each command prints', (t) => {
  for (const [path, schema] of Object.entries(jsonSchemas())) {
    const file = join(SCHEMAS, `${path.replaceAll(' ', '-')}.schema.json`);
    const text = jsonSchemaText(path, schema);
    if (process.env['UPDATE_DOCS'] === '1') {
      mkdirSync(SCHEMAS, { recursive: true });
      writeFileSync(file, text);
    }
    t.true(existsSync(file) && readFileSync(file, 'utf8') === text, `${file}: run this test with UPDATE_DOCS=1`);
  }
});

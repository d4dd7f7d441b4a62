/** Compares the `--json` output of commands with the schemas that docs/cli publishes. */

import Ajv from 'ajv';
import type { ExecutionContext } from 'ava';
import { jsonSchemas } from '../../src/cli/json-schemas.ts';

const ajv = new Ajv();
const schemas = jsonSchemas();

/**
 * Returns the first deviation of an output from the schema of its command; undefined for no deviation. Each line of the
 * output must be a JSON document.
 *
 * @param path path of the command, such as `keys create`
 */
export function deviationFromSchema(path: string, stdout: string): string | undefined {
  const schema = schemas[path];
  if (schema === undefined) return `${path} has no schema`;
  const lines = stdout.trim().split('\n');
  for (const line of lines) {
    if (ajv.validate(schema, JSON.parse(line)) !== true) return `${path}: ${ajv.errorsText()}: ${line}`;
  }
  return undefined;
}

/** Fails when an output deviates from the schema of its command. */
export function matchesSchema(t: ExecutionContext, path: string, stdout: string): void {
  t.is(deviationFromSchema(path, stdout), undefined);
}

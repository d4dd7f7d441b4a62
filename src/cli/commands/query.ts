/** `bloomery query`: runs SQL over the files of a Parquet sink, with a ClickHouse engine in this process (chDB). */

import { resolve } from 'node:path';
import { ProtocolError } from '../../primitives/errors.ts';
import { readManifest } from '../../sinks/parquet/parquet-sink.ts';
import { withSnapshot } from '../../sinks/parquet/snapshot.ts';
import { viewStatements } from '../../sinks/parquet/views.ts';
import type { SqlQueryFlags } from '../flags.ts';
import { printJson, printText } from '../output.ts';
import { usageError } from '../error-lines.ts';
import { embeddedEngine } from '../sink/embedded-engine.ts';
import { formatClause, hasSeveralStatements, isTextFormat } from '../sink/sql-text.ts';

const ENGINE_VARIABLE = 'BLOOMERY_CHDB';
const USUAL_FORMAT = 'PrettyCompactMonoBlock';

/**
 * @throws ProtocolError `USAGE` if the query is empty or has several statements, or if the format is not text. Also
 *   `USAGE` if `--json` is given together with `--format`, or if the answer for `--json` has no member `data`
 * @throws ProtocolError `QUERY_REFUSED` with the error of the engine
 * @throws ProtocolError in the same cases as `embeddedEngine`, `readManifest`, `withSnapshot` and `viewStatements`
 */
export async function query(sql: string, { from, format, engine: engineFolder, json }: SqlQueryFlags): Promise<void> {
  if (sql.trim() === '') throw usageError('the query is empty: give a SELECT');
  if (hasSeveralStatements(sql)) throw usageError('the query has several statements: give one SELECT');
  if (json === true && format !== undefined)
    throw usageError('--json and --format both name a format: give one of them');
  if (json !== true) refuseBinary(format, sql);
  const folder = resolve(from);
  await readManifest(folder);
  // An empty `BLOOMERY_CHDB` counts as unset, because a script can copy the value of an unset variable.
  const engine = embeddedEngine(engineFolder ?? (process.env[ENGINE_VARIABLE] || undefined));
  try {
    // JSON output has 64-bit integers as text, because most JSON parsers would round 64-bit numbers.
    engine.run('SET output_format_json_quote_64bit_integers = 1', 'CSV');
    const answer = await withSnapshot(folder, (snapshot) => {
      for (const statement of viewStatements(folder, snapshot)) engine.run(statement, 'CSV');
      return engine.run(sql, json === true ? 'JSON' : (format ?? USUAL_FORMAT));
    });
    if (json !== true) return printText(answer.endsWith('\n') || answer === '' ? answer : `${answer}\n`);
    printJson(jsonIn(answer));
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ProtocolError('QUERY_REFUSED', {}, `the engine refuses: ${reason}`, { cause: error });
  } finally {
    engine.close();
  }
}

/**
 * Refuses formats that are not text, because chdb returns the answer as a string. A string cannot contain the bytes of
 * these formats.
 */
function refuseBinary(format: string | undefined, sql: string): void {
  const name = [format, formatClause(sql)].find((each) => each !== undefined && !isTextFormat(each));
  if (name === undefined) return;
  throw usageError(
    `${name} is not one of the text formats that can be printed: write a file with INTO OUTFILE 'FILE' FORMAT ${name} at the ` +
      'end of the query',
  );
}

/**
 * Returns the members that `--json` prints. The answer to a query that contains the clause FORMAT can lack these
 * members.
 */
function jsonIn(answer: string): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(answer);
  } catch {
    parsed = undefined;
  }
  const { meta, data, rows } = (parsed ?? {}) as Readonly<Record<string, unknown>>;
  if (data === undefined)
    throw usageError('--json needs one SELECT without FORMAT: remove --json, or correct the query');
  return { meta, data, rows };
}

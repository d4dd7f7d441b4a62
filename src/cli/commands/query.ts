/** `bloomery query`: runs SQL over the files of a Parquet sink, in an engine within this process. */

import { resolve } from 'node:path';
import { ProtocolError } from '../../primitives/errors.ts';
import { readManifest } from '../../sinks/parquet/parquet-sink.ts';
import { viewStatements } from '../../sinks/parquet/views.ts';
import type { QueryFlags } from '../flags.ts';
import { printJson, printText } from '../output.ts';
import { embeddedEngine } from '../sink/embedded-engine.ts';

const ENGINE_VARIABLE = 'BLOOMERY_CHDB';

/**
 * @throws ProtocolError like `embeddedEngine` and `readManifest`; `QUERY_REFUSED` with the error of the engine
 */
export async function query(sql: string, { from, format, engine: engineFolder, json }: QueryFlags): Promise<void> {
  const folder = resolve(from);
  await readManifest(folder);
  const engine = embeddedEngine(engineFolder ?? process.env[ENGINE_VARIABLE]);
  try {
    // JSON output has 64-bit integers as text, because most JSON parsers would round 64-bit numbers.
    engine.run('SET output_format_json_quote_64bit_integers = 1', 'CSV');
    for (const statement of await viewStatements(folder)) engine.run(statement, 'CSV');
    const answer = engine.run(sql, json === true ? 'JSON' : format);
    if (json !== true) return printText(answer.endsWith('\n') || answer === '' ? answer : `${answer}\n`);
    const { meta, data, rows } = JSON.parse(answer) as Readonly<Record<string, unknown>>;
    printJson({ meta, data, rows });
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const said = error instanceof Error ? error.message : String(error);
    throw new ProtocolError('QUERY_REFUSED', {}, `the engine refuses: ${said}`, { cause: error });
  } finally {
    engine.close();
  }
}

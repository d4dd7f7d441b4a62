import test from 'ava';
import { parquetReadObjects } from 'hyparquet';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeOf } from '../../src/primitives/errors.ts';
import { ParquetSink } from '../../src/sinks/parquet/parquet-sink.ts';
import { joinedRows, SINK_TABLE_NAMES, columnsOf, type Rows } from '../../src/sinks/tables.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { IDENTITY, sinkContract } from './contract.ts';

/** All rows of the files under a folder, read by another program than the one that wrote them. */
async function rowsIn(folder: string): Promise<Rows> {
  const parts: Rows[] = [joinedRows([])];
  for (const kind of ['ranges', 'tail']) {
    for (const name of existsSync(join(folder, kind)) ? readdirSync(join(folder, kind)) : []) {
      const tables = SINK_TABLE_NAMES.map(async (table) => {
        const path = join(folder, kind, name, `${table}.parquet`);
        if (!existsSync(path)) return [table, []] as const;
        const bytes = readFileSync(path);
        const rows = await parquetReadObjects({
          file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
        });
        const withTime = (row: Record<string, unknown>) =>
          Object.fromEntries(
            columnsOf(table).map(([column, type]) => [
              column,
              type === 'time' ? (row[column] as Date).getTime() / 1000 : row[column],
            ]),
          );
        return [table, rows.map(withTime)] as const;
      });
      parts.push(Object.fromEntries(await Promise.all(tables)) as unknown as Rows);
    }
  }
  return joinedRows(parts);
}

sinkContract(test, 'parquet', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-parquet-'));
  return {
    open: () => new ParquetSink(join(folder, 'sink')),
    rows: () => rowsIn(join(folder, 'sink')),
    close: () => Promise.resolve(rmSync(folder, { recursive: true })),
  };
});

test('what a crash left half written or half removed goes when the sink is opened', async (t) => {
  const folder = temporaryFolder(t);
  await new ParquetSink(folder).begin(IDENTITY);
  for (const name of ['ranges/draft-0000000001-0000000010-17', 'tail/draft-gone-0000000011-18']) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'blocks.parquet'), 'half');
  }
  t.deepEqual(await new ParquetSink(folder).begin(IDENTITY), { final: undefined, tail: [] });
  t.deepEqual(readdirSync(join(folder, 'ranges')), []);
  t.deepEqual(readdirSync(join(folder, 'tail')), []);
});

test('a tail with a gap keeps what is below the gap, ranges with a gap are refused', async (t) => {
  const folder = temporaryFolder(t);
  await new ParquetSink(folder).begin(IDENTITY);
  for (const name of ['0000000001-5', '0000000002-6', '0000000004-8']) mkdirSync(join(folder, 'tail', name));
  const { tail } = await new ParquetSink(folder).begin(IDENTITY);
  t.deepEqual(tail, [
    { height: 1, blockId: '5' },
    { height: 2, blockId: '6' },
  ]);
  mkdirSync(join(folder, 'ranges', '0000000011-0000000020-9'));
  t.is(codeOf(await t.throwsAsync(new ParquetSink(folder).begin(IDENTITY))), 'SINK_DAMAGED');
});

test('a folder with other files is left alone, and one of another version refused', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'letter.txt'), 'dear');
  t.is(codeOf(await t.throwsAsync(new ParquetSink(folder).begin(IDENTITY))), 'SINK_MISSING');
  t.deepEqual(readdirSync(folder), ['letter.txt']);
  const other = temporaryFolder(t);
  writeFileSync(join(other, 'sink.json'), JSON.stringify({ version: 999, identity: IDENTITY }));
  t.is(codeOf(await t.throwsAsync(new ParquetSink(other).begin(IDENTITY))), 'SINK_VERSION');
});

import test from 'ava';
import { formatClause, hasSeveralStatements, isTextFormat } from '../../src/cli/sink/sql-text.ts';

test('a semicolon separates statements only outside of texts, names and comments', (t) => {
  for (const one of [
    'SELECT 1',
    'SELECT 1;',
    'SELECT 1 ; -- the end; really',
    'SELECT 1;\n/* ; */ # ;\n;',
    "SELECT ';', 'it''s;', 'a\\';b'",
    'SELECT "a;b", `c;d`',
    'SELECT $$a;b$$, $tag$;$tag$',
    'SELECT ‘a;b\\’, “c;d”',
    '-- a; b\nSELECT 1',
    '',
    ';',
  ])
    t.false(hasSeveralStatements(one), one);
  for (const several of [
    'SELECT 1; SELECT 2',
    'SELECT 1;SELECT 2;',
    "SELECT 'a'; DROP TABLE b",
    "SELECT 1; 'a'",
    'SELECT 1 AS a$b$; SELECT 2 AS c$b$',
    'SELECT 1 /* a */; -- b\nSELECT 2',
  ])
    t.true(hasSeveralStatements(several), several);
});

test('the clause FORMAT is found at the end of a statement, unless the result goes to a file', (t) => {
  for (const [sql, format] of [
    ['SELECT 1 FORMAT Parquet', 'Parquet'],
    ['SELECT 1 format parquet ; -- the end', 'parquet'],
    ['(SELECT 1)FORMAT/* a */`Parquet`', 'Parquet'],
    ['SELECT 1 FORMAT "Parquet"', 'Parquet'],
    ['SELECT 1 FORMAT Parquet SETTINGS max_threads = 1', 'Parquet'],
    ['SELECT 1 SETTINGS max_threads = 1 FORMAT Parquet', 'Parquet'],
    ['SELECT format AS a FROM t FORMAT ORC', 'ORC'],
    ["SELECT 1 INTO OUTFILE 'a.parquet' FORMAT Parquet", undefined],
    ["SELECT 1 INTO OUTFILE 'a.parquet' AND STDOUT FORMAT Parquet", undefined],
    ["SELECT 'FORMAT Parquet'", undefined],
    ['SELECT 1 -- FORMAT Parquet', undefined],
    ["SELECT format('{}', 1)", undefined],
    ['SELECT 1 AS format FROM t', undefined],
    ['SELECT 1 AS format ORDER BY format DESC', undefined],
    ['SELECT 1 AS format ORDER BY format asc SETTINGS max_threads = 1', undefined],
    ['SELECT format', undefined],
    ['', undefined],
  ] as const)
    t.is(formatClause(sql), format, sql);
});

test('text formats are recognised in any case, and no other name is', (t) => {
  const text =
    'CSV csvWithNames tsv TSVRaw TabSeparatedRawWithNamesAndTypes TSKV JSON JSONCompactStringsEachRowWithProgress jsonl ' +
    'NDJSON GeoJSON PrettyCompactMonoBlock PrettyNDJSON Vertical Raw RawWithNames Markdown MD XML Values SQLInsert ' +
    'CustomSeparatedWithNames Template LineAsString Null Hash Prometheus';
  for (const name of text.split(' ')) t.true(isTextFormat(name), name);
  const other =
    'Parquet parquet ORC Arrow ArrowStream Native RowBinary RowBinaryWithNames RawBLOB MsgPack Avro Protobuf BSONEachRow ' +
    'Npy PNG Buffers MySQLWire Unknown XMLs';
  for (const name of ['', ...other.split(' ')]) t.false(isTextFormat(name), name);
});

import test from 'ava';
import { hasSeveralStatements } from '../../src/cli/sink/one-statement.ts';

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

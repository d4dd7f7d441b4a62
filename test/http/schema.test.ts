import test from 'ava';
import { hasFormat, type Format } from '../../src/http/formats.ts';
import { convert, parseQuery, queryTextOf } from '../../src/http/query.ts';
import { schemaErrorsOf, type Schema } from '../../src/http/schema.ts';

const FORMATS: Readonly<Record<string, { accepted: unknown[]; refused: unknown[] }>> = {
  address: {
    accepted: ['', '0L', '1L', '18446744073709551615L'],
    refused: ['L', '01L', '00L', '1l', '18446744073709551616L', '1', 'abc', ' 1L', '1L\n', null, 5],
  },
  id: { accepted: ['', '0', '007', '99999999999999999999999'], refused: ['abc', '-1', '1.5', '1\n', null, {}] },
  publicKey: { accepted: ['', 'aF'.repeat(32)], refused: ['ab', 'zz'.repeat(32), 'ab'.repeat(33), null, 5] },
  signature: { accepted: ['', 'aF'.repeat(64)], refused: ['ab'.repeat(32), 'gg'.repeat(64)] },
  hex: { accepted: ['', 'a', 'aBc0'], refused: ['xyz', '0x1'] },
  username: { accepted: ['', 'genesis_1', 'A!@$&_.9'], refused: ['a b', 'ä', '%', '-'] },
  additionalData: { accepted: ['', 'x'.repeat(64), 'é'.repeat(32)], refused: ['é'.repeat(33), '💣'.repeat(17)] },
  // The reference checks this format with the function `ip.isV4Format`. The two lists show the results of this
  // function.
  ip: {
    accepted: ['127.0.0.1', '255.255.255.255', '256.1.1.1', '01.2.3.4'],
    refused: ['', '1000.1.1.1', '1.2.3', '1.2.3.4.5', '1.2.3.4\n', '::1', 'localhost'],
  },
  version: {
    accepted: ['', '1.0.0', '999.999.999', '1.0.0-alpha.1', '1.0.0-rc.2.3', '1.0.0-beta.10'],
    refused: ['v1.0.0', '1.0', '1.0.0-alpha', '1000.0.0', '1.0.0-dev.1'],
  },
  protocolVersion: { accepted: ['', '1.1', '0.0', '999.999'], refused: ['01.1', '1', '1.1000', '1.1.1'] },
  int32: { accepted: [1, -5, 3_000_000_000], refused: [1.5, 'x'] },
};

for (const [format, { accepted, refused }] of Object.entries(FORMATS)) {
  test(`format ${format} accepts valid texts and refuses the rest`, (t) => {
    for (const value of accepted) t.true(hasFormat(format as Format, value), `accepts ${JSON.stringify(value)}`);
    for (const value of refused) t.false(hasFormat(format as Format, value), `refuses ${JSON.stringify(value)}`);
  });
}

const PERSON: Schema = {
  type: 'object',
  required: ['id', 'name', 'keys'],
  properties: {
    id: { type: 'string', format: 'id', minLength: 1, maxLength: 5 },
    name: { type: 'string', format: 'address' },
    age: { type: 'integer', minimum: 0, maximum: 99 },
    keys: { type: 'array', items: { type: 'string', format: 'hex' } },
    home: { type: 'object', properties: { street: { type: 'string' } } },
  },
};

test('a valid value has no errors, and undeclared members are ignored', (t) => {
  t.deepEqual(
    schemaErrorsOf(PERSON, { id: '1', name: '1L', age: 3, keys: ['ab'], home: { street: 'x' }, other: 1 }),
    [],
  );
});

test('missing members come first, last-declared first, then present members in reverse order of the body', (t) => {
  const errors = schemaErrorsOf(PERSON, { id: 'abcdef', home: { street: 5 }, age: 100 });
  t.deepEqual(
    errors.map(({ code, message, path }) => [code, message, path]),
    [
      ['OBJECT_MISSING_REQUIRED_PROPERTY', 'Missing required property: keys', []],
      ['OBJECT_MISSING_REQUIRED_PROPERTY', 'Missing required property: name', []],
      ['MAXIMUM', 'Value 100 is greater than maximum 99', ['age']],
      ['INVALID_TYPE', 'Expected type string but found type integer', ['home', 'street']],
      ['INVALID_FORMAT', "Object didn't pass validation for format id: abcdef", ['id']],
      ['MAX_LENGTH', 'String is too long (6 chars), maximum 5', ['id']],
    ],
  );
});

test('a value with very many errors leads to a hundred errors, from the last member on', (t) => {
  const keys = Array.from({ length: 65_001 }, () => 0);
  const errors = schemaErrorsOf(PERSON, { id: '1', name: '1L', keys });
  t.is(errors.length, 100);
  t.deepEqual(errors[0]?.path, ['keys', '65000']);
  const others = Object.fromEntries(keys.map((_, index) => [`other${index}`, 0]));
  t.is(schemaErrorsOf({ type: 'object', additionalProperties: false }, others).length, 100);
});

test('the text of an error shows any value, at most a thousand characters of it', (t) => {
  const shown = (value: unknown): string =>
    (schemaErrorsOf({ format: 'id' }, value)[0]?.message ?? '').replace(
      "Object didn't pass validation for format id: ",
      '',
    );
  t.is(shown([1, [null, 'a', [undefined, true]], { b: 1 }]), '1,,a,,true,[object Object]');
  t.is(shown([{ toString: null, valueOf: null }]), '[object Object]');
  t.is(shown({ toString: null }), '{"toString":null}');
  t.is(shown('x'.repeat(1_000)), 'x'.repeat(1_000));
  t.is(shown('x'.repeat(1_001)), `${'x'.repeat(1_000)}…`);
  t.is(shown(Array.from({ length: 9_000 }, () => [[['ab']]])).length, 1_001);
});

test('null breaks both its type and its format', (t) => {
  t.deepEqual(
    schemaErrorsOf(PERSON, { id: '1', name: null, keys: [] }).map(({ code, message }) => [code, message]),
    [
      ['INVALID_TYPE', 'Expected type string but found type null'],
      ['INVALID_FORMAT', "Object didn't pass validation for format address: null"],
    ],
  );
});

test('errors in a list name the index of their element, last first', (t) => {
  t.deepEqual(
    schemaErrorsOf(PERSON, { id: '1', name: '1L', keys: ['x', 'ab', 'y'] }).map(({ path }) => path),
    [
      ['keys', '2'],
      ['keys', '0'],
    ],
  );
});

test('lengths count characters, and the text names them in UTF-16 units', (t) => {
  t.deepEqual(schemaErrorsOf({ type: 'string', maxLength: 2 }, '💣💣'), []);
  t.is(schemaErrorsOf({ type: 'string', maxLength: 1 }, '💣💣')[0]?.message, 'String is too long (4 chars), maximum 1');
  t.is(schemaErrorsOf({ type: 'string', minLength: 2 }, '💣')[0]?.message, 'String is too short (2 chars), minimum 2');
});

test('inherited members of an object do not count as sent', (t) => {
  const text: Schema = { type: 'string' };
  const members = Object.fromEntries([['toString', text]]);
  const schema: Schema = { type: 'object', required: ['toString'], properties: members };
  t.is(schemaErrorsOf(schema, {})[0]?.code, 'OBJECT_MISSING_REQUIRED_PROPERTY');
  t.deepEqual(schemaErrorsOf({ type: 'object', properties: {} }, JSON.parse('{"__proto__":1,"constructor":2}')), []);
});

test('a repeated or nested parameter is parsed as an object', (t) => {
  const query = parseQuery('a=1&a=2&b[x]=1&c[]=1&c[]=2&d=%41+%2B&e&f=%zz&=g');
  t.deepEqual(
    [...query],
    [
      ['a', undefined],
      ['b', undefined],
      ['c', undefined],
      ['d', 'A +'],
      ['e', ''],
      ['f', '%zz'],
      ['', 'g'],
    ],
  );
});

test('a list of one element stays a list, and counts as a number where one is expected', (t) => {
  const query = parseQuery('a[]=1&b[0]=2&c[20]=3&d[21]=4&e[][]=5&[f]=6&g[&h]&i%5B%5D=7&j[]&__proto__=8');
  t.deepEqual(
    [...query],
    [
      ['a', { element: '1' }],
      ['b', { element: '2' }],
      ['c', { element: '3' }],
      ['d', undefined],
      ['e', { element: '5' }],
      ['f', '6'],
      ['g[', ''],
      ['h]', ''],
      ['i', { element: '7' }],
      ['j', { element: '' }],
      ['__proto__', '8'],
    ],
  );
  t.deepEqual(convert('limit', 'integer', { element: '7' }), { value: 7 });
  t.deepEqual(convert('limit', 'integer', { element: '' }), { value: 0 });
  t.deepEqual(convert('limit', 'integer', { element: 'x' }), { found: 'object' });
  t.deepEqual(convert('os', 'string', { element: 'x' }), { found: 'object' });
  t.deepEqual(convert('forging', 'boolean', { element: 'true' }), { found: 'object' });
});

test('the query text starts after the first question mark', (t) => {
  t.is(queryTextOf('/a?b=1?2'), 'b=1?2');
  t.is(queryTextOf('/a'), '');
  t.is(queryTextOf('/a?b#c'), 'b');
  t.is(queryTextOf('/a?b#c?d'), 'b');
  t.is(queryTextOf('/a#c?b=1'), '');
});

test('empty brackets without a name before them are counted', (t) => {
  t.deepEqual(
    [...parseQuery('[]=1&a=2&[]=3&[][x]=4')],
    [
      ['0', undefined],
      ['a', '2'],
      ['1', '3'],
    ],
  );
});

test('texts are converted to integers as leniently as clients expect', (t) => {
  for (const [text, value] of [
    ['10', 10],
    ['010', 10],
    [' 5', 5],
    ['+5', 5],
    ['1e1', 10],
    ['-3', -3],
    ['1.5', 1.5],
    ['9007199254740993', 9_007_199_254_740_992],
  ] as const)
    t.deepEqual(convert('limit', 'integer', text), { value }, text);
  t.deepEqual(convert('limit', 'integer', '-1e400'), { value: Number.NEGATIVE_INFINITY });
  for (const text of ['', ' ', 'abc', '1x', 'NaN'])
    t.deepEqual(convert('limit', 'integer', text), { found: 'string' }, text);
  t.deepEqual(convert('limit', 'integer', undefined), { found: 'object' });
});

test('a text that looks like an integer is a number, except in text parameters', (t) => {
  t.deepEqual(convert('os', 'string', '123'), { found: 'number' });
  t.deepEqual(convert('os', 'string', '-5'), { found: 'number' });
  t.deepEqual(convert('os', 'string', '0123'), { value: '0123' });
  t.deepEqual(convert('os', 'string', '1'.repeat(64)), { value: '1'.repeat(64) });
  for (const name of ['id', 'blockId', 'username', 'search', 'data', 'senderId', 'recipientId', 'address'])
    t.deepEqual(convert(name, 'string', '123'), { value: '123' }, name);
});

test('only true and false are booleans', (t) => {
  t.deepEqual(convert('forging', 'boolean', 'true'), { value: true });
  t.deepEqual(convert('forging', 'boolean', 'false'), { value: false });
  t.deepEqual(convert('forging', 'boolean', '1'), { found: 'number' });
  t.deepEqual(convert('forging', 'boolean', ''), { found: 'string' });
});

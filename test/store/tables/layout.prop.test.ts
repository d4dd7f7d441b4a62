import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../../src/config/package.ts';
import type { PartName } from '../../../src/store/tables/key-parts.ts';
import { layoutMarkdown } from '../../../src/store/tables/layout-docs.ts';
import { TABLES, type TableName } from '../../../src/store/tables/layout.ts';
import { fc } from '../../support/fast-check.ts';

const PAGE = join(packageDirectory(), 'docs', 'store-layout.md');

const u16 = fc.nat(0xffff);
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const publicKey = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'));
/** Text of characters that take one, two or three bytes in UTF-8. */
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'L', '0', '9', 'é', '漢'), maxLength: 20 });
const bytes = fc.uint8Array({ maxLength: 64 }).map((array) => Buffer.from(array));
const place = fc.record({ height: u32, index: u16 });
const typeList = u16.map((type) => TABLES.transactionsByType.prefix(type));
const addressList = text.map((address) => TABLES.transactionsBySender.prefix(address));

const VALUES: Readonly<Record<PartName, fc.Arbitrary<unknown>>> = {
  height: u32,
  ordinal: u32,
  listIndex: u32,
  place,
  id: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
  key: publicKey,
  timestamp: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  u16,
  sort: fc.nat(255),
  amount: fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }),
  voter: fc.option(publicKey, { nil: undefined }),
  '(address)': text,
  address: text,
  name: text,
  note: text,
  data: bytes,
  value: bytes,
  table: fc.nat(255),
  level: fc.nat(255),
  start: bytes,
  list: fc.oneof(typeList, addressList),
};

/** A table whose methods accept any values. */
interface AnyTable {
  readonly parts: readonly PartName[];
  key(...values: readonly unknown[]): Buffer;
  prefix(...values: readonly unknown[]): Buffer;
  range(...values: readonly unknown[]): { readonly gte: Buffer; readonly lt: Buffer };
  read(key: Buffer): readonly unknown[];
}

/**
 * For each of these key parts, a function that compares two values of the part. In a key, the bytes of these parts must
 * sort in the same order as the values.
 */
const COMPARE: Partial<Record<PartName, (a: unknown, b: unknown) => number>> = {
  ...Object.fromEntries(
    (['height', 'ordinal', 'listIndex', 'timestamp', 'u16', 'sort', 'amount'] as const).map((name) => [
      name,
      (a: unknown, b: unknown) => ((a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0),
    ]),
  ),
  id: (a, b) => (BigInt(a as string) < BigInt(b as string) ? -1 : a === b ? 0 : 1),
};

for (const name of Object.keys(TABLES) as TableName[]) {
  const table = TABLES[name] as unknown as AnyTable;
  const values = fc.tuple(...table.parts.map((part) => VALUES[part]));

  test(`${name}: a key decodes to its parts, and lies in the range of each of its prefixes`, (t) => {
    fc.assert(
      fc.property(values, (some) => {
        const key = table.key(...some);
        t.deepEqual(table.read(key), some);
        for (let leading = 0; leading <= some.length; leading += 1) {
          const { gte, lt } = table.range(...some.slice(0, leading));
          t.true(Buffer.compare(gte, key) <= 0 && Buffer.compare(key, lt) < 0);
          t.true(key.subarray(0, gte.length).equals(table.prefix(...some.slice(0, leading))));
        }
      }),
      { numRuns: 50 },
    );
  });

  const other = table.parts.findIndex((part) => COMPARE[part] === undefined);
  const numbers = other < 0 ? table.parts : table.parts.slice(0, other);
  if (numbers.length === 0) continue;
  test(`${name}: keys are ordered like the numbers at their start`, (t) => {
    fc.assert(
      fc.property(values, values, (a, b) => {
        const orders = numbers.map((part, at) => COMPARE[part]?.(a[at], b[at]) ?? 0);
        const order = orders.find((each) => each !== 0);
        fc.pre(order !== undefined);
        t.is(Math.sign(Buffer.compare(table.key(...a), table.key(...b))), order);
      }),
      { numRuns: 50 },
    );
  });
}

test('docs/store-layout.md matches the tables', (t) => {
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(PAGE, layoutMarkdown());
  t.is(readFileSync(PAGE, 'utf8'), layoutMarkdown());
});

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { examine, type FileToExamine } from '../../../src/store/disk/data-file.ts';
import { openLmdb } from '../../../src/store/disk/lmdb.ts';
import { temporaryFolder } from '../backends.ts';

const PAGE_BYTES = 4096;

/** Returns the content of the data file of a database after each of three transactions. */
async function versions(): Promise<readonly Buffer[]> {
  const directory = temporaryFolder();
  try {
    const keys = openLmdb(directory, true);
    const found = [1, 2, 3].map((step) => {
      keys.transact((writer) => {
        for (let key = 0; key < 500; key += 1) writer.put(Buffer.from(`${step} ${key}`), Buffer.alloc(300));
      });
      return readFileSync(join(directory, 'data.mdb'));
    });
    await keys.close();
    return found;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/**
 * Returns a file whose content changes at each call of its methods: the file has each element of `contents` in turn,
 * and then always the last element.
 */
function changing(contents: readonly Buffer[]): FileToExamine {
  let asked = 0;
  const next = (): Buffer => contents[Math.min(asked++, contents.length - 1)] ?? Buffer.alloc(0);
  return {
    sizeBytes: () => next().length,
    read: (offset, lengthBytes) => next().subarray(offset, offset + lengthBytes),
  };
}

test('a file that grows during the check counts as intact', async (t) => {
  const [first, second, third] = await versions();
  if (first === undefined || second === undefined || third === undefined) throw new Error('three transactions');
  t.true(first.length < second.length && second.length < third.length);
  t.deepEqual(examine(changing([first, second, third])), { kind: 'whole' });
  t.deepEqual(examine(changing([first, second])), { kind: 'whole' });
});

test('a partly visible recent write is checked again', async (t) => {
  const [whole] = await versions();
  if (whole === undefined) throw new Error('a transaction');
  const onePage = whole.subarray(0, PAGE_BYTES);
  const torn = Buffer.from(whole);
  torn.fill(0xff, PAGE_BYTES + 88, PAGE_BYTES + 152);
  torn.fill(0x7f, PAGE_BYTES + 94, PAGE_BYTES + 95);
  const asked = (content: Buffer): Buffer[] => [content, content, content];
  t.deepEqual(examine(changing([...asked(onePage), whole])), { kind: 'whole' });
  t.deepEqual(examine(changing([...asked(torn), whole])), { kind: 'whole' });
  // If two successive checks find the same bytes, `examine` assumes that no write is in progress, and reports the
  // damage.
  t.deepEqual(examine(changing([...asked(onePage), ...asked(onePage), whole])), {
    kind: 'damaged',
    why: 'data.mdb is cut off',
  });
});

test('an empty file counts as none, however much its creator has written since', async (t) => {
  const [whole] = await versions();
  if (whole === undefined) throw new Error('a transaction');
  t.deepEqual(examine(changing([Buffer.alloc(0)])), { kind: 'none' });
  t.deepEqual(examine(changing([Buffer.alloc(0), whole])), { kind: 'whole' });
});

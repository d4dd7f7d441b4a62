import test from 'ava';
import { parquetReadObjects } from 'hyparquet';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeOf, messageOf } from '../../src/primitives/errors.ts';
import { ParquetSink, type TakeFolderLock } from '../../src/sinks/parquet/parquet-sink.ts';
import { joinedRows, SINK_TABLE_NAMES, columnsOf, type Rows } from '../../src/sinks/tables.ts';
import { sinkInUse } from '../../src/sinks/lease.ts';
import type { SinkPlace } from '../../src/sinks/sink.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { withSnapshot } from '../../src/sinks/parquet/snapshot.ts';
import { viewStatements } from '../../src/sinks/parquet/views.ts';
import { watchDiskWrites } from '../support/disk-writes.ts';
import { blocksOf, crashContract, IDENTITY, putRange, sinkContract, type SinkSite } from './contract.ts';

/**
 * Reads all rows of the Parquet files of a sink with `hyparquet`. The sink writes the files with `hyparquet-writer`,
 * which uses only constants and helper functions of `hyparquet`.
 */
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

/**
 * A folder lock for several owners in one process. Each owner represents a process. `commands.test.ts` tests the lock
 * that `bloomery sink` uses.
 */
function lockOf(owner: string): TakeFolderLock {
  return (folder, name) => {
    const file = join(folder, `${name}.${randomUUID()}`);
    const [held] = readdirSync(folder).filter((each) => each.startsWith(`${name}.`));
    if (held !== undefined) throw sinkInUse(folder, readFileSync(join(folder, held), 'utf8'), undefined);
    writeFileSync(file, owner);
    return { isHeld: () => existsSync(file), release: () => rmSync(file, { force: true }) };
  };
}

function openSink(folder: string): ParquetSink {
  return new ParquetSink(folder, lockOf('process 1'));
}

/**
 * Creates one folder of a sink: a folder of a range (below `ranges`), or of a single block (below `tail`). The folder
 * contains only an empty `blocks.parquet`. Like a folder from an earlier version of Bloomery, it has no `files.json`.
 */
function makePart(folder: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, 'blocks.parquet'), '');
}

/** Opens a sink, reads its position, and closes the sink. */
async function placeOf(folder: string): Promise<SinkPlace> {
  const sink = openSink(folder);
  try {
    return await sink.begin(IDENTITY);
  } finally {
    await sink.end();
  }
}

sinkContract(test, 'parquet', openSite);
crashContract(test, 'parquet', openSite);

function openSite(): SinkSite {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-parquet-'));
  return {
    open: (owner, pause) => {
      watchDiskWrites(folder, pause);
      return new ParquetSink(join(folder, 'sink'), lockOf(owner));
    },
    expire: () => {
      for (const name of existsSync(join(folder, 'sink')) ? readdirSync(join(folder, 'sink')) : [])
        if (name.startsWith('sink.lock')) rmSync(join(folder, 'sink', name));
      return Promise.resolve();
    },
    rows: () => rowsIn(join(folder, 'sink')),
    close: () => {
      watchDiskWrites(folder, undefined);
      return Promise.resolve(rmSync(folder, { recursive: true }));
    },
  };
}

test('files that a crash left half written or half removed are deleted when the sink is opened', async (t) => {
  const folder = temporaryFolder(t);
  await placeOf(folder);
  for (const name of ['ranges/draft-0000000001-0000000010-17', 'tail/draft-gone-0000000011-18']) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'blocks.parquet'), 'half');
  }
  t.deepEqual(await placeOf(folder), { final: undefined, tail: [] });
  t.deepEqual(readdirSync(join(folder, 'ranges')), []);
  t.deepEqual(readdirSync(join(folder, 'tail')), []);
});

test('a tail with a gap keeps the blocks below the gap, and ranges with a gap are refused', async (t) => {
  const folder = temporaryFolder(t);
  await placeOf(folder);
  for (const name of ['0000000001-5', '0000000002-6', '0000000004-8']) makePart(join(folder, 'tail', name));
  const { tail } = await placeOf(folder);
  t.deepEqual(tail, [
    { height: 1, blockId: '5' },
    { height: 2, blockId: '6' },
  ]);
  makePart(join(folder, 'ranges', '0000000011-0000000020-9'));
  t.is(codeOf(await t.throwsAsync(placeOf(folder))), 'SINK_DAMAGED');
});

test('a tail with two blocks of one height keeps the blocks below that height', async (t) => {
  const folder = temporaryFolder(t);
  await placeOf(folder);
  // In a copy of the folder, the tail can have two blocks at one height. This happens if the user updates the copy
  // after a reorg and does not remove the old files from the copy.
  for (const name of ['0000000001-5', '0000000002-6', '0000000002-7', '0000000003-8'])
    makePart(join(folder, 'tail', name));
  const { tail } = await placeOf(folder);
  t.deepEqual(tail, [{ height: 1, blockId: '5' }]);
  t.deepEqual(readdirSync(join(folder, 'tail')), ['0000000001-5']);
});

test('two ranges of the same heights are refused, and the error names the second', async (t) => {
  const folder = temporaryFolder(t);
  await placeOf(folder);
  const names = ['0000000001-0000000010-5', '0000000001-0000000010-6'];
  for (const name of names) makePart(join(folder, 'ranges', name));
  const error = await t.throwsAsync(placeOf(folder));
  t.is(codeOf(error), 'SINK_DAMAGED');
  t.regex(error?.message ?? '', /0000000001-0000000010-6/);
  t.deepEqual(readdirSync(join(folder, 'ranges')), names);
});

test('a folder in which a reader would miss rows or count them twice is refused', async (t) => {
  const faults: Readonly<Record<string, readonly string[]>> = {
    'ranges/0backup': ['ranges/0000000001-0000000010-5', 'ranges/0backup'],
    'ranges/0000000001-0000000010-5.old': ['ranges/0000000001-0000000010-5', 'ranges/0000000001-0000000010-5.old'],
    'begins at height 1 is missing': ['ranges/0000000011-0000000020-5'],
    'ranges/0000000001-0000000010-6': ['ranges/0000000001-0000000010-5', 'ranges/0000000001-0000000010-6'],
    'no block of height 2': ['tail/0000000001-5', 'tail/0000000003-6'],
    'two blocks of height 2': ['tail/0000000001-5', 'tail/0000000002-6', 'tail/0000000002-7'],
  };
  for (const [named, parts] of Object.entries(faults)) {
    const folder = temporaryFolder(t);
    await placeOf(folder);
    t.true((await statementsOf(folder)).length > 0);
    for (const part of parts) makePart(join(folder, part));
    const error = await t.throwsAsync(statementsOf(folder), undefined, named);
    t.is(codeOf(error), 'SINK_DAMAGED');
    t.true(error?.message.includes(named), error?.message);
  }
});

test('a range without its file of blocks is refused, and a block of the tail without it is written again', async (t) => {
  const folder = temporaryFolder(t);
  await placeOf(folder);
  makePart(join(folder, 'ranges/0000000001-0000000010-5'));
  for (const name of ['0000000011-6', '0000000012-7', '0000000013-8']) makePart(join(folder, 'tail', name));
  t.is((await placeOf(folder)).tail.length, 3);
  rmSync(join(folder, 'tail/0000000012-7/blocks.parquet'));
  const unread = await t.throwsAsync(statementsOf(folder));
  t.is(codeOf(unread), 'SINK_DAMAGED');
  t.regex(unread?.message ?? '', /tail\/0000000012-7 has no blocks\.parquet/);
  t.deepEqual((await placeOf(folder)).tail, [{ height: 11, blockId: '6' }]);
  t.true((await statementsOf(folder)).length > 0);
  rmSync(join(folder, 'ranges/0000000001-0000000010-5/blocks.parquet'));
  for (const read of [placeOf, statementsOf]) {
    const error = await t.throwsAsync(read(folder));
    t.is(codeOf(error), 'SINK_DAMAGED');
    t.regex(error?.message ?? '', /0000000001-0000000010-5 has no blocks\.parquet/);
  }
});

function statementsOf(folder: string): Promise<readonly string[]> {
  return withSnapshot(folder, (snapshot) => viewStatements(folder, snapshot));
}

/** Fills a sink: a range has the heights 1 to 10, and the tail has the heights 11 to 14. */
async function fillSink(folder: string): Promise<void> {
  const sink = openSink(folder);
  await sink.begin(IDENTITY);
  await putRange(sink, 1);
  await sink.putTail(blocksOf(11, 14));
  await sink.end();
}

test('a part with a missing or shortened file is refused in the ranges, and written again in the tail', async (t) => {
  const folder = temporaryFolder(t);
  await fillSink(folder);
  const [range = ''] = readdirSync(join(folder, 'ranges'));
  const files = readdirSync(join(folder, 'ranges', range));
  t.true(files.length > 3, files.join());
  for (const file of files) {
    const path = join(folder, 'ranges', range, file);
    const bytes = readFileSync(path);
    const damages: Readonly<Record<string, () => void>> = {
      removed: () => rmSync(path),
      shortened: () => writeFileSync(path, bytes.subarray(0, -1)),
    };
    for (const [what, damage] of Object.entries(damages)) {
      damage();
      // The sink accepts a part (the folder of a range or of a block) without `files.json`, because earlier versions
      // wrote no such file.
      const isRefused = what === 'shortened' || file !== 'files.json';
      for (const read of [placeOf, statementsOf]) {
        const error: unknown = await read(folder).catch((thrown: unknown) => thrown);
        t.is(codeOf(error), isRefused ? 'SINK_DAMAGED' : undefined, `${file} ${what}`);
        if (isRefused) t.true(messageOf(error).includes(file), messageOf(error));
      }
      writeFileSync(path, bytes);
    }
  }
  t.is((await placeOf(folder)).tail.length, 4);
  const [, twelve = ''] = readdirSync(join(folder, 'tail'));
  rmSync(join(folder, 'tail', twelve, 'balance_changes.parquet'));
  const unread = await t.throwsAsync(statementsOf(folder));
  t.regex(unread?.message ?? '', /has no balance_changes\.parquet: run bloomery sink parquet/);
  t.is((await placeOf(folder)).tail.length, 1);
  t.true((await statementsOf(folder)).length > 0);
});

test('the views of a sink name its folder exactly, and a folder with a character of patterns is refused', async (t) => {
  const above = temporaryFolder(t);
  for (const name of ['a[1]', "a,b' \\"]) {
    await placeOf(join(above, name));
    makePart(join(above, name, 'ranges/0000000001-0000000010-5'));
    const statements = (await statementsOf(join(above, name))).join('\n');
    t.true(statements.includes(`${name.replace(/[\\']/g, '\\$&')}/ranges/`), statements);
  }
  for (const character of ['*', '?', '{', '}']) {
    const folder = join(above, `a${character}1`);
    await placeOf(folder);
    const error = await t.throwsAsync(statementsOf(folder), undefined, folder);
    t.is(codeOf(error), 'SINK_PATH_REFUSED');
    t.true(error?.message.includes(`the path ${folder} contains ${character}, `), error?.message);
  }
});

test('a copy of a sink that lacks a folder is refused, and the error names the folder', async (t) => {
  for (const name of ['ranges', 'tail']) {
    const folder = temporaryFolder(t);
    await placeOf(folder);
    rmSync(join(folder, name), { recursive: true });
    const error = await t.throwsAsync(
      withSnapshot(folder, () => undefined),
      { code: 'SINK_DAMAGED' },
    );
    t.true(error.message.includes(join(folder, name)), error.message);
    await placeOf(folder);
    await t.notThrowsAsync(withSnapshot(folder, () => undefined));
  }
});

test('two sinks can be created at once in the same missing folders', async (t) => {
  const folder = join(temporaryFolder(t), 'a', 'b');
  const sinks = ['one', 'two'].map((name) => openSink(join(folder, name)));
  t.teardown(() => Promise.all(sinks.map((sink) => sink.end())));
  await t.notThrowsAsync(Promise.all(sinks.map((sink) => sink.begin(IDENTITY))));
});

test('a folder that the system cannot make is refused at once', async (t) => {
  const error = await t.throwsAsync(placeOf('/proc/bloomery-sink'));
  t.is(codeOf(error), 'SINK_UNWRITABLE');
});

test('a folder whose sink.json is no manifest is refused, and the error names the file', async (t) => {
  const folder = temporaryFolder(t);
  for (const text of ['', 'null', '17', '{}', '{"version":1}', '{"version":1,"identity":null}']) {
    writeFileSync(join(folder, 'sink.json'), text);
    const error = await t.throwsAsync(placeOf(folder));
    t.is(codeOf(error), 'SINK_MISSING', text);
    t.regex(error?.message ?? '', /sink\.json/, text);
    t.is(readFileSync(join(folder, 'sink.json'), 'utf8'), text);
  }
});

test('a folder with other files stays unchanged, and one of another version is refused', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'letter.txt'), 'dear');
  t.is(codeOf(await t.throwsAsync(placeOf(folder))), 'SINK_MISSING');
  t.deepEqual(readdirSync(folder), ['letter.txt']);
  const other = temporaryFolder(t);
  writeFileSync(join(other, 'sink.json'), JSON.stringify({ version: 999, identity: IDENTITY }));
  t.is(codeOf(await t.throwsAsync(placeOf(other))), 'SINK_VERSION');
});

test('a part still being written when the lock is lost is not published', async (t) => {
  const folder = temporaryFolder(t);
  let looks = 0;
  const sink = new ParquetSink(folder, () => ({ isHeld: () => (looks += 1) < 2, release: () => undefined }));
  await sink.begin(IDENTITY);
  const error = await t.throwsAsync(sink.draftRange().put({ fromHeight: 1, toHeight: 10 }, '17'));
  t.is(codeOf(error), 'SINK_LEASE_LOST');
  t.is(looks, 2);
  t.deepEqual(
    readdirSync(join(folder, 'ranges')).filter((name) => !name.startsWith('draft-')),
    [],
  );
});

test('work on a snapshot is repeated when the sink removed a block of it, and not when it added blocks', async (t) => {
  const changes: Readonly<Record<string, (sink: ParquetSink) => Promise<void>>> = {
    'a range': (sink) => putRange(sink, 2),
    'a revert': (sink) => sink.revertTail(23),
    'a block that returns': async (sink) => {
      await sink.revertTail(23);
      await sink.putTail(blocksOf(24, 24));
    },
    'a new block': (sink) => sink.putTail(blocksOf(25, 25)),
  };
  const refusal = new Error('refused');
  for (const [what, change] of Object.entries(changes)) {
    const folder = temporaryFolder(t);
    const sink = openSink(folder);
    await sink.begin(IDENTITY);
    await putRange(sink, 1);
    await sink.putTail(blocksOf(11, 24));
    const seen: string[] = [];
    const work = withSnapshot(folder, async ({ ranges, tail }) => {
      seen.push(`${ranges.length}: ${tail.at(0)?.height} to ${tail.at(-1)?.height}`);
      if (seen.length > 1) return 'whole';
      await change(sink);
      throw refusal;
    });
    const again = { 'a range': '2: 21 to 24', 'a revert': '1: 11 to 23', 'a block that returns': '1: 11 to 24' }[what];
    t.is(await work.catch((error: unknown) => error), again === undefined ? refusal : 'whole', what);
    t.deepEqual(seen, ['1: 11 to 24', ...(again === undefined ? [] : [again])], what);
    await sink.end();
  }
});

test('work on a snapshot ends with an error when the sink removes blocks during each attempt', async (t) => {
  const folder = temporaryFolder(t);
  const sink = openSink(folder);
  await sink.begin(IDENTITY);
  let attempts = 0;
  await sink.putTail(blocksOf(1, 10));
  const error = await t.throwsAsync(
    withSnapshot(folder, async () => {
      attempts += 1;
      await sink.revertTail(10 - attempts);
    }),
  );
  t.is(codeOf(error), 'SINK_OVERTAKEN');
  t.is(attempts, 5);
  await sink.end();
});

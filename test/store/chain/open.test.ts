import { execFile } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import test from 'ava';
import { systemClock } from '../../../src/node/system.ts';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import { NO_EXCEPTIONS, type ChainParams } from '../../../src/protocol/params.ts';
import { copyStore } from '../../../src/store/disk/copy.ts';
import { closeInTurn, openForReading } from '../../../src/store/disk/environment.ts';
import { refusalToWrite } from '../../../src/store/disk/store-refusals.ts';
import { LAYOUT_VERSION, TABLES } from '../../../src/store/tables/layout.ts';
import { openLmdb } from '../../../src/store/disk/lmdb.ts';
import { MemoryKeyValue } from '../../../src/store/disk/memory.ts';
import { chainStoreOver, openChainSnapshot, openChainStore } from '../../../src/store/chain/open.ts';
import { FIRST_LAYOUT_READ } from '../../../src/store/chain/upgrade.ts';
import { lockElsewhere } from '../../support/lock-elsewhere.ts';
import { fakeBlock, FAKE_CODEC } from '../../support/fake-codec.ts';
import { limitFileSize } from '../../support/full-disk.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { BACKENDS, dump, temporaryFolder } from '../backends.ts';
import { Dice, followHistory, nextStep } from '../world.ts';

const OTHER_USER = fileURLToPath(new URL('./other-user.js', import.meta.url));

async function openIn(directory: string, params: ChainParams = paramsWith()) {
  return openChainStore({ directory, codec: FAKE_CODEC, params });
}

/** Runs `work` in a new temporary folder. */
async function inFolder(work: (directory: string) => Promise<void>): Promise<void> {
  const directory = temporaryFolder();
  try {
    await work(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test('a reopened store has its data, and continues from there', async (t) => {
  await inFolder(async (directory) => {
    const dice = new Dice(1);
    const first = await openIn(directory);
    for (let i = 0; i < 20; i += 1) {
      const { block, apply } = nextStep(dice, first.tip());
      first.transact((writer) => writer.append(block, apply));
    }
    const before = { dump: dump(first), tip: first.tip(), digest: first.stateDigest(), bftState: first.bftState() };
    await first.close();
    const again = await openIn(directory);
    t.deepEqual(
      { dump: dump(again), tip: again.tip(), digest: again.stateDigest(), bftState: again.bftState() },
      before,
    );
    again.transact((writer) => writer.revert());
    t.is(again.tip()?.height, 19);
    await again.close();
  });
});

test('a store can be opened in a folder whose name contains a dot', async (t) => {
  await inFolder(async (parent) => {
    const directory = join(parent, 'chain.v1');
    const store = await openIn(directory);
    await store.close();
    t.true(existsSync(join(directory, 'data.mdb')));
  });
});

for (const [change, code, words] of [
  [{ genesisBlockId: '2' }, 'STORE_NETWORK_MISMATCH', 'belongs to another network'],
  [{ nethash: '22'.repeat(32) }, 'STORE_NETWORK_MISMATCH', 'belongs to another network'],
  [{ networkIdentifier: '22'.repeat(32) }, 'STORE_NETWORK_MISMATCH', 'belongs to another network'],
  [{ generation: 2 }, 'STORE_GENERATION_MISMATCH', 'belongs to generation 3'],
] as const) {
  test(`a store is refused to a network with another ${Object.keys(change).join()}, and left unchanged`, async (t) => {
    await inFolder(async (directory) => {
      await (await openIn(directory)).close();
      const error = await t.throwsAsync(openIn(directory, paramsWith(change)), { instanceOf: ProtocolError, code });
      t.true(error?.message.includes(words));
      t.true(error?.message.includes(directory));
      t.regex(error?.message ?? '', /another data folder/);
      await (await openIn(directory)).close();
      t.pass('its own network can still open it');
    });
  });
}

const otherParams: readonly (readonly [change: Partial<ChainParams>, difference: string])[] = [
  [{ epochMs: 1 }, 'epochMs 1464109200000 instead of 1'],
  [{ blockTimeS: 10 }, 'blockTimeS 2 instead of 10'],
  [{ transactionsPerBlockMax: 24 }, 'transactionsPerBlockMax 25 instead of 24'],
  [{ rewards: { milestones: [1n], offset: 1, distance: 2 } }, 'rewards {"distance":3000000,'],
  [{ rewards: { ...paramsWith().rewards, offset: 2161 } }, '"offset":2160} instead of {'],
  [{ delegateListRoundOffset: 3 }, 'delegateListRoundOffset 2 instead of 3'],
  [{ communityIdentifier: 'A b' }, 'communityIdentifier "Test" instead of "A\\u0020b"'],
  [{ exceptions: { ...NO_EXCEPTIONS, votes: new Set(['5']) } }, 'exceptions sha256:'],
  [{ exceptions: { ...NO_EXCEPTIONS, blockVersions: new Map([[0, { start: 1, end: 2 }]]) } }, 'exceptions sha256:'],
];

for (const backend of BACKENDS) {
  test(`a ${backend} store is refused and left unchanged when named consensus parameters differ`, async (t) => {
    await inFolder(async (directory) => {
      const memory = new MemoryKeyValue();
      const open = async (params: ChainParams): Promise<void> => {
        if (backend === 'lmdb') await (await openIn(directory, params)).close();
        else chainStoreOver(memory, { codec: FAKE_CODEC, params }, directory);
      };
      await open(paramsWith());
      for (const [change, difference] of otherParams) {
        const error = await t.throwsAsync(open(paramsWith(change)), { code: 'STORE_PARAMS_MISMATCH' });
        t.true(error?.message.includes(difference), error?.message);
        t.true(error?.message.includes(directory));
        t.regex(error?.message ?? '', /Start it with the network folder that it was written with/);
      }
      await open(paramsWith());
    });
  });
}

test('sets and maps of exceptions are the same parameters in any order', async (t) => {
  const exceptions = (ids: readonly string[]): ChainParams['exceptions'] => ({
    ...NO_EXCEPTIONS,
    votes: new Set(ids),
    recipientLeadingZero: new Map(ids.map((id) => [id, `${id}L`])),
  });
  await inFolder(async (directory) => {
    await (await openIn(directory, paramsWith({ exceptions: exceptions(['1', '2']) }))).close();
    await (await openIn(directory, paramsWith({ exceptions: exceptions(['2', '1']) }))).close();
    await t.throwsAsync(openIn(directory, paramsWith({ exceptions: exceptions(['2', '1', '3']) })), {
      code: 'STORE_PARAMS_MISMATCH',
    });
  });
});

for (const [what, layout, advice] of [
  [
    'an older',
    FIRST_LAYOUT_READ - 1,
    /bloomery export FILE.*move the folder away.*bloomery import FILE.*snapshot.*download/,
  ],
  ['a newer', LAYOUT_VERSION + 1, /A newer version of the node has written it: run that version\.$/],
] as const) {
  test(`a store of ${what} layout is refused with both versions and advice, and left unchanged`, async (t) => {
    await inFolder(async (directory) => {
      await (await openIn(directory)).close();
      const raw = openLmdb(directory, true);
      raw.transact((writer) => writer.put(TABLES.meta.key('layout'), Buffer.from(String(layout))));
      await raw.close();
      const before = readFileSync(join(directory, 'data.mdb'));
      const error = await t.throwsAsync(openIn(directory), { code: 'STORE_LAYOUT_MISMATCH' });
      const message = error?.message ?? '';
      const versions = `has layout ${layout}, and this version of the node reads layouts ${FIRST_LAYOUT_READ} to ${LAYOUT_VERSION}; nothing was changed.`;
      t.true(message.startsWith(`The chain store in ${directory} ${versions}`), message);
      t.regex(message, advice);
      t.deepEqual(readFileSync(join(directory, 'data.mdb')), before);
    });
  });
}

const STATE_TABLE_NAMES = ['accounts', 'votes', 'delegates', 'roundLists', 'bftState', 'facts'] as const;
for (const table of STATE_TABLE_NAMES) {
  test(`a flipped bit in a value of ${table} is reported with the remedy when the store is opened`, async (t) => {
    await inFolder(async (directory) => {
      const store = await openIn(directory);
      followHistory(store, 60);
      await store.close();
      const raw = openLmdb(directory, false);
      const range = { gte: TABLES[table].start, lt: Buffer.from([(TABLES[table].start[0] ?? 0) + 1]) };
      const entry = [...raw.entries(range)].at(-1);
      t.truthy(entry, 'the history writes to the table');
      const value = Buffer.from(entry?.value ?? []);
      value[value.length - 1] = (value.at(-1) ?? 0) ^ 1;
      raw.transact((writer) => writer.put(entry?.key ?? Buffer.alloc(1), value));
      await raw.close();
      const error = await t.throwsAsync(openIn(directory), { code: 'STORE_DAMAGED' });
      t.regex(error?.message ?? '', /its state does not match its checksum.*bloomery verify.*Restore it from a backup/);
    });
  });
}

test('a store that was just checked is not checked again', async (t) => {
  await inFolder(async (directory) => {
    const store = await openIn(directory);
    followHistory(store, 60);
    await store.close();
    const raw = openLmdb(directory, false);
    const [first] = raw.entries(TABLES.accounts.all);
    raw.transact((writer) => writer.put(first?.key ?? Buffer.alloc(1), Buffer.from('other')));
    await raw.close();
    await (await openChainStore({ directory, codec: FAKE_CODEC, params: paramsWith(), isChecked: true })).close();
    await t.throwsAsync(openIn(directory), { code: 'STORE_DAMAGED' });
  });
});

test('a flipped bit in an undo record is found when the store is opened, and reported with the remedy', async (t) => {
  for (let height = 2; height <= 30; height += 7) {
    await inFolder(async (directory) => {
      const store = await openIn(directory);
      followHistory(store, 30);
      await store.close();
      const raw = openLmdb(directory, false);
      const key = TABLES.undo.key(height);
      const value = Buffer.from(raw.get(key) ?? []);
      const at = (height * 31) % value.length;
      value[at] = (value[at] ?? 0) ^ (1 << (height % 8));
      raw.transact((writer) => writer.put(key, value));
      await raw.close();
      const error = await t.throwsAsync(openIn(directory), { code: 'STORE_DAMAGED' });
      t.regex(
        error?.message ?? '',
        new RegExp(`block at height ${height} .*does not match its checksum.*Restore it from a backup`),
      );
    });
  }
});

test('a checksum lost or changed by a disk is reported like damage of the state', async (t) => {
  for (const damage of [undefined, Buffer.from('0123456789'), Buffer.alloc(3)]) {
    await inFolder(async (directory) => {
      const store = await openIn(directory);
      followHistory(store, 10);
      await store.close();
      const raw = openLmdb(directory, false);
      raw.transact((writer) => {
        if (damage === undefined) writer.remove(TABLES.meta.key('stateChecksum'));
        else writer.put(TABLES.meta.key('stateChecksum'), damage);
      });
      await raw.close();
      await t.throwsAsync(openIn(directory), { code: 'STORE_DAMAGED' });
    });
  }
});

test.serial(
  'on a full disk an open is refused before any mapping, even of an existing store, and leaves no file',
  async (t) => {
    await inFolder(async (directory) => {
      await (await openIn(join(directory, 'old'))).close();
      for (const name of ['new', 'old']) {
        limitFileSize(process.pid, 4096);
        try {
          const error = await t.throwsAsync(openIn(join(directory, name)), { code: 'STORE_WRITE_FAILED' });
          t.regex(error?.message ?? '', /cannot be written: .*Make room on its disk/);
        } finally {
          limitFileSize(process.pid, undefined);
        }
      }
      t.deepEqual(readdirSync(join(directory, 'new')), []);
      await (await openIn(join(directory, 'old'))).close();
      await (await openIn(join(directory, 'new'))).close();
    });
  },
);

test.serial(
  'after a write without room no further write starts until there is room, and then all writes continue',
  async (t) => {
    await inFolder(async (directory) => {
      const keys = openLmdb(directory, true);
      const key = TABLES.notes.start;
      keys.transact((writer) => writer.put(key, Buffer.from('before')));
      const write = (value: Buffer): boolean => {
        let isAsked = false;
        keys.transact((writer) => {
          isAsked = true;
          writer.put(key, value);
        });
        return isAsked;
      };
      limitFileSize(process.pid, statSync(join(directory, 'data.mdb')).size);
      try {
        t.throws(() => write(Buffer.alloc(1_000_000)), { code: 'STORE_WRITE_FAILED' });
        let isAsked = false;
        const error = t.throws(() => keys.transact(() => (isAsked = true)), { code: 'STORE_WRITE_FAILED' });
        t.regex(error?.message ?? '', /could not be written: .*Check the free space/);
        t.false(isAsked);
        t.deepEqual(keys.get(key), Buffer.from('before'));
      } finally {
        limitFileSize(process.pid, undefined);
      }
      t.true(write(Buffer.from('after')));
      t.deepEqual(keys.get(key), Buffer.from('after'));
      t.deepEqual(
        readdirSync(directory).filter((name) => name.startsWith('.room')),
        [],
      );
      await keys.close();
    });
  },
);

test('a database of another program is refused', async (t) => {
  await inFolder(async (directory) => {
    const raw = openLmdb(directory, true);
    raw.transact((writer) => writer.put(TABLES.notes.start, Buffer.from('x')));
    await raw.close();
    const error = await t.throwsAsync(openIn(directory), { code: 'STORE_UNREADABLE' });
    t.regex(error?.message ?? '', /is not a chain store/);
  });
});

for (const [what, damage] of [
  ['a text instead of a database', (file: string) => writeFileSync(file, 'no database\n'.repeat(1000))],
  ['a short text instead of a database', (file: string) => writeFileSync(file, 'x')],
  ['a database that was cut off', (file: string) => truncateSync(file, 6000)],
  ['a database that lost its end', (file: string) => truncateSync(file, 5 * 4096)],
  ['zeros instead of a database', (file: string) => writeFileSync(file, Buffer.alloc(16_384))],
] as const) {
  test(`${what} is refused and left unchanged`, async (t) => {
    await inFolder(async (directory) => {
      const store = await openIn(directory);
      followHistory(store, 30);
      await store.close();
      const file = join(directory, 'data.mdb');
      damage(file);
      const before = readFileSync(file);
      const error = await t.throwsAsync(openIn(directory), { instanceOf: ProtocolError, code: 'STORE_UNREADABLE' });
      t.true(error?.message.includes(directory));
      const options = { directory, codec: FAKE_CODEC, params: paramsWith() };
      await t.throwsAsync(openChainSnapshot(options), { code: 'STORE_UNREADABLE', message: error?.message ?? '' });
      await t.throwsAsync(copyStore(directory, `${directory}-copy`), { code: 'STORE_UNREADABLE' });
      t.deepEqual(readFileSync(file), before);
    });
  });
}

test('an empty data file, left by a kill at the first start, counts as no store', async (t) => {
  await inFolder(async (directory) => {
    writeFileSync(join(directory, 'data.mdb'), '');
    const options = { directory, codec: FAKE_CODEC, params: paramsWith() };
    await t.throwsAsync(openChainSnapshot(options), { code: 'STORE_MISSING' });
    await t.throwsAsync(copyStore(directory, `${directory}-copy`), { code: 'STORE_MISSING' });
    t.false(existsSync(`${directory}-copy`));
    const store = await openIn(directory);
    t.is(store.tip(), undefined);
    await store.close();
  });
});

test('a file in the place of the store folder is refused', async (t) => {
  await inFolder(async (parent) => {
    const directory = join(parent, 'chain');
    writeFileSync(directory, '');
    const error = await t.throwsAsync(openIn(directory), { code: 'STORE_UNREADABLE' });
    t.regex(error?.message ?? '', /is a file, not a folder/);
  });
});

test('when nothing may be created, a missing store is reported and nothing is created', async (t) => {
  await inFolder(async (parent) => {
    const directory = join(parent, 'chain');
    const params = paramsWith();
    await t.throwsAsync(openChainStore({ directory, codec: FAKE_CODEC, params, create: false }), {
      code: 'STORE_MISSING',
    });
    t.false(existsSync(directory));
  });
});

test('a store can be opened only once at a time', async (t) => {
  await inFolder(async (directory) => {
    const store = await openIn(directory);
    const error = await t.throwsAsync(openIn(directory), { code: 'STORE_IN_USE' });
    t.regex(error?.message ?? '', new RegExp(`in use by process ${process.pid}\\b`));
    store.transact((writer) => writer.append(fakeBlock(undefined, []), () => undefined));
    await store.close();
    await (await openIn(directory)).close();
    t.deepEqual(
      readdirSync(directory).filter((name) => name.startsWith('in-use')),
      [],
    );
  });
});

test('a store that a node in another container has open can be neither read nor written here', async (t) => {
  await inFolder(async (directory) => {
    const options = { directory, codec: FAKE_CODEC, params: paramsWith(), clock: systemClock };
    await (await openChainStore(options)).close();
    const other = lockElsewhere(directory, 'in-use');
    const error = await t.throwsAsync(openChainSnapshot(options), { code: 'STORE_IN_USE_ELSEWHERE' });
    t.regex(
      error?.message ?? '',
      /is in use by process \d+ of another container .*: run the command in that container\.$/,
    );
    await t.throwsAsync(copyStore(directory, `${directory}-copy`, systemClock), { code: 'STORE_IN_USE_ELSEWHERE' });
    const refused = await t.throwsAsync(openChainStore(options), { code: 'STORE_IN_USE' });
    t.regex(refused?.message ?? '', /in use by process \d+ of another container/);
    rmSync(other);
    await (await openIn(directory)).close();
  });
});

test('without write access a store can be read only while nobody has it open', async (t) => {
  await inFolder(async (directory) => {
    const readOnly = (path: string): void => {
      throw Object.assign(new Error(`EROFS: read-only file system, access '${path}'`), { code: 'EROFS' });
    };
    const store = await openIn(directory);
    const error = t.throws(() => openForReading(directory, undefined, { access: readOnly }), {
      code: 'STORE_IN_USE_ELSEWHERE',
    });
    t.is(
      error.message,
      `The chain store in ${directory} is in use by process ${process.pid}, and its files cannot be written from here, so ` +
        'that process could overwrite pages during the read. Run the command in a place where the files can be written, or ' +
        'after that process has ended.',
    );
    await store.close();
    writeFileSync(join(directory, 'in-use.4194399.abcdef01-5'), '');
    await closeInTurn(openForReading(directory, undefined, { access: readOnly }), directory);
  });
});

test('a store whose lock another process took as stale is not written any more', async (t) => {
  await inFolder(async (directory) => {
    const keys = openLmdb(directory, true);
    const write = (): void => keys.transact((writer) => writer.put(Buffer.from('key'), Buffer.from('value')));
    write();
    const before = readFileSync(join(directory, 'data.mdb'));
    for (const name of readdirSync(directory)) if (name.startsWith('in-use')) rmSync(join(directory, name));
    const error = t.throws(write, { code: 'STORE_TAKEN_OVER' });
    t.regex(error?.message ?? '', /the lock of this process is gone/);
    t.deepEqual(readFileSync(join(directory, 'data.mdb')), before);
    await keys.close();
  });
});

test('lock files of dead processes, or of another process with the same number, keep no node out', async (t) => {
  await inFolder(async (directory) => {
    for (const lockFile of [
      'in-use.4194399.abcdef01-5',
      `in-use.${process.pid}.abcdef01-5`,
      `in-use.${process.ppid}.unknown`,
    ]) {
      writeFileSync(join(directory, lockFile), '');
    }
    const store = await openIn(directory);
    t.is(readdirSync(directory).filter((name) => name.startsWith('in-use')).length, 1);
    await store.close();
  });
});

for (const [file, canRead] of [
  ['data.mdb', true],
  ['lock.mdb', false],
] as const) {
  test(`a store whose ${file} is another user's is refused with a remedy`, async (t) => {
    await inFolder(async (parent) => {
      // The process `other-user.js` may change to another user, who must be able to enter the folder.
      chmodSync(parent, 0o755);
      const directory = join(parent, 'chain');
      const { stdout } = await promisify(execFile)(process.execPath, [OTHER_USER, directory, file]);
      const refusal =
        `STORE_NOT_ALLOWED: The chain store in ${directory} cannot be opened: this user may not write to ` +
        `${join(directory, file)}. Run the command as the user that runs the node, or give that user the folder and all in it (chown).\n`;
      t.is(stdout, `${canRead ? 'value\n' : refusal}${refusal}`);
    });
  });
}

test('a store in a folder that only another user may write can be read, but not written', async (t) => {
  await inFolder(async (parent) => {
    chmodSync(parent, 0o755);
    const directory = join(parent, 'chain');
    const { stdout } = await promisify(execFile)(process.execPath, [OTHER_USER, directory, 'new']);
    chmodSync(directory, 0o755);
    t.is(
      stdout,
      `value\nSTORE_NOT_ALLOWED: The chain store in ${directory} cannot be opened: this user may not write to ${directory}. ` +
        'Run the command as the user that runs the node, or give that user the folder and all in it (chown).\n',
    );
  });
});

test('without write access or room a write to a store is refused with that reason', (t) => {
  const outcomes = ['EROFS', 'ENOSPC', 'EACCES', 'EIO'].map((code) => {
    const { message, ...error } = refusalToWrite('/data', Object.assign(new Error(`${code}: said`), { code }));
    return `${error.code}: ${message}`;
  });
  t.deepEqual(outcomes, [
    'STORE_NOT_ALLOWED: The chain store in /data cannot be written to: its file system is read-only. Mount it for writing, or ' +
      'give this node another data folder.',
    'STORE_WRITE_FAILED: The chain store in /data cannot be written: ENOSPC: said. Make room on its disk, or give this node ' +
      'another data folder.',
    'STORE_NOT_ALLOWED: The chain store in /data cannot be opened: this user may not write to /data. Run the command as the ' +
      'user that runs the node, or give that user the folder and all in it (chown).',
    'STORE_WRITE_FAILED: The chain store in /data cannot be written: EIO: said. Check the health of its disk, or give this ' +
      'node another data folder.',
  ]);
});

test("a store in another user's folder is reported neither as missing nor as damaged", async (t) => {
  await inFolder(async (parent) => {
    chmodSync(parent, 0o755);
    const directory = join(parent, 'chain');
    const { stdout } = await promisify(execFile)(process.execPath, [OTHER_USER, directory, '.']);
    chmodSync(directory, 0o755);
    const refusal =
      `STORE_NOT_ALLOWED: The chain store in ${directory} cannot be opened: this user may not read ` +
      `${join(directory, 'data.mdb')}. Run the command as the user that runs the node, or give that user the folder and all in it (chown).\n`;
    t.is(stdout, `${refusal}${refusal}`);
  });
});

test('a folder in the place of the lock file is refused', async (t) => {
  await inFolder(async (directory) => {
    await (await openIn(directory)).close();
    rmSync(join(directory, 'lock.mdb'));
    mkdirSync(join(directory, 'lock.mdb'));
    const error = await t.throwsAsync(openIn(directory), { code: 'STORE_UNREADABLE' });
    t.regex(error?.message ?? '', /lock\.mdb is not a file/);
  });
});

for (const [about, target] of [
  ['to itself', 'lock.mdb'],
  ['to nowhere', '/nonexistent/x'],
  ['to a name that is too long', 'x'.repeat(300)],
  ['into a file', 'data.mdb/x'],
] as const) {
  test(`a lock file that is a link ${about} is refused with a plain error, to readers and writers`, async (t) => {
    await inFolder(async (directory) => {
      await (await openIn(directory)).close();
      rmSync(join(directory, 'lock.mdb'));
      symlinkSync(target, join(directory, 'lock.mdb'));
      const message = /lock\.mdb|ELOOP|ENAMETOOLONG|ENOTDIR/;
      t.throws(() => openForReading(directory), { instanceOf: ProtocolError, message });
      await t.throwsAsync(openIn(directory), { instanceOf: ProtocolError, message });
    });
  });
}

test('a store without its lock file is read and written, and nothing else is left in its folder', async (t) => {
  await inFolder(async (directory) => {
    await (await openIn(directory)).close();
    const before = readdirSync(directory).sort();
    rmSync(join(directory, 'lock.mdb'));
    await closeInTurn(openForReading(directory), directory);
    t.deepEqual(readdirSync(directory).sort(), before);
    rmSync(join(directory, 'lock.mdb'));
    await (await openIn(directory)).close();
    t.deepEqual(readdirSync(directory).sort(), before);
    t.true(statSync(join(directory, 'lock.mdb')).blocks > 0, 'its pages are there before they are written to');
  });
});

test('a store opens although a killed process with the same process id left its draft of the lock file', async (t) => {
  await inFolder(async (directory) => {
    await (await openIn(directory)).close();
    const before = readdirSync(directory).sort();
    rmSync(join(directory, 'lock.mdb'));
    writeFileSync(join(directory, `lock.mdb.${process.pid}.new`), 'x');
    await (await openIn(directory)).close();
    t.deepEqual(readdirSync(directory).sort(), before);
    t.true(statSync(join(directory, 'lock.mdb')).size > 1);
  });
});

test('two folders that share a store file by a hard link cannot be opened until each folder has its own file', async (t) => {
  await inFolder(async (directory) => {
    const [own, linked] = [join(directory, 'own'), join(directory, 'linked')];
    const store = await openIn(own);
    mkdirSync(linked);
    for (const name of ['data.mdb', 'lock.mdb']) linkSync(join(own, name), join(linked, name));
    const error = await t.throwsAsync(openIn(linked), { code: 'STORE_SHARED' });
    t.regex(error.message, /shares its file with another folder, .*: cp \S+data\.mdb \S+data\.mdb\.own, then mv/);
    await store.close();
    await t.throwsAsync(openIn(own), { code: 'STORE_SHARED' });
    t.deepEqual(readdirSync(linked), ['data.mdb', 'lock.mdb'], 'no lock file is left behind');
    // Apply the remedy of the error message.
    copyFileSync(join(linked, 'data.mdb'), join(linked, 'data.mdb.own'));
    renameSync(join(linked, 'data.mdb.own'), join(linked, 'data.mdb'));
    const stores = [await openIn(own), await openIn(linked)];
    for (const each of stores) await each.close();
  });
});

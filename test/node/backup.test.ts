import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import test from 'ava';
import { addressOf } from '../../src/crypto/keys.ts';
import { backUp, createSnapshot, restoreSnapshot } from '../../src/node/backup.ts';
import type { CopyProgress } from '../../src/node/copy-progress.ts';
import { chainDirectory, openChain, openSnapshot, type ChainLocation } from '../../src/node/chain-tool.ts';
import { hexOf } from '../../src/primitives/bytes.ts';
import type { KeyValueWriter } from '../../src/store/tables/key-value.ts';
import { LAYOUT_VERSION, STATE_RANGE, TABLES } from '../../src/store/tables/layout.ts';
import { openLmdb } from '../../src/store/disk/lmdb.ts';
import { FIRST_LAYOUT_READ } from '../../src/store/chain/upgrade.ts';
import { madeChain, locationIn, storeChain } from '../support/chain-folder.ts';
import { makeNetwork } from '../support/chain-maker.ts';
import { recordFlushSteps } from '../support/flush-steps.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { makeOlder } from '../store/older-layouts.ts';

const HEIGHT = 130;
const { network, blocks } = madeChain(HEIGHT + 1);

test('a backup can be taken while the chain is written to, and a node can start from it', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(join(folder, 'data'), network);
  const digest = await storeChain(place, blocks.slice(0, HEIGHT));
  const running = await openChain(place, false);
  t.teardown(() => running.close());
  const copied = await backUp(place, join(folder, 'copy'));
  t.deepEqual(copied, { height: HEIGHT, blockId: blocks[HEIGHT - 1]?.id ?? '', digest });
  await running.chain.append(blocks.slice(HEIGHT));

  const copy = locationIn(join(folder, 'copy'), network);
  const restored = await openChain(copy, false);
  t.is(restored.chain.tip.header.height, HEIGHT);
  await restored.chain.append(blocks.slice(HEIGHT));
  t.is(restored.store.stateDigest(), running.store.stateDigest());
  await restored.close();
  t.deepEqual(readdirSync(copy.dataDirectory).sort(), ['backup.json', 'chain']);
});

test('a backup replaces no file, and leaves nothing behind when it fails', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(join(folder, 'data'), network);
  await t.throwsAsync(backUp(place, join(folder, 'copy')), { code: 'STORE_MISSING' });
  t.deepEqual(existsSync(join(folder, 'copy')) ? readdirSync(join(folder, 'copy')) : [], []);
  await storeChain(place, blocks.slice(0, 5));
  await backUp(place, join(folder, 'copy'));
  await t.throwsAsync(backUp(place, join(folder, 'copy')), { code: 'BACKUP_EXISTS' });
});

test('a snapshot contains the chain and its state, and a restore verifies both', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(join(folder, 'data'), network);
  const digest = await storeChain(place, blocks.slice(0, HEIGHT));
  const file = join(folder, 'chain.snapshot');
  const created = await createSnapshot(place, file);
  t.is(created.digest, digest);
  t.deepEqual(readdirSync(folder).sort(), ['chain.snapshot', 'data']);
  for (const [name, options] of [
    ['all', {}],
    ['trusted', { trustedDigest: digest }],
  ] as const) {
    const target = locationIn(join(folder, name), network);
    t.deepEqual(await restoreSnapshot(file, target, options), created);
    t.deepEqual(readdirSync(target.dataDirectory), ['chain']);
    const restored = await openChain(target, false);
    await restored.chain.append(blocks.slice(HEIGHT));
    t.is(restored.chain.tip.header.height, HEIGHT + 1);
    await restored.close();
  }
  await t.throwsAsync(restoreSnapshot(file, locationIn(join(folder, 'all'), network)), { code: 'RESTORE_EXISTS' });
});

/** Changes a store directly in its database, without the node's checks. */
async function rewrite(place: ChainLocation, work: (writer: KeyValueWriter) => void): Promise<void> {
  const keys = openLmdb(chainDirectory(place), false);
  keys.transact(work);
  await keys.close();
}

test.serial(
  'copies are on the disk before they get their names, and the names are on the disk at the end',
  async (t) => {
    const folder = temporaryFolder(t);
    const place = locationIn(join(folder, 'data'), network);
    await storeChain(place, blocks.slice(0, HEIGHT));
    const steps = recordFlushSteps(t, folder);
    const file = join(folder, 'chain.snapshot');
    await backUp(place, join(folder, 'backups'));
    await createSnapshot(place, file);
    await restoreSnapshot(file, locationIn(join(folder, 'restored'), network));
    t.deepEqual(
      steps.filter((step) => !/\.space\.|\.copy/.test(step)),
      [
        'flush backups/.made.part/chain/data.mdb',
        'flush backups/.made.part/chain',
        'flush backups/.made.part/backup.json',
        'flush backups/.made.part',
        'rename backups/made',
        'flush backups',
        'flush chain.snapshot.part',
        'rename chain.snapshot',
        'flush .',
        'flush restored/made/.restore/chain/data.mdb',
        'flush restored/made/.restore/chain',
        'rename restored/made/chain',
        'flush restored/made',
      ],
    );
  },
);

test('a snapshot of an unsupported layout is refused with the supported layouts', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(join(folder, 'data'), network);
  await storeChain(place, blocks.slice(0, HEIGHT));
  const file = join(folder, 'chain.snapshot');
  await createSnapshot(place, file);
  const [now, before] = [`"layout":${LAYOUT_VERSION}`, `"layout":${FIRST_LAYOUT_READ - 1}`];
  const older = gunzipSync(readFileSync(file)).toString('latin1').replace(now, before);
  writeFileSync(file, gzipSync(Buffer.from(older, 'latin1')));
  await t.throwsAsync(restoreSnapshot(file, locationIn(join(folder, 'restored'), network)), {
    message: new RegExp(
      `layout is ${FIRST_LAYOUT_READ - 1}, .* reads layouts ${FIRST_LAYOUT_READ} to ${LAYOUT_VERSION}`,
    ),
  });
});

test('a snapshot of a store of an earlier layout states this layout, and is restored', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(join(folder, 'data'), network);
  const digest = await storeChain(place, blocks.slice(0, HEIGHT));
  const keys = openLmdb(chainDirectory(place), false);
  makeOlder(keys, '6');
  await keys.close();
  const file = join(folder, 'chain.snapshot');
  await createSnapshot(place, file);
  const [manifest = ''] = gunzipSync(readFileSync(file)).toString('latin1').split('\n', 1);
  t.is((JSON.parse(manifest) as { layout?: number }).layout, 6);
  const target = locationIn(join(folder, 'restored'), network);
  t.is((await restoreSnapshot(file, target)).digest, digest);
  const restored = await openChain(target, false);
  await restored.chain.append(blocks.slice(HEIGHT));
  t.is(restored.chain.tip.header.height, HEIGHT + 1);
  await restored.close();
});

test('a state with a flipped byte is not copied, and nothing is left behind', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(join(folder, 'data'), network);
  await storeChain(place, blocks.slice(0, 20));
  await rewrite(place, (writer) => {
    const [entry] = writer.entries({ ...STATE_RANGE, limit: 1 });
    if (entry === undefined) throw new Error('there is no state');
    const value = Buffer.from(entry.value);
    value[1] = (value[1] ?? 0) ^ 1;
    writer.put(entry.key, value);
  });
  const damaged = { code: 'STORE_DAMAGED', message: new RegExp(`in ${chainDirectory(place)} is damaged: its state`) };
  await t.throwsAsync(backUp(place, join(folder, 'copy')), damaged);
  await t.throwsAsync(createSnapshot(place, join(folder, 'chain.snapshot')), damaged);
  t.deepEqual(
    readdirSync(folder).filter((name) => name !== 'copy'),
    ['data'],
  );
  t.deepEqual(existsSync(join(folder, 'copy')) ? readdirSync(join(folder, 'copy')) : [], []);
});

test('a snapshot does not replace a device, a pipe or a folder', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(join(folder, 'data'), network);
  await storeChain(place, blocks.slice(0, 5));
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  mkdirSync(join(folder, 'place'));
  for (const file of [pipe, join(folder, 'place')]) {
    const error = await t.throwsAsync(createSnapshot(place, file), { code: 'SNAPSHOT_UNWRITABLE' });
    t.regex(error.message, /is not a regular file/);
  }
  t.true(statSync(pipe).isFIFO());
  t.deepEqual(readdirSync(folder).sort(), ['data', 'pipe', 'place']);
});

test('a snapshot with any deviation is refused with the reason, and nothing of it stays', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(join(folder, 'data'), network);
  await storeChain(place, blocks.slice(0, HEIGHT));
  const file = join(folder, 'chain.snapshot');
  const { digest } = await createSnapshot(place, file);
  const good = gunzipSync(readFileSync(file));
  const dataAt = good.indexOf('\n') + 1;
  const manifest = JSON.parse(good.subarray(0, dataAt).toString('utf8')) as Record<string, unknown>;
  const bad = join(folder, 'bad.snapshot');
  const target = locationIn(join(folder, 'target'), network);
  const refused = async (bytes: Buffer, message: RegExp, options = {}): Promise<void> => {
    writeFileSync(bad, bytes);
    await t.throwsAsync(restoreSnapshot(bad, target, options), { code: 'SNAPSHOT_REFUSED', message });
    t.false(existsSync(chainDirectory(target)), String(message));
    t.deepEqual(existsSync(target.dataDirectory) ? readdirSync(target.dataDirectory) : [], []);
  };
  const withManifest = (changes: object): Buffer =>
    Buffer.concat([Buffer.from(`${JSON.stringify({ ...manifest, ...changes })}\n`), good.subarray(dataAt)]);

  await refused(Buffer.from('no snapshot'), /it is not a snapshot: it does not begin as a snapshot does/);
  await refused(gzipSync('no snapshot'), /does not begin as a snapshot does/);
  await refused(gzipSync(withManifest({ nethash: 'ff' })), /another network/);
  await refused(gzipSync(withManifest({ layout: 1 })), /its layout is 1/);
  await refused(gzipSync(withManifest({ height: 7 })), /its manifest has height 7, but its chain has 130/);
  await refused(gzipSync(good.subarray(0, good.length - 10)), /cut off/);
  await refused(gzipSync(Buffer.concat([good, Buffer.from('x')])), /something follows its end/);
  await refused(readFileSync(file).subarray(0, 5000), /unexpected end of file/);
  await refused(readFileSync(file), /its state has the digest/, {
    trustedDigest: digest.replace(/^./, (c) => (c === 'a' ? 'b' : 'a')),
  });

  // Change one bit of a balance, so that the state contradicts the blocks.
  const [account] = network.accounts;
  if (account === undefined) return t.fail();
  const corrupted = Buffer.from(good);
  const key = Buffer.from([TABLES.accounts.number, ...Buffer.from(addressOf(hexOf(account.publicKey)))]);
  const at = corrupted.indexOf(key, dataAt);
  t.true(at > 0);
  const valueAt = at + key.length + 4;
  corrupted[valueAt + 2] = (corrupted[valueAt + 2] ?? 0) ^ 1;
  await refused(gzipSync(corrupted), /says digest|holds a wrong value|cannot be/);
});

test('a snapshot is unpacked in linear time, and refused when it unpacks to over 100 times its size', async (t) => {
  const folder = temporaryFolder(t);
  const head = Buffer.from(
    `${JSON.stringify({ format: 'bloomery-snapshot-1', nethash: network.params.nethash, layout: LAYOUT_VERSION, network: 'x' })}\n`,
  );
  const value = Buffer.alloc(16 * 1024 * 1024);
  const entry = (index: number): Buffer => {
    const sizes = Buffer.alloc(10);
    sizes.writeUInt16BE(4, 0);
    sizes.writeUInt32BE(0x01000000 + index, 2);
    sizes.writeUInt32BE(value.length, 6);
    return Buffer.concat([sizes, value]);
  };
  const file = join(folder, 'large.snapshot');
  const restore = async (entries: number): Promise<{ readonly message: string; readonly cpuMs: number }> => {
    const parts = [head, ...Array.from({ length: entries }, (_, index) => entry(index)), Buffer.alloc(2)];
    writeFileSync(file, gzipSync(Buffer.concat(parts), { level: 1 }));
    const before = process.cpuUsage();
    const error = await t.throwsAsync(restoreSnapshot(file, locationIn(join(folder, 'data'), network)));
    const { user, system } = process.cpuUsage(before);
    return { message: error?.message ?? '', cpuMs: (user + system) / 1000 };
  };
  const few = await restore(4);
  const many = await restore(12);
  t.notRegex(few.message, /unpacks to more/);
  // The second snapshot has three times as many bytes as the first. A restore that joined all bytes again at each chunk
  // would need far more than three times the processor time.
  t.true(many.cpuMs < 1000 + 8 * few.cpuMs, `${few.cpuMs} ms, then ${many.cpuMs} ms`);
  t.regex((await restore(40)).message, /it unpacks to more than 100 times its size/);
});

test('a missing snapshot is refused with its name and a remedy', async (t) => {
  const folder = temporaryFolder(t);
  const error = await t.throwsAsync(restoreSnapshot(join(folder, 'none'), locationIn(join(folder, 'data'), network)), {
    code: 'SNAPSHOT_UNREADABLE',
  });
  t.false(existsSync(join(folder, 'data')));
  t.is(error?.message, `${join(folder, 'none')} is refused: there is no such file: correct its path`);
});

test('a snapshot of another network is refused', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(join(folder, 'data'), network);
  await storeChain(place, blocks.slice(0, 5));
  await createSnapshot(place, join(folder, 'chain.snapshot'));
  const other = makeNetwork();
  const target = locationIn(join(folder, 'target'), {
    ...other,
    params: { ...other.params, nethash: 'aa'.repeat(32) },
  });
  await t.throwsAsync(restoreSnapshot(join(folder, 'chain.snapshot'), target), { message: /another network/ });
  const { store } = await openSnapshot(place);
  t.is(store.tip()?.height, 5);
  await store.close();
});

test('a backup and a snapshot report their steps in order, with fractions between 0 and 1', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(join(folder, 'data'), network);
  await storeChain(place, blocks.slice(0, HEIGHT));
  const steps: string[] = [];
  const record = ({ step, fraction }: CopyProgress): void => {
    if (steps.at(-1) !== step) steps.push(step);
    t.true(fraction === undefined || (fraction >= 0 && fraction <= 1), `${fraction}`);
  };
  await backUp(place, join(folder, 'noted'), record);
  t.deepEqual(
    steps.filter((step) => step !== 'copying the chain'),
    ['checking the copy'],
  );
  steps.length = 0;
  await createSnapshot(place, join(folder, 'noted.snapshot'), record);
  t.deepEqual(
    steps.filter((step) => step !== 'copying the chain'),
    ['checking the copy', 'writing the snapshot'],
  );
});

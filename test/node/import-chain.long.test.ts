import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { openChainFile } from '../../src/node/chain-file.ts';
import {
  chainDirectory,
  openChain,
  openScratchChain,
  openSnapshot,
  type ChainLocation,
} from '../../src/node/chain-tool.ts';
import { exportChain } from '../../src/node/export-chain.ts';
import type { NetworkNames } from '../../src/node/foreign-chain.ts';
import { importChain, type ImportProgress } from '../../src/node/import-chain.ts';
import type { IndexBackfill } from '../../src/node/index-backfill.ts';
import { systemClock } from '../../src/node/system.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { lineOfBlock } from '../../src/protocol/block/block-line.ts';
import type { StoredChain } from '../../src/store/chain/stored-chain.ts';
import { madeChain, locationIn, storeChain } from '../support/chain-folder.ts';
import { makeNetwork, withPayload } from '../support/chain-maker.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const HEIGHT = 120;
const { maker, network, blocks } = madeChain(HEIGHT);
const lines = blocks.map((block) => lineOfBlock(block, maker.rules.codec));

interface Ending {
  readonly height: number;
  readonly digest: string;
  readonly progress?: ImportProgress;
  readonly error?: ProtocolError;
}

/**
 * Imports a file into the chain of a data folder. Returns the height and the digest of the state after the import. Also
 * returns the progress of a successful import, or the error that refused the import.
 */
async function run(
  place: ChainLocation,
  file: string,
  indexesOf: (store: StoredChain) => IndexBackfill = (store) => store,
  networks?: NetworkNames,
): Promise<Ending> {
  const { chain, store, genesis, close } = await openChain(place, true);
  try {
    const indexes = indexesOf(store);
    const named = networks === undefined ? {} : { networks };
    const outcome = await importChain({ chain, indexes, genesis, file: openChainFile(file), ...named }).then(
      (progress) => ({ progress }),
      (error: unknown) => {
        if (error instanceof ProtocolError) return { error };
        throw error;
      },
    );
    return { height: chain.tip.header.height, digest: store.stateDigest(), ...outcome };
  } finally {
    await close();
  }
}

function fileOf(t: ExecutionContext, content: readonly string[]): { file: string; place: ChainLocation } {
  const folder = temporaryFolder(t);
  const file = join(folder, 'chain.ndjson');
  writeFileSync(file, content.map((line) => `${line}\n`).join(''));
  return { file, place: locationIn(join(folder, 'data'), network) };
}

test('an exported chain is imported with the same digest, plain and compressed', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(join(folder, 'origin'), network);
  const digest = await storeChain(place, blocks);
  const { store, rules } = await openSnapshot(place);
  for (const name of ['chain.ndjson', 'chain.ndjson.gz']) {
    const file = join(folder, name);
    await exportChain({ chain: store, codec: rules.codec, from: 1, to: HEIGHT, file });
    const ending = await run(locationIn(join(folder, `copy-${name}`), network), file);
    t.is(ending.error, undefined);
    t.is(ending.height, HEIGHT);
    t.is(ending.digest, digest);
    t.deepEqual(ending.progress, { height: HEIGHT, blocks: HEIGHT - 1, transactions: 39, wasStopped: false });
  }
  await store.close();
});

test('an export to a pipe or a device writes through it and does not replace it', async (t) => {
  const folder = temporaryFolder(t);
  const origin = locationIn(join(folder, 'origin'), network);
  await storeChain(origin, blocks);
  const { store, rules } = await openSnapshot(origin);
  const file = join(folder, 'pipe');
  execFileSync('mkfifo', [file]);
  const reader = createReadStream(file);
  const chunks: Buffer[] = [];
  reader.on('data', (chunk) => chunks.push(chunk as Buffer));
  const read = once(reader, 'end');
  await exportChain({ chain: store, codec: rules.codec, from: 1, to: HEIGHT, file });
  await store.close();
  t.true(statSync(file).isFIFO());
  await read;
  t.is(Buffer.concat(chunks).toString('utf8').split('\n').length, HEIGHT + 1);
  t.deepEqual(readdirSync(folder).sort(), ['origin', 'pipe']);
});

test('the refusal of a block that is ahead of the clock says so', async (t) => {
  const { file } = fileOf(t, lines);
  const slow: Clock = { ...systemClock, nowMs: () => network.params.epochMs };
  const { chain, store, genesis, close } = await openScratchChain(locationIn(temporaryFolder(t), network), slow);
  t.teardown(close);
  await t.throwsAsync(importChain({ chain, indexes: store, genesis, file: openChainFile(file) }), {
    code: 'IMPORT_REFUSED',
    message: /BLOCK_TIMESTAMP_INVALID.*: the block is ahead of this machine's clock: .*; the chain ends at height 1$/,
  });
});

test('an empty file is refused', async (t) => {
  const { file, place } = fileOf(t, []);
  const { error, height } = await run(place, file);
  t.is(error?.code, 'CHAIN_FILE_UNREADABLE');
  t.regex(error?.message ?? '', /chain\.ndjson contains no blocks; the chain ends at height 1$/);
  t.is(height, 1);
});

test('an export in parts is imported part by part, and known blocks are skipped', async (t) => {
  const folder = temporaryFolder(t);
  const origin = locationIn(join(folder, 'origin'), network);
  const digest = await storeChain(origin, blocks);
  const { store, rules } = await openSnapshot(origin);
  const place = locationIn(join(folder, 'copy'), network);
  const part = async (from: number, to: number): Promise<Ending> => {
    const file = join(folder, `${from}.gz`);
    await exportChain({ chain: store, codec: rules.codec, from, to, file });
    return run(place, file);
  };
  t.is((await part(2, 50)).height, 50);
  t.is((await part(40, 80)).progress?.blocks, 30);
  const gap = await part(82, 90);
  t.regex(gap.error?.message ?? '', /at height 82 is refused: a file for this chain begins at height 81 or below/);
  t.is(gap.height, 80);
  const last = await part(1, HEIGHT);
  t.is(last.digest, digest);
  t.is(last.progress?.blocks, 40);
  await store.close();
});

/** Finds the part of a line that matches the pattern, and changes the last character of this part. */
function flipped(line: string, pattern: RegExp): string {
  return line.replace(pattern, (match: string) => {
    const last = match.at(-1) ?? '';
    return `${match.slice(0, -1)}${/[0-9]/.test(last) ? (Number(last) + 1) % 10 : last === 'a' ? 'b' : 'a'}`;
  });
}

const FLIPS: readonly (readonly [string, number, RegExp, RegExp])[] = [
  ['a block signature', 60, /"blockSignature":"[0-9a-f]{9}/, /Invalid block signature \(BLOCK_SIGNATURE_INVALID\)/],
  ['a timestamp', 57, /"timestamp":[0-9]/, /Invalid block signature/],
  ['a previous id', 35, /"previousBlockId":"[0-9]{9}/, /Invalid block signature/],
  ['a height', 101, /"height":[0-9]/, /Invalid block signature/],
  [
    "a transaction's signature",
    70,
    /"signature":"[0-9a-f]/,
    /Failed to validate signature .*BLOCK_TRANSACTION_INVALID/,
  ],
  ['an amount', 80, /"amount":"[0-9]/, /Failed to validate signature/],
  ['a fee', 90, /"fee":"[0-9]/, /'\.transactions\[0\]\.fee' should be "10000000"/],
  ["a block's id", 34, /"id":"[0-9](?=[0-9]*"}$)/, /'\.id' should be/],
  ['a name of a member', 36, /"reward/, /'\.rewara' is unknown|BLOCK_/],
  ['the shape', 119, /"version":2,/, /it is not JSON/],
];

for (const [what, height, pattern, reason] of FLIPS) {
  test(`a file with one wrong byte in ${what} is refused at its line, and the blocks before are kept`, async (t) => {
    const content = [...lines];
    const line = content[height - 1] ?? '';
    content[height - 1] = flipped(line, pattern);
    t.not(content[height - 1], line);
    const { file, place } = fileOf(t, content);
    const { error, height: reached, digest } = await run(place, file);
    t.is(error?.code, 'IMPORT_REFUSED');
    t.regex(error?.message ?? '', new RegExp(`, line ${height}: block( [0-9]+)? at height ${height} is refused: `));
    t.regex(error?.message ?? '', reason);
    t.is(reached, height - 1);
    t.is(digest, await storeChain(locationIn(temporaryFolder(t), network), blocks.slice(0, height - 1)));
  });
}

test('when two blocks are invalid, the import names the first, whatever their faults', async (t) => {
  const content = [...lines];
  content[39] = flipped(content[39] ?? '', /"blockSignature":"[0-9a-f]/);
  content[41] = '{';
  const { file, place } = fileOf(t, content);
  const { error, height } = await run(place, file);
  t.regex(error?.message ?? '', /at height 40 is refused: Invalid block signature/);
  t.is(height, 39);
});

test('a refused block is reported even when the indexes cannot be written, and then that failure, too', async (t) => {
  const wrong = lines.with(60, lines[60]!.replace('"height":61', '"height":62'));
  const full = new ProtocolError('STORE_WRITE_FAILED', {}, 'The chain store could not be written: no room.');
  const failing = (store: StoredChain): IndexBackfill => ({
    indexLag: 0,
    deferIndexing: () => store.deferIndexing(),
    *backfill() {
      yield;
      throw full;
    },
  });
  const refused = fileOf(t, wrong);
  const alone = await run(refused.place, refused.file);
  t.is(alone.error?.code, 'IMPORT_REFUSED');
  const both = fileOf(t, wrong);
  const { error, height } = await run(both.place, both.file, failing);
  t.is(error?.code, 'IMPORT_REFUSED');
  t.deepEqual(error?.data, alone.error?.data);
  t.is(
    error?.message.replace(both.file, ''),
    `${alone.error?.message.replace(refused.file, '')}; then: ${full.message}`,
  );
  t.is(height, 60);
  const whole = fileOf(t, lines);
  t.is((await run(whole.place, whole.file, failing)).error, full);
});

test('a truncated compressed file reports the last height, and its complete blocks are kept', async (t) => {
  const { place, file } = fileOf(t, lines);
  const packed = gzipSync(readFileSync(file));
  const cut = `${file}.gz`;
  writeFileSync(cut, packed.subarray(0, packed.length / 2));
  const { error, height } = await run(place, cut);
  t.is(error?.code, 'CHAIN_FILE_UNREADABLE');
  t.true(height > 1 && height < lines.length, `height ${height}`);
  t.true(error?.message.startsWith(`${cut}: cannot be read: unexpected end of file`), error?.message);
  t.true(error?.message.endsWith(`; the chain ends at height ${height}`), error?.message);
});

test('a single failure of blocks and indexes is reported once', async (t) => {
  const { place, file } = fileOf(t, lines);
  const directory = chainDirectory(place);
  const { error } = await run(place, file, (store) => {
    for (const name of readdirSync(directory)) if (name.startsWith('in-use.')) rmSync(join(directory, name));
    return {
      indexLag: 1,
      deferIndexing: () => store.deferIndexing(),
      *backfill() {
        yield store.transact(() => undefined);
      },
    };
  });
  t.is(error?.code, 'STORE_TAKEN_OVER');
  t.is(error?.message.match(/the lock of this process is gone/g)?.length, 1);
});

test('a missing, repeated or foreign block is refused because it does not follow', async (t) => {
  for (const [content, reason] of [
    [
      [...lines.slice(0, 20), ...lines.slice(21)],
      /line 21: block [0-9]+ at height 21 is refused: the line has a block of height 22 instead of 21/,
    ],
    [
      [...lines.slice(0, 20), ...lines.slice(19)],
      /line 21: .* is refused: the line has a block of height 20 instead of 21/,
    ],
    [
      [...lines.slice(0, 3), ...lines.slice(0, 3)],
      /line 4: block [0-9]+ at height 4 is refused: the line has a block of height 1 instead of 4 .*; the chain ends at height 3$/,
    ],
    [
      [lines[0] ?? '', lineOfBlock(madeChain(3).maker.forge(), maker.rules.codec)],
      /has a block of height [0-9]+ instead of 2/,
    ],
  ] as const) {
    const { file, place } = fileOf(t, content);
    const { error } = await run(place, file);
    t.regex(error?.message ?? '', reason);
  }
});

test('a block at height 0 is refused, even if it names no previous block', async (t) => {
  const { id: _id, previousBlockId: _previous, ...below } = JSON.parse(lines[1] ?? '') as Record<string, unknown>;
  const { file, place } = fileOf(t, [JSON.stringify({ ...below, height: 0 }), ...lines]);
  const { error, height } = await run(place, file);
  t.regex(error?.message ?? '', /line 1: block [0-9]+ at height 0 is refused: a chain begins at height 1/);
  t.is(height, 1);
});

test('a file of another network is refused at its genesis block, and a file of another chain at the first other block', async (t) => {
  const other = makeNetwork({ accounts: 3 });
  const { file, place } = fileOf(t, [lineOfBlock(other.genesis, maker.rules.codec)]);
  const foreign = await run(place, file);
  t.regex(
    foreign.error?.message ?? '',
    /line 1: block [0-9]+ at height 1 is refused: it is not the network's genesis block/,
  );
  t.is(foreign.height, 1);

  await storeChain(place, blocks.slice(0, 10));
  const { maker: rival } = madeChain(5);
  const [from, to] = network.accounts;
  const branch = rival.forge({ transactions: [rival.transfer(from!, to!, 7n)] });
  writeFileSync(file, [...lines.slice(0, 5), lineOfBlock(branch, maker.rules.codec)].join('\n'));
  const diverged = await run(place, file);
  t.regex(
    diverged.error?.message ?? '',
    /line 6: block [0-9]+ at height 6 is refused: the chain has block [0-9]+ at this/,
  );
  t.is(diverged.height, 10);
});

/** The height of a chain with more than twice as many blocks as one commit may contain (`BLOCKS_PER_COMMIT`). */
const LONG_HEIGHT = 1100;
const long = madeChain(LONG_HEIGHT);
const longLines = long.blocks.map((block) => lineOfBlock(block, long.maker.rules.codec));

test('a stopped import keeps the applied blocks, and the next one continues from there', async (t) => {
  const { file, place } = fileOf(t, longLines);
  const { chain, store, genesis, close } = await openChain(place, true);
  const stop = new AbortController();
  const options = { chain, indexes: store, genesis, file: openChainFile(file), signal: stop.signal };
  const done = await importChain({ ...options, onProgress: () => stop.abort() });
  await close();
  t.true(done.height > 100 && done.height < LONG_HEIGHT, `height ${done.height}`);
  t.true(done.wasStopped);
  const rest = await run(place, file);
  t.is(rest.height, LONG_HEIGHT);
  t.is(rest.progress?.blocks, LONG_HEIGHT - done.height);
  t.is(rest.digest, await storeChain(locationIn(temporaryFolder(t), long.network), long.blocks));
});

test('an import stopped after its last block counts as complete', async (t) => {
  const { file, place } = fileOf(t, longLines);
  const { chain, store, genesis, close } = await openChain(place, true);
  const stop = new AbortController();
  const onProgress = ({ height }: { readonly height: number }): void => {
    if (height === LONG_HEIGHT) stop.abort();
  };
  const options = { chain, indexes: store, genesis, file: openChainFile(file), signal: stop.signal };
  const done = await importChain({ ...options, onProgress });
  await close();
  t.true(stop.signal.aborted);
  t.deepEqual([done.height, done.wasStopped], [LONG_HEIGHT, false]);
});

test('an invalid block far into a file is refused at its place while later ones are read already', async (t) => {
  const content = [...longLines];
  content[699] = flipped(content[699] ?? '', /"blockSignature":"[0-9a-f]/);
  content[1000] = '{';
  const { file, place } = fileOf(t, content);
  const { error, height, digest } = await run(place, file);
  t.regex(error?.message ?? '', /line 700: .* at height 700 is refused: Invalid block signature/);
  t.is(height, 699);
  t.is(digest, await storeChain(locationIn(temporaryFolder(t), long.network), long.blocks.slice(0, 699)));
});

for (const [where, made] of [
  ['an earlier commit, whose indexes are not written yet,', long],
  ['the same commit', madeChain(11)],
] as const) {
  test(`a transaction already in ${where} is refused as confirmed`, async (t) => {
    const { maker, blocks: before, network: own } = made;
    const repeated = before[9]!.transactions[1]!;
    const fresh = maker.transfer(own.accounts[0]!, own.accounts[1]!, 5n);
    const twice = withPayload(maker.build(), maker.nextSlot().keyPair, [fresh, repeated]);
    const { file, place } = fileOf(
      t,
      [...before, twice].map((block) => lineOfBlock(block, maker.rules.codec)),
    );
    const { error, height } = await run(place, file);
    const text = `Transaction is already confirmed: ${repeated.id}`;
    t.true(error?.message.includes(`: block ${twice.id} at height ${twice.height} is refused: `), error?.message);
    t.true(error?.message.includes(text), error?.message);
    t.false(error?.message.includes(fresh.id));
    t.is(height, before.length);
    const { store } = await openSnapshot(place);
    t.is(store.indexLag, 0);
    t.deepEqual(store.transactionPlace(repeated.id), { height: 10, index: 1 });
    t.false(store.hasTransaction(fresh.id));
    await store.close();
  });
}

test('an imported chain is reverted block by block down to finality, as if it had grown one by one', async (t) => {
  const { file, place } = fileOf(t, longLines);
  await run(place, file);
  const { chain, store, close } = await openChain(place, false);
  const { finalizedHeight } = chain;
  t.true(finalizedHeight > LONG_HEIGHT - 2 * 101);
  for (const height of [LONG_HEIGHT - 1, LONG_HEIGHT - 120, finalizedHeight]) {
    await chain.rollback(height);
    const grown = await storeChain(locationIn(temporaryFolder(t), long.network), long.blocks.slice(0, height));
    t.is(store.stateDigest(), grown, `height ${height}`);
  }
  await close();
  t.is((await run(place, file)).height, LONG_HEIGHT);
});

test("a file of another network is named as such, with a known network's name; a damaged genesis block is not", async (t) => {
  const own = network.params;
  const other = { id: '17', payloadHash: 'cd'.repeat(32) };
  const networks = {
    own: 'here',
    nameOf: ({ payloadHash }: { payloadHash: string }) => (payloadHash === other.payloadHash ? 'elsewhere' : undefined),
  };
  const genesis = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
  const refusalOf = async (first: Record<string, unknown>): Promise<string> => {
    const { file, place } = fileOf(t, [JSON.stringify(first), ...lines.slice(1)]);
    const { error, height } = await run(place, file, undefined, networks);
    t.is(error?.code, 'IMPORT_REFUSED');
    t.is(height, 1);
    return (error?.message ?? '').replace(file, 'FILE');
  };
  t.is(
    await refusalOf({ ...genesis, ...other }),
    'FILE is a chain of elsewhere, and the network of this import is here: get a file of here, or use --network elsewhere',
  );
  t.regex(
    await refusalOf({ ...genesis, id: '18', payloadHash: 'ef'.repeat(32) }),
    /^FILE is the chain of another network, whose/,
  );
  // Here the first line is not a valid block, but the import identifies the other network by the payload hash in this
  // line.
  t.regex(await refusalOf({ height: 1, type: 'strange', ...other }), /^FILE is a chain of elsewhere/);
  t.regex(await refusalOf({ ...genesis, payloadHash: 'ef'.repeat(32) }), /, line 1: block .* is refused: /);
  t.not(own.nethash, other.payloadHash);
});

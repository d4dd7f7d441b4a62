import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs, {
  closeSync,
  openSync,
  copyFileSync,
  cpSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { forgingExport, forgingImport } from '../../src/cli/commands/forging-record.ts';
import { WatermarkedJournal } from '../../src/engine/forge/watermarked-journal.ts';
import { findNetworkDirectory, loadNetwork } from '../../src/config/network.ts';
import { journalFileOf, openJournal } from '../../src/node/journal-file.ts';
import { ImportedRecords } from '../../src/node/imported-records.ts';
import { idOfRecord, recordOfText, textOfRecord } from '../../src/node/signing-record.ts';
import { WatermarkFiles } from '../../src/node/watermark-files.ts';
import { SILENT } from '../../src/ports/observer.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { CLI_ENTRY, isProblemLine, runCli } from '../support/cli.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import type { Untyped } from '../support/untyped.ts';

const A = 'aa'.repeat(32);
const B = 'bb'.repeat(32);
const HEADER = { blockId: '17', height: 7, timestamp: 70, maxHeightPrevoted: 3, maxHeightPreviouslyForged: 2 };
const PASSWORD = { BLOOMERY_PASSWORD: 'a password' };

/** Starts a server that answers like a node with the given delegates. The server keeps the bodies of PUT requests. */
async function nodeWith(
  t: ExecutionContext,
  delegates: readonly object[],
  { putStatus = 200, changes = {} }: { putStatus?: number; changes?: Readonly<Record<string, unknown>> } = {},
) {
  const put: Untyped[] = [];
  const answers: Readonly<Record<string, unknown>> = {
    '/node/status/forging': delegates,
    '/node/constants': { epoch: '2016-05-24T17:00:00.000Z', blockTime: 10 },
    '/node/status': { height: 200, secondsSinceEpoch: 1005, currentTime: Date.parse('2016-05-24T17:16:45.000Z') },
    '/delegates/forgers': [
      { username: 'smith', publicKey: A, nextSlot: 101 },
      { username: 'other', publicKey: 'cc'.repeat(32), nextSlot: 102 },
      { username: 'miller', publicKey: B, nextSlot: 103 },
    ],
    ...changes,
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString('utf8')));
    request.on('end', () => {
      const url = new URL(request.url ?? '', 'http://localhost');
      if (request.method === 'PUT') {
        put.push(JSON.parse(body));
        response.writeHead(putStatus);
        return response.end(JSON.stringify(putStatus === 200 ? { data: [] } : { message: 'it says no' }));
      }
      const key = url.searchParams.get('publicKey');
      const data = (answers[url.pathname] ?? []) as readonly Untyped[];
      const chosen = key === null ? data : data.filter(({ publicKey }) => publicKey === key);
      return response.end(JSON.stringify({ data: chosen }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { node: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, put };
}

test.serial(
  'the only configured delegate can be switched without its name, one of several delegates cannot',
  async (t) => {
    const one = await nodeWith(t, [{ publicKey: A, forging: true }]);
    const { code, stdout, stderr } = await runCli(['forging', 'enable', '--node', one.node], { env: PASSWORD });
    t.is(code, 0, stderr);
    t.is(stdout, `${A}  on\n`);
    t.deepEqual(one.put, [{ publicKey: A, password: 'a password', forging: true }]);
    await runCli(['forging', 'disable', A, '--node', one.node], { env: PASSWORD });
    t.deepEqual(one.put[1], { publicKey: A, password: 'a password', forging: false });

    const two = await nodeWith(t, [
      { publicKey: A, forging: true },
      { publicKey: B, forging: true },
    ]);
    const unclear = await runCli(['forging', 'enable', '--node', two.node], { env: PASSWORD });
    t.is(unclear.code, 2);
    t.regex(unclear.stderr, /2 configured delegates: name one/);
    t.deepEqual(two.put, []);
  },
);

test.serial('a refused switch shows the reason that the node gives', async (t) => {
  const { node } = await nodeWith(t, [{ publicKey: A, forging: false }], { putStatus: 404 });
  const { code, stderr } = await runCli(['forging', 'enable', '--node', node], { env: PASSWORD });
  t.is(code, 1);
  t.is(stderr, `bloomery: ${node} refused: it says no (NODE_REFUSED)\n`);
});

test.serial('the status shows which delegates sign, which do not, and why and until when', async (t) => {
  const waiting = { code: 'FORGING_HAND_OVER', reason: 'nothing is final yet', until: '2026-01-02T03:04:05.000Z' };
  const { node } = await nodeWith(t, [
    { publicKey: A, forging: true, waiting },
    { publicKey: B, forging: false },
  ]);
  const { stdout } = await runCli(['forging', 'status', '--node', node]);
  t.is(
    stdout,
    `${A}  on, does not sign yet, until about 2026-01-02 03:04:05 UTC: nothing is final yet (FORGING_HAND_OVER)\n${B}  off\n`,
  );
  const paused = { reason: 'no space left on device', since: '2026-01-02T03:04:05.000Z', cause: 'STORE_WRITE_FAILED' };
  const hindered = await nodeWith(t, [
    { publicKey: A, forging: true, paused },
    { publicKey: B, forging: true, paused, waiting },
  ]);
  const pause = 'on, paused: no space left on device, since 2026-01-02 03:04:05 UTC';
  t.is(
    (await runCli(['forging', 'status', '--node', hindered.node])).stdout,
    `${A}  ${pause}\n` +
      `${B}  ${pause}, does not sign yet, until about 2026-01-02 03:04:05 UTC: nothing is final yet (FORGING_HAND_OVER)\n`,
  );
  const none = await nodeWith(t, []);
  t.regex((await runCli(['forging', 'status', '--node', none.node])).stdout, /no delegate is configured/);
});

test.serial(
  "the schedule lists the slots of the node's delegates by the clock, and marks the uncertain ones",
  async (t) => {
    const { node } = await nodeWith(t, [
      { publicKey: A, forging: true },
      { publicKey: B, forging: false },
    ]);
    const { stdout } = await runCli(['forging', 'schedule', '--node', node]);
    t.is(
      stdout,
      '2016-05-24 17:16:50 UTC  in 5 s  smith  slot 101\n' +
        '2016-05-24 17:17:10 UTC  in 25 s  miller  slot 103  (forging is switched off; the next round may order it otherwise)\n',
    );
  },
);

test.serial('the schedule tells why a delegate that is switched on may not sign in its slot', async (t) => {
  const waiting = { code: 'FORGING_HAND_OVER', reason: 'nothing is final yet', until: '2026-01-02T03:04:05.000Z' };
  const paused = { reason: 'no space left on device', since: '2026-01-02T03:04:05.000Z', cause: 'STORE_WRITE_FAILED' };
  const { node } = await nodeWith(t, [
    { publicKey: A, forging: true, waiting },
    { publicKey: B, forging: true, paused, waiting: { code: 'FORGING_OLD_TIP', reason: 'the tip is old' } },
  ]);
  const { stdout } = await runCli(['forging', 'schedule', '--node', node]);
  t.is(
    stdout,
    '2016-05-24 17:16:50 UTC  in 5 s  smith  slot 101' +
      '  (does not sign yet, until about 2026-01-02 03:04:05 UTC: FORGING_HAND_OVER)\n' +
      '2016-05-24 17:17:10 UTC  in 25 s  miller  slot 103' +
      '  (paused: no space left on device; does not sign yet: FORGING_OLD_TIP; the next round may order it otherwise)\n',
  );
  const json = await runCli(['forging', 'schedule', '--node', node, '--json']);
  const { slots } = JSON.parse(json.stdout);
  t.deepEqual([slots[0].waiting, slots[0].paused, slots[1].paused], [waiting, undefined, paused]);
});

test.serial('the schedule of a network that has just begun uses the block time of the node', async (t) => {
  const changes = {
    '/node/constants': { epoch: '2016-05-24T17:00:00.000Z', blockTime: 2 },
    '/node/status': { height: 1, secondsSinceEpoch: 3, currentTime: Date.parse('2016-05-24T17:00:03.000Z') },
    '/delegates/forgers': [{ username: 'smith', publicKey: A, nextSlot: 2 }],
  };
  const { node } = await nodeWith(t, [{ publicKey: A, forging: true }], { changes });
  const { stdout } = await runCli(['forging', 'schedule', '--node', node]);
  t.is(stdout, '2016-05-24 17:00:04 UTC  in 1 s  smith  slot 2\n');
});

test.serial('the schedule of a node that does not send its block time is refused', async (t) => {
  const changes = { '/node/constants': { epoch: '2016-05-24T17:00:00.000Z' } };
  const { node } = await nodeWith(t, [{ publicKey: A, forging: true }], { changes });
  const { code, stderr } = await runCli(['forging', 'schedule', '--node', node]);
  t.is(code, 1);
  t.regex(stderr, /node\/constants.*\.blockTime must be a whole number of seconds.*\(NODE_ANSWER_MALFORMED\)/);
});

test.serial('a record can be moved from one data folder to another once', async (t) => {
  const folder = temporaryFolder(t);
  const [from, into, file] = [join(folder, 'from'), join(folder, 'into'), join(folder, 'record.json')];
  const journalFile = journalFileOf(join(from, 'devnet'));
  const journal = openJournal(journalFile);
  journal.record(A, HEADER);
  const place = ['--network', 'devnet', '--data-dir', from];
  const inUse = await runCli(['forging', 'export', file, ...place]);
  t.is(inUse.code, 1);
  t.regex(inUse.stderr, /in use by process/);
  t.false(existsSync(file));
  journal.close();

  const exported = await runCli(['forging', 'export', file, ...place]);
  t.is(exported.code, 0, exported.stderr);
  t.is(statSync(file).mode & 0o777, 0o600);
  const left = openJournal(journalFile);
  t.not(left.movedAtS(A), undefined);
  left.close();
  const again = await runCli(['forging', 'export', file, ...place]);
  t.is(again.code, 2);
  t.regex(again.stderr, /record\.json: exists/);

  const imported = await runCli(['forging', 'import', file, '--network', 'devnet', '--data-dir', into]);
  t.is(imported.code, 0, imported.stderr);
  const taken = openJournal(journalFileOf(join(into, 'devnet')));
  t.deepEqual(taken.last(A), HEADER);
  t.is(taken.movedAtS(A), undefined);
  taken.close();
});

test.serial(
  'a record that two folders import is a copy in the second, whether from the same file or from a copy of it',
  async (t) => {
    const folder = temporaryFolder(t);
    const at = (name: string): string => join(folder, name);
    const [file, copy] = [at('record.json'), at('copy.json')];
    const env = { BLOOMERY_FORGING_WATERMARK_FOLDER: at('signed') };
    const journal = openJournal(journalFileOf(join(at('from'), 'devnet')));
    journal.record(A, HEADER);
    journal.close();
    const run = (args: readonly string[], into: string, more = env) =>
      runCli(['forging', ...args, '--network', 'devnet', '--data-dir', at(into)], { env: more });
    const knownIn = (name: string) => {
      const opened = openJournal(journalFileOf(join(at(name), 'devnet')));
      try {
        return { last: opened.last(A), heldSinceS: opened.heldSinceS(A) ?? 0 };
      } finally {
        opened.close();
      }
    };
    t.is((await run(['export', file], 'from')).code, 0);
    copyFileSync(file, copy);

    const first = await run(['import', file], 'into');
    t.is(
      first.stdout,
      `signing record of one delegate imported into ${at('into/devnet')}; this node may sign for them now\n`,
    );
    t.deepEqual(knownIn('into'), { last: HEADER, heldSinceS: 0 });
    // The first import marked the file `record.json` as a copy.
    const second = await run(['import', file], 'other', { BLOOMERY_FORGING_WATERMARK_FOLDER: 'none' });
    t.regex(second.stdout, /it is a copy, so the node first makes sure that no other node signs/);
    t.true(knownIn('other').heldSinceS > HEADER.timestamp);
    // The first import did not mark the file `copy.json`. However, the first import stored a note about the record in
    // the watermark folder (the folder `signed`). This note shows that the record was imported before.
    const third = await run(['import', copy], 'third');
    t.regex(
      third.stdout,
      /it was imported into \S+into\/devnet at 20\S+Z, so it counts as a copy, .*export them there\n$/,
    );
    t.true(knownIn('third').heldSinceS > HEADER.timestamp);
    t.regex(readFileSync(copy, 'utf8'), /"isCopy": true/);
  },
);

test.serial('export and import use the folder for watermarks of the configuration file', async (t) => {
  const folder = temporaryFolder(t);
  const at = (name: string): string => join(folder, name);
  const [file, config] = [at('record.json'), at('config.json5')];
  writeFileSync(config, `{ forging: { watermarkFolder: '${at('signed')}' } }`);
  const journal = openJournal(journalFileOf(join(at('from'), 'devnet')));
  journal.record(A, HEADER);
  journal.close();
  const { params } = loadNetwork(findNetworkDirectory('devnet', folder));
  const watermarks = new WatermarkFiles(at('signed'), params.networkIdentifier, SILENT);
  watermarks.write(A, { last: HEADER });
  const run = (args: readonly string[], dataDir: string) =>
    runCli(['forging', ...args, '--network', 'devnet', '--data-dir', at(dataDir), '--config', config]);

  t.is((await run(['export', file], 'from')).code, 0);
  t.not(watermarks.read(A)?.movedAtS, undefined);
  const copy = at('copy.json');
  copyFileSync(file, copy);
  t.regex((await run(['import', file], 'into')).stdout, /this node may sign for them now/);
  t.deepEqual(watermarks.read(A), { last: HEADER });
  t.regex((await run(['import', copy], 'other')).stdout, /it was imported into \S+into\/devnet at/);

  writeFileSync(config, '{ forging: { watermarkFoldr: 1 } }');
  const refused = await run(['import', file], 'third');
  t.is(refused.code, 2);
  t.regex(refused.stderr, /config\.json5: forging\.watermarkFoldr/);
  t.false(existsSync(at('third')));
});

test.serial('a record that returns to the folder of its export is complete there, once', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'record.json');
  const env = { BLOOMERY_FORGING_WATERMARK_FOLDER: join(folder, 'signed') };
  const dataDirectory = join(folder, 'data', 'devnet');
  const journal = openJournal(journalFileOf(dataDirectory));
  journal.record(A, HEADER);
  journal.close();
  const run = (...args: readonly string[]) =>
    runCli(['forging', ...args, '--network', 'devnet', '--data-dir', join(folder, 'data')], { env });
  await run('export', file);
  const exported = readFileSync(file);
  t.regex((await run('import', file)).stdout, /this node may sign for them now/);
  writeFileSync(file, exported);
  const again = await run('import', file);
  t.regex(again.stdout, /; it was imported into \S+devnet at 20\S+Z, so nothing was changed\n$/);
  t.regex(readFileSync(file, 'utf8'), /"isCopy": true/);
  rmSync(dataDirectory, { recursive: true });
  writeFileSync(file, exported);
  t.regex((await run('import', file)).stdout, /so it counts as a copy/);
});

test.serial('a record that cannot be marked as used is imported, and the user is told to remove it', async (t) => {
  const folder = temporaryFolder(t);
  const env = { BLOOMERY_FORGING_WATERMARK_FOLDER: 'none' };
  const journal = openJournal(journalFileOf(join(folder, 'from', 'devnet')));
  journal.record(A, HEADER);
  journal.close();
  const exported = await runCli(['forging', 'export', '-', '--network', 'devnet', '--data-dir', join(folder, 'from')]);
  const { stdout } = await runCli(
    ['forging', 'import', '-', '--network', 'devnet', '--data-dir', join(folder, 'into')],
    {
      env,
      input: exported.stdout,
    },
  );
  t.regex(
    stdout,
    /this node may sign for them now; standard input could not be marked as imported: remove it, and import it/,
  );
});

test.serial('an export from a copied folder is marked as a copy', async (t) => {
  const folder = temporaryFolder(t);
  const [from, file] = [join(folder, 'from'), join(folder, 'record.json')];
  const journal = openJournal(journalFileOf(join(from, 'devnet')));
  journal.recordFileIdentity();
  journal.record(A, HEADER);
  journal.close();
  cpSync(from, join(folder, 'copied'), { recursive: true });
  const { stderr } = await runCli([
    'forging',
    'export',
    file,
    '--network',
    'devnet',
    '--data-dir',
    join(folder, 'copied'),
  ]);
  t.regex(stderr, /the file here was copied or restored and may lack lines/);
  t.regex(readFileSync(file, 'utf8'), /"isCopy": true/);
});

test.serial('a second export of delegates that were exported before is marked as a copy', async (t) => {
  const folder = temporaryFolder(t);
  const journal = openJournal(journalFileOf(join(folder, 'from', 'devnet')));
  journal.record(A, HEADER);
  journal.close();
  const place = ['--network', 'devnet', '--data-dir', join(folder, 'from')];
  const files = [join(folder, 'first.json'), join(folder, 'second.json')] as const;
  for (const file of files) t.is((await runCli(['forging', 'export', file, ...place])).code, 0);
  t.regex(readFileSync(files[0], 'utf8'), /"isCopy": false/);
  t.regex(readFileSync(files[1], 'utf8'), /"isCopy": true/);
  const third = await runCli(['forging', 'export', '-', ...place]);
  t.regex(third.stdout, /"isCopy": true/);
  t.regex(third.stderr, /were exported before; a node that imports this record waits as if it had no record/);
});

/** Runs forging commands of one user on one machine. The watermarks are in the folder `signed`. */
function machine(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const signed = join(folder, 'signed');
  const env = { BLOOMERY_FORGING_WATERMARK_FOLDER: signed };
  const { networkIdentifier } = loadNetwork(findNetworkDirectory('devnet', folder)).params;
  return {
    folder,
    env,
    watermarks: new WatermarkFiles(signed, networkIdentifier, SILENT),
    /** Opens the journal of a data folder as the node does, and calls `work`. */
    withNode: (name: string, work: (journal: WatermarkedJournal) => void): void => {
      const journal = openJournal(journalFileOf(join(folder, name, 'devnet')));
      const watermarks = new WatermarkFiles(signed, networkIdentifier, SILENT);
      const options = { journal, watermarks, observer: SILENT, nowS: 500, firstBlockId: () => undefined };
      try {
        work(new WatermarkedJournal(options));
      } finally {
        journal.close();
      }
    },
    run: (command: 'export' | 'import', file: string, name: string, ...more: readonly string[]) =>
      runCli(
        ['forging', command, join(folder, file), '--network', 'devnet', '--data-dir', join(folder, name), ...more],
        { env },
      ),
    isCopy: (file: string): boolean => JSON.parse(readFileSync(join(folder, file), 'utf8')).isCopy,
  };
}

test.serial('after a restore, the export has the header of the watermark only if the node was started', async (t) => {
  const { folder, withNode, run, isCopy } = machine(t);
  withNode('data', (journal) => journal.record(A, HEADER));
  cpSync(join(folder, 'data'), join(folder, 'backup'), { recursive: true });
  withNode('data', (journal) => journal.record(A, { ...HEADER, blockId: '20', height: 60, timestamp: 600 }));
  rmSync(join(folder, 'data'), { recursive: true });
  cpSync(join(folder, 'backup'), join(folder, 'data'), { recursive: true });
  const kept = await run('export', 'kept.json', 'data', '--keep');
  t.regex(kept.stderr, /the file here was copied or restored and may lack lines/);
  withNode('data', (journal) => t.is(journal.last(A)?.height, 60));
  t.is((await run('export', 'record.json', 'data')).code, 0);
  t.false(isCopy('record.json'));
  t.regex(readFileSync(join(folder, 'record.json'), 'utf8'), /"height": 60/);
});

test.serial('an export after the restore of a folder that was exported since is marked as a copy', async (t) => {
  const { folder, withNode, run, isCopy } = machine(t);
  withNode('data', (journal) => journal.record(A, HEADER));
  cpSync(join(folder, 'data'), join(folder, 'backup'), { recursive: true });
  await run('export', 'first.json', 'data');
  rmSync(join(folder, 'data'), { recursive: true });
  cpSync(join(folder, 'backup'), join(folder, 'data'), { recursive: true });
  withNode('data', (journal) => t.not(journal.movedAtS(A), undefined));
  await run('export', 'second.json', 'data');
  t.deepEqual([isCopy('first.json'), isCopy('second.json')], [false, true]);
});

test.serial('the import of a record of another delegate does not change a copied watermark', async (t) => {
  const { folder, watermarks, withNode, run } = machine(t);
  withNode('data', (journal) => journal.record(A, HEADER));
  withNode('other', (journal) => journal.record(B, HEADER));
  await run('export', 'record.json', 'other');
  cpSync(join(folder, 'signed'), join(folder, 'backup'), { recursive: true });
  rmSync(join(folder, 'signed'), { recursive: true });
  cpSync(join(folder, 'backup'), join(folder, 'signed'), { recursive: true });
  t.true(watermarks.read(A)?.isCopied);
  t.is((await run('import', 'record.json', 'data')).code, 0);
  t.true(watermarks.read(A)?.isCopied);
});

test.serial(
  'after the import of a copy, no folder of the machine trusts the watermark until the next signature',
  async (t) => {
    const here = machine(t);
    const { folder, watermarks, withNode, run } = here;
    const newer = { ...HEADER, blockId: '60', height: 60, timestamp: 600 };
    withNode('one', (journal) => journal.record(A, HEADER));
    const own = watermarks.read(A);
    if (own === undefined) throw new Error('the signature has written a watermark');
    withNode('two', (journal) => journal.record(A, newer));
    await run('export', 'kept.json', 'two', '--keep');
    for (const marked of [own, { ...own, movedAtS: 77 }]) {
      watermarks.write(A, marked);
      cpSync(join(folder, 'kept.json'), join(folder, 'again.json'));
      await run('import', 'again.json', 'one');
      t.like(watermarks.read(A), { last: newer, isCopied: true, movedAtS: undefined });
      withNode('bare', (journal) => t.is(journal.recalled(A), undefined));
      t.false(maySign(here, 'one'));
    }
    withNode('one', (journal) => journal.record(A, { ...newer, blockId: '61', height: 61, timestamp: 9_000_000 }));
    t.is(watermarks.read(A)?.isCopied, undefined);
  },
);

test.serial('a second export that is imported back lets the delegate sign here again, after a wait', async (t) => {
  const { withNode, run } = machine(t);
  withNode('data', (journal) => journal.record(A, HEADER));
  await run('export', 'one.json', 'data');
  await run('export', 'two.json', 'data');
  t.regex((await run('import', 'two.json', 'data')).stdout, /it is a copy, so the node first makes sure/);
  withNode('data', (journal) => {
    t.is(journal.movedAtS(A), undefined);
    t.true((journal.heldSinceS(A) ?? 0) > HEADER.timestamp);
    t.is(journal.outside(A), 'unknown');
  });
});

test.serial(
  'an export whose output cannot be written has ended the signing, also after an earlier export',
  async (t) => {
    const { folder, withNode, watermarks, run } = machine(t);
    withNode('data', (journal) => {
      journal.record(A, HEADER);
      journal.hold(B, 300);
    });
    const args = ['forging', 'export', '-', '--network', 'devnet', '--data-dir', join(folder, 'data')];
    const env = { ...process.env, BLOOMERY_FORGING_WATERMARK_FOLDER: join(folder, 'signed') };
    for (const before of [undefined, 'record.json']) {
      if (before !== undefined) t.is((await run('export', before, 'data')).code, 0);
      const full = openSync('/dev/full', 'w');
      const { status, stderr } = spawnSync(process.execPath, [CLI_ENTRY, ...args], {
        env,
        stdio: ['ignore', full, 'pipe'],
      });
      closeSync(full);
      t.is(status, 1);
      t.regex(String(stderr), /this node does not sign for its delegates any more: export them again, to a file/);
      t.not(watermarks.read(A)?.movedAtS, undefined);
      withNode('data', (journal) => {
        for (const delegate of [A, B]) t.not(journal.movedAtS(delegate), undefined);
      });
    }
  },
);

test.serial('a record that was exported beside a copied watermark does not end the wait of its delegate', async (t) => {
  const { folder, withNode, run, isCopy } = machine(t);
  withNode('data', (journal) => journal.record(A, HEADER));
  for (const name of ['data', 'signed'])
    cpSync(join(folder, name), join(folder, `${name}-backup`), { recursive: true });
  withNode('data', (journal) => journal.record(A, { ...HEADER, blockId: '18', height: 8, timestamp: 80 }));
  for (const name of ['data', 'signed']) {
    rmSync(join(folder, name), { recursive: true });
    cpSync(join(folder, `${name}-backup`), join(folder, name), { recursive: true });
  }
  withNode('data', (journal) => t.is(journal.heldSinceS(A), 500));
  t.is((await run('export', 'record.json', 'data')).code, 0);
  t.false(isCopy('record.json'));
  t.regex((await run('import', 'record.json', 'data')).stdout, /it may lack signatures of them, so the node first/);
  withNode('data', (journal) => {
    t.is(journal.outside(A), 'unknown');
    t.true((journal.heldSinceS(A) ?? 0) > (journal.last(A)?.timestamp ?? 0));
  });
});

test.serial(
  'an export after a restore marks the watermark, although the restored folder had an older header',
  async (t) => {
    const here = machine(t);
    const { folder, withNode, watermarks, run } = here;
    withNode('data', (journal) => journal.record(A, HEADER));
    cpSync(join(folder, 'data'), join(folder, 'backup'), { recursive: true });
    withNode('data', (journal) => journal.record(A, { ...HEADER, blockId: '20', height: 60, timestamp: 600 }));
    const restore = (): void => {
      rmSync(join(folder, 'data'), { recursive: true });
      cpSync(join(folder, 'backup'), join(folder, 'data'), { recursive: true });
    };
    restore();
    t.true(maySign(here, 'data'));
    await run('export', 'record.json', 'data');
    t.like(watermarks.read(A), { last: { height: 60 } });
    t.not(watermarks.read(A)?.movedAtS, undefined);
    t.regex(readFileSync(join(folder, 'record.json'), 'utf8'), /"height": 60/);
    restore();
    t.false(maySign(here, 'data'));
  },
);

test.serial(
  'a delegate that has only a watermark does not make the records of the other delegates copies',
  async (t) => {
    const { folder, withNode, run, isCopy } = machine(t);
    withNode('other', (journal) => journal.record(B, HEADER));
    withNode('bare', (journal) => {
      journal.record(A, HEADER);
      journal.hold(B, 300);
    });
    await run('export', 'record.json', 'bare');
    t.false(isCopy('record.json'));
    rmSync(join(folder, 'signed'), { recursive: true });
    await run('import', 'record.json', 'into');
    withNode('into', (journal) => t.deepEqual([journal.isCopyFor(A), journal.isCopyFor(B)], [false, true]));
  },
);

test.serial('a standby delegate from a copy does not make the records of the other delegates copies', async (t) => {
  const { folder, withNode, run, isCopy } = machine(t);
  withNode('one', (journal) => {
    journal.record(A, HEADER);
    journal.record(B, HEADER);
  });
  await run('export', 'kept.json', 'one', '--keep');
  await run('import', 'kept.json', 'two');
  withNode('two', (journal) => journal.record(A, { ...HEADER, blockId: '60', height: 60, timestamp: 9_000_000_000 }));
  await run('export', 'there.json', 'two');
  t.false(isCopy('there.json'));
  t.regex((await run('import', 'there.json', 'one')).stdout, /; it may lack signatures of 1 of them, so/);
  await run('export', 'back.json', 'one');
  t.false(isCopy('back.json'));
  t.true(existsSync(join(folder, 'back.json')));
});

test.serial('a watermark of a standby delegate does not make the import of the other delegates a copy', async (t) => {
  const newer = { ...HEADER, blockId: '60', height: 60, timestamp: 600 };
  for (const isCopied of [false, true]) {
    const { watermarks, withNode, run, isCopy } = machine(t);
    withNode('one', (journal) => {
      journal.record(A, HEADER);
      journal.hold(B, 50);
    });
    withNode('two', (journal) => journal.record(B, newer));
    await run('export', 'record.json', 'one');
    t.false(isCopy('record.json'));
    if (isCopied) watermarks.write(B, { last: newer, isCopied });
    t.regex((await run('import', 'record.json', 'into')).stdout, /; it may lack signatures of 1 of them, so/);
    // The watermark of the delegate B (a record outside of the data folder) has a header that B signed. The node with
    // the data folder `into` must not assume that this header is the last one that B signed.
    withNode('into', (journal) => {
      t.deepEqual([journal.isCopyFor(A), journal.heldSinceS(A)], [false, 0]);
      t.deepEqual([journal.isCopyFor(B), journal.recalled(B)], [true, undefined]);
      t.true((journal.heldSinceS(B) ?? 0) > newer.timestamp, 'the wait begins now');
    });
  }
});

test.serial('a record is printed only after the end of signing is on the disk', (t) => {
  const { folder, moved } = exportedFolder(t);
  const journalFile = journalFileOf(join(folder, 'from', 'devnet'));
  const { writeSync } = fs;
  t.teardown(() => {
    Object.assign(fs, { writeSync });
    syncBuiltinESMExports();
  });
  let journalAtPrint = '';
  Object.assign(fs, {
    writeSync: (descriptor: number, bytes: Uint8Array, ...rest: unknown[]) => {
      if (descriptor !== 1) return (writeSync as (...args: unknown[]) => number)(descriptor, bytes, ...rest);
      journalAtPrint = readFileSync(journalFile, 'utf8');
      return bytes.length;
    },
  });
  syncBuiltinESMExports();
  forgingExport('-', { network: 'devnet', dataDir: join(folder, 'from') });
  t.is(journalAtPrint.match(/movedAtS/g)?.length, 2);
  t.true(moved().every((time) => time !== undefined));
});

test.serial('a data folder inside another data folder is refused, and the record stays unused', async (t) => {
  const { folder, withNode, run, isCopy } = machine(t);
  withNode('data', (journal) => journal.record(A, HEADER));
  await run('export', 'record.json', 'data');
  const inner = join('data', 'devnet');
  const { code, stderr } = await run('import', 'record.json', inner);
  t.is(code, 2);
  t.regex(stderr, /is itself the data folder of a chain: name its parent folder\n$/);
  t.false(isCopy('record.json'));
  t.false(existsSync(join(folder, inner, 'devnet')));
  t.is((await run('import', 'record.json', 'data')).code, 0);
});

/** Lets the file system refuse an operation until the end of the test, or until a call of the returned function. */
function failing<K extends 'fsyncSync' | 'renameSync' | 'openSync'>(
  t: ExecutionContext,
  name: K,
  isRefused: (call: number, path: unknown) => boolean,
  fault: Error = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' }),
): () => void {
  const original = fs[name] as (...args: unknown[]) => unknown;
  let calls = 0;
  const restore = (): void => {
    Object.assign(fs, { [name]: original });
    syncBuiltinESMExports();
  };
  t.teardown(restore);
  Object.assign(fs, {
    [name]: (...args: unknown[]) => {
      calls += 1;
      if (isRefused(calls, args[0])) throw fault;
      return original(...args);
    },
  });
  syncBuiltinESMExports();
  return restore;
}

function exportedFolder(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const journalFile = journalFileOf(join(folder, 'from', 'devnet'));
  const journal = openJournal(journalFile);
  journal.record(A, HEADER);
  journal.record(B, { ...HEADER, blockId: '18' });
  journal.close();
  const moved = () => {
    const after = openJournal(journalFile);
    const times = [A, B].map((publicKey) => after.movedAtS(publicKey));
    after.close();
    return times;
  };
  return { folder, file: join(folder, 'record.json'), moved };
}

test.serial('an export leaves no record if this node can still sign', (t) => {
  const { folder, file, moved } = exportedFolder(t);
  // The first three flushes are those of the record, of its folder, and of the folder of the journal. The line in the
  // journal cannot be flushed.
  failing(t, 'fsyncSync', (call) => call === 4);
  const flags = { network: 'devnet', dataDir: join(folder, 'from') };
  const error = t.throws(() => forgingExport(file, flags), { code: 'JOURNAL_WRITE_FAILED' });
  t.regex(error?.message ?? '', /; the record was not exported$/);
  t.false(existsSync(file));
  t.deepEqual(moved(), [undefined, undefined]);
});

test.serial('a record that could not be completed after the end of signing counts as a copy', (t) => {
  const { folder, file, moved } = exportedFolder(t);
  failing(t, 'renameSync', (call) => call > 0);
  const flags = { network: 'devnet', dataDir: join(folder, 'from') };
  const error = t.throws(() => forgingExport(file, flags), { code: 'SIGNING_RECORD_UNWRITABLE' });
  t.regex(error?.message ?? '', /if it counts as a copy, .* this node does not sign for its delegates any more$/);
  t.regex(readFileSync(file, 'utf8'), /"isCopy": true/);
  t.true(moved().every((time) => time !== undefined));
});

/** Whether the node of a data folder may sign for the delegate A without a wait. */
function maySign({ withNode }: Pick<ReturnType<typeof machine>, 'withNode'>, name: string): boolean {
  let may = false;
  withNode(name, (journal) => {
    const last = journal.last(A);
    may = last !== undefined && (journal.heldSinceS(A) ?? 0) <= last.timestamp && journal.movedAtS(A) === undefined;
  });
  return may;
}

for (const isKept of [false, true]) {
  for (const failed of ['fsyncSync', 'renameSync'] as const) {
    test.serial(
      `an import${isKept ? ' of a copy' : ''} that fails at any ${failed} lets at most one node sign without a wait`,
      async (t) => {
        let isReached = true;
        let failedCall = 0;
        while (isReached) {
          failedCall += 1;
          const here = machine(t);
          const { folder, run, isCopy } = here;
          here.withNode('from', (journal) => journal.record(A, HEADER));
          await run('export', 'record.json', 'from', ...(isKept ? ['--keep'] : []));
          isReached = false;
          const restore = failing(t, failed, (call) => {
            isReached ||= call === failedCall;
            return call === failedCall;
          });
          const config = join(folder, 'config.json5');
          writeFileSync(config, `{ forging: { watermarkFolder: '${join(folder, 'signed')}' } }`);
          try {
            forgingImport(join(folder, 'record.json'), { network: 'devnet', dataDir: join(folder, 'into'), config });
            // If the import could not mark the record file as imported, it advises the user to remove the file. The
            // user follows this advice.
            if (!isCopy('record.json')) rmSync(join(folder, 'record.json'));
          } catch (error) {
            t.true(error instanceof ProtocolError, String(error));
          }
          restore();
          rmSync(join(folder, 'signed'), { recursive: true, force: true });
          await run('import', 'record.json', 'third');
          const signers = ['from', 'into', 'third'].filter((name) => maySign(here, name));
          t.true(signers.length <= 1, `call ${failedCall}: ${signers.join(', ')}`);
          if (isKept) t.deepEqual(signers, ['from']);
        }
        t.true(failedCall > 1);
      },
    );
  }
}

/** Imports `record.json` into the folder `into`, and kills the command when it opens the file that replaces the record. */
function interruptedImport({ folder, env }: Pick<ReturnType<typeof machine>, 'folder' | 'env'>): NodeJS.Signals | null {
  const preload = join(folder, 'preload.mjs');
  writeFileSync(
    preload,
    `import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const { openSync } = fs;
    fs.openSync = (path, ...rest) => {
      if (/record\\.json\\..*new$/.test(String(path))) process.kill(process.pid, 'SIGKILL');
      return openSync(path, ...rest);
    };
    syncBuiltinESMExports();`,
  );
  const args = ['forging', 'import', join(folder, 'record.json'), '--network', 'devnet'];
  return spawnSync(process.execPath, ['--import', preload, CLI_ENTRY, ...args, '--data-dir', join(folder, 'into')], {
    env: { ...process.env, ...env },
  }).signal;
}

test.serial('the repetition of an import that was killed before it marked the record is that of a copy', async (t) => {
  const here = machine(t);
  const { withNode, run, isCopy } = here;
  withNode('from', (journal) => journal.record(A, HEADER));
  await run('export', 'record.json', 'from');
  const signal = interruptedImport(here);
  t.is(signal, 'SIGKILL');
  t.false(isCopy('record.json'));
  t.false(maySign(here, 'into'));
  const again = await run('import', 'record.json', 'into');
  t.regex(again.stdout, /so it counts as a copy, and the node first makes sure that no other node signs\n$/);
  t.false(maySign(here, 'into'));
  t.true(isCopy('record.json'));
});

test.serial('of two imports of one record at the same moment, one counts as an import of a copy', async (t) => {
  const here = machine(t);
  const { folder, withNode, run } = here;
  withNode('from', (journal) => journal.record(A, HEADER));
  await run('export', 'record.json', 'from');
  const record = recordOfText(readFileSync(join(folder, 'record.json'), 'utf8'), 'record.json');
  const imports = new ImportedRecords(join(folder, 'signed'));
  t.true(imports.add(record, { into: '/one', atS: 1 }));
  t.false(imports.add(record, { into: '/two', atS: 2 }));
  t.is(imports.find(record)?.into, '/one');
  t.regex(
    (await run('import', 'record.json', 'into')).stdout,
    /it was imported into \/one at .*, so it counts as a copy/,
  );
  t.false(maySign(here, 'into'));
});

test.serial('no file that was kept ends the wait after an import that did not end', async (t) => {
  const newer = { ...HEADER, blockId: '60', height: 60, timestamp: 600 };
  // What happens between the interrupted import into the folder `into` and its repetition.
  const meanwhile: Readonly<Record<string, (here: ReturnType<typeof machine>) => Promise<void>>> = {
    'the node has signed': async ({ withNode }) => withNode('into', (journal) => journal.record(A, newer)),
    'the node has signed, and its record was exported': async ({ withNode, run }) => {
      withNode('into', (journal) => journal.record(A, newer));
      await run('export', 'next.json', 'into');
      await run('import', 'next.json', 'third');
    },
    'another folder has imported the record': async ({ folder, run }) => {
      cpSync(join(folder, 'record.json'), join(folder, 'kept.json'));
      await run('import', 'kept.json', 'third');
    },
    'the folder was replaced': async ({ folder }) => rmSync(join(folder, 'into'), { recursive: true }),
  };
  for (const [what, happens] of Object.entries(meanwhile)) {
    const here = machine(t);
    const { folder, withNode, run } = here;
    withNode('from', (journal) => journal.record(A, HEADER));
    await run('export', 'record.json', 'from');
    interruptedImport(here);
    await happens(here);
    await run('import', 'record.json', 'into');
    // After the interrupted import, the node with the folder `into` must wait before it signs. In two of the cases,
    // this wait has ended, and the node has signed. After the repeated import, the node must wait again.
    const signers = ['from', 'into', 'third'].filter((name) => existsSync(join(folder, name)) && maySign(here, name));
    if (what === 'the node has signed') t.deepEqual(signers, []);
    else t.true(!signers.includes('into'), `${what}: ${signers.join(', ')}`);
  }
});

test.serial('a record counts as a copy if a watermark may hide later signatures, or shows one', async (t) => {
  for (const isCopied of [false, true]) {
    const here = machine(t);
    const { folder, watermarks, withNode, run } = here;
    withNode('from', (journal) => journal.record(A, HEADER));
    await run('export', 'record.json', 'from');
    watermarks.write(A, { last: isCopied ? HEADER : { ...HEADER, blockId: '60', height: 60, timestamp: 600 } });
    if (isCopied) {
      cpSync(join(folder, 'signed'), join(folder, 'backup'), { recursive: true });
      rmSync(join(folder, 'signed'), { recursive: true });
      cpSync(join(folder, 'backup'), join(folder, 'signed'), { recursive: true });
    }
    t.regex((await run('import', 'record.json', 'into')).stdout, /; it counts as a copy, so the node first/);
    t.false(maySign(here, 'into'));
  }
});

test.serial('a second export does not stop the folder that has imported the first one', async (t) => {
  const here = machine(t);
  const { withNode, run } = here;
  withNode('from', (journal) => journal.record(A, HEADER));
  await run('export', 'record.json', 'from');
  await run('import', 'record.json', 'into');
  await run('export', 'second.json', 'from');
  t.true(maySign(here, 'into'));
});

test.serial('an old record does not undo a later export of the folder', async (t) => {
  const here = machine(t);
  const { folder, withNode, run } = here;
  const noMarks = () => rmSync(join(folder, 'signed'), { recursive: true, force: true });
  withNode('from', (journal) => journal.record(A, HEADER));
  await run('export', 'record.json', 'from');
  // The later export must have a later time, in whole seconds.
  const record = recordOfText(readFileSync(join(folder, 'record.json'), 'utf8'), 'record.json');
  const kept = textOfRecord({ ...record, exportedAtS: record.exportedAtS - 60 });
  writeFileSync(join(folder, 'record.json'), kept);
  await run('import', 'record.json', 'into');
  withNode('into', (journal) => journal.record(A, { ...HEADER, blockId: '60', height: 60, timestamp: 600 }));
  await run('export', 'next.json', 'into');
  noMarks();
  writeFileSync(join(folder, 'record.json'), kept);
  t.regex((await run('import', 'record.json', 'into')).stdout, /; it counts as a copy, so the node first/);
  t.false(maySign(here, 'into'));
});

test.serial('a record says which of its delegates came from a copy, and is otherwise whole', async (t) => {
  const { folder, withNode, run, isCopy } = machine(t);
  withNode('from', (journal) => journal.hold(A, 300));
  await run('export', 'kept.json', 'from', '--keep');
  await run('import', 'kept.json', 'into');
  withNode('into', (journal) => {
    t.true(journal.isCopyFor(A));
    journal.record(B, HEADER);
  });
  rmSync(join(folder, 'signed'), { recursive: true });
  await run('export', 'next.json', 'into');
  t.false(isCopy('next.json'));
  const damaged = readFileSync(join(folder, 'next.json'), 'utf8').replace(/,\s+"isCopy": true(?=\s+\})/, '');
  t.throws(() => recordOfText(damaged, 'damaged.json'), { message: /its checksum does not match/ });
  await run('import', 'next.json', 'third');
  withNode('third', (journal) => {
    t.true(journal.isCopyFor(A));
    t.deepEqual([journal.isCopyFor(B), journal.heldSinceS(B)], [false, 0]);
  });
});

test.serial('the import of a copy ends FORGING_MOVED, although the watermark has a newer header', async (t) => {
  const here = machine(t);
  const { folder, withNode, watermarks, run } = here;
  withNode('data', (journal) => journal.record(A, HEADER));
  cpSync(join(folder, 'data'), join(folder, 'backup'), { recursive: true });
  withNode('data', (journal) => journal.record(A, { ...HEADER, blockId: '20', height: 60, timestamp: 600 }));
  await run('export', 'lost.json', 'data');
  rmSync(join(folder, 'data'), { recursive: true });
  cpSync(join(folder, 'backup'), join(folder, 'data'), { recursive: true });
  await run('export', 'old.json', 'data');
  t.regex((await run('import', 'old.json', 'data')).stdout, /so the node first makes sure that no other node signs/);
  t.is(watermarks.read(A)?.movedAtS, undefined);
  withNode('data', (journal) => {
    t.deepEqual([journal.movedAtS(A), journal.last(A)?.height], [undefined, 60]);
    t.true((journal.heldSinceS(A) ?? 0) > 600, 'the delegate waits');
  });
});

test.serial(
  'a repeated import repairs the watermarks of an import that was killed before it changed them',
  async (t) => {
    const here = machine(t);
    const { folder, withNode, watermarks, run } = here;
    withNode('data', (journal) => journal.record(A, HEADER));
    await run('export', 'record.json', 'data');
    cpSync(join(folder, 'record.json'), join(folder, 'kept.json'));
    const exported = watermarks.read(A);
    await run('import', 'record.json', 'data');
    if (exported === undefined) throw new Error('the export has marked the watermark');
    watermarks.write(A, exported);
    t.regex((await run('import', 'kept.json', 'data')).stdout, /so nothing was changed/);
    t.true(maySign(here, 'data'));
  },
);

test.serial('a copied watermark makes an import a copy, although it says that the delegate was exported', async (t) => {
  const here = machine(t);
  const { folder, withNode, run } = here;
  withNode('from', (journal) => journal.record(A, HEADER));
  await run('export', 'record.json', 'from');
  cpSync(join(folder, 'signed'), join(folder, 'backup'), { recursive: true });
  rmSync(join(folder, 'signed'), { recursive: true });
  cpSync(join(folder, 'backup'), join(folder, 'signed'), { recursive: true });
  t.regex((await run('import', 'record.json', 'into')).stdout, /; it counts as a copy, so the node first/);
  t.false(maySign(here, 'into'));
});

test.serial('with equal headers, a record of another export counts as a copy whatever the clocks say', async (t) => {
  for (const aheadS of [-3600, 3600]) {
    const here = machine(t);
    const { folder, withNode, run } = here;
    withNode('from', (journal) => journal.record(A, HEADER));
    await run('export', 'record.json', 'from');
    const record = recordOfText(readFileSync(join(folder, 'record.json'), 'utf8'), 'record.json');
    const kept = textOfRecord({ ...record, exportedAtS: record.exportedAtS + aheadS });
    writeFileSync(join(folder, 'record.json'), kept);
    await run('import', 'record.json', 'into');
    await run('export', 'next.json', 'into');
    rmSync(join(folder, 'signed'), { recursive: true });
    writeFileSync(join(folder, 'record.json'), kept);
    t.regex((await run('import', 'record.json', 'into')).stdout, /so it counts as a copy|; it counts as a copy/);
    t.false(maySign(here, 'into'));
  }
});

test.serial(
  'of two imports of one file with different watermarks, the one that claims the file later is a copy',
  async (t) => {
    for (const happens of ['marks', 'marked', 'gone'] as const) {
      const here = machine(t);
      const { folder, withNode, run } = here;
      withNode('from', (journal) => journal.record(A, HEADER));
      await run('export', 'record.json', 'from');
      const file = join(folder, 'record.json');
      const other = { ...recordOfText(readFileSync(file, 'utf8'), file), isCopy: true };
      const claim = `${file}.${idOfRecord(other).slice(0, 16)}.import`;
      // This process and a simulated second process import the same file. After this process has read the file, one of
      // three things happens. In the case `marked`, the second process marks the file as a copy. In the case `marks`,
      // the second process begins to mark the file as a copy. In the case `gone`, the file disappears.
      const { fsyncSync } = fs;
      let calls = 0;
      fs.fsyncSync = (descriptor) => {
        calls += 1;
        if (calls === 1 && happens === 'gone') rmSync(file);
        else if (calls === 1) writeFileSync(happens === 'marks' ? claim : file, textOfRecord(other));
        fsyncSync(descriptor);
      };
      syncBuiltinESMExports();
      const config = join(folder, 'config.json5');
      writeFileSync(config, `{ forging: { watermarkFolder: '${join(folder, 'other-signed')}' } }`);
      forgingImport(file, { network: 'devnet', dataDir: join(folder, 'into'), config });
      fs.fsyncSync = fsyncSync;
      syncBuiltinESMExports();
      rmSync(join(folder, 'signed'), { recursive: true });
      t.false(maySign(here, 'into'), happens);
      if (happens !== 'gone') t.regex(readFileSync(file, 'utf8'), /"isCopy": true/);
    }
  },
);

test.serial('a file that was formatted, or lies beside an interrupted import, is a first import', async (t) => {
  const here = machine(t);
  const { folder, withNode, run } = here;
  withNode('from', (journal) => journal.record(A, HEADER));
  await run('export', 'record.json', 'from');
  const file = join(folder, 'record.json');
  const record = recordOfText(readFileSync(file, 'utf8'), file);
  writeFileSync(file, JSON.stringify(JSON.parse(readFileSync(file, 'utf8'))));
  const earlier = idOfRecord({ ...record, exportedAtS: record.exportedAtS - 1 });
  writeFileSync(`${file}.${earlier.slice(0, 16)}.import`, '');
  t.regex((await run('import', 'record.json', 'into')).stdout, /this node may sign for them now/);
  t.true(maySign(here, 'into'));
});

test.serial('a record that returns is whole, although one of its delegates has never signed', async (t) => {
  const here = machine(t);
  const { folder, withNode, run, isCopy } = here;
  withNode('one', (journal) => {
    journal.record(A, HEADER);
    journal.hold(B, 300);
  });
  await run('export', 'there.json', 'one');
  await run('import', 'there.json', 'two');
  withNode('two', (journal) => journal.record(A, { ...HEADER, blockId: '60', height: 60, timestamp: 600 }));
  await run('export', 'back.json', 'two');
  // The times of the two exports are equal in this test, but not on two machines.
  const back = recordOfText(readFileSync(join(folder, 'back.json'), 'utf8'), 'back.json');
  writeFileSync(join(folder, 'back.json'), textOfRecord({ ...back, exportedAtS: back.exportedAtS - 60 }));
  rmSync(join(folder, 'signed'), { recursive: true });
  t.regex((await run('import', 'back.json', 'one')).stdout, /; it may lack signatures of 1 of them, so/);
  t.true(maySign(here, 'one'));
  await run('export', 'next.json', 'one');
  t.false(isCopy('next.json'));
});

test.serial('an import says that a watermark of a later export prevents signing', async (t) => {
  const here = machine(t);
  const { withNode, run, watermarks } = here;
  withNode('from', (journal) => journal.record(A, HEADER));
  await run('export', 'record.json', 'from');
  watermarks.write(A, { last: { ...HEADER, blockId: '60', height: 60, timestamp: 600 }, movedAtS: 2_000_000_000 });
  t.regex(
    (await run('import', 'record.json', 'into')).stdout,
    /was exported later, so this node does not sign for that/,
  );
  t.false(maySign(here, 'into'));
});

test.serial('an import says which delegates still wait', async (t) => {
  const { folder, withNode, run } = machine(t);
  withNode('from', (journal) => {
    journal.record(A, HEADER);
    journal.hold(B, 300);
  });
  await run('export', 'record.json', 'from');
  cpSync(join(folder, 'record.json'), join(folder, 'older.json'));
  t.regex(
    (await run('import', 'record.json', 'into')).stdout,
    /; it may lack signatures of 1 of them, so the node first makes sure that no other node signs\n$/,
  );
  // The journal in the folder `copied` is a copy of another journal. It has a delegate that is not in the imported file
  // `older.json`. After the import, this journal therefore still counts as a copy.
  withNode('other', (journal) => {
    journal.record(A, HEADER);
    journal.hold('cc'.repeat(32), 300);
  });
  cpSync(join(folder, 'other'), join(folder, 'copied'), { recursive: true });
  rmSync(join(folder, 'signed'), { recursive: true });
  t.regex(
    (await run('import', 'older.json', 'copied')).stdout,
    /; the signing record of this folder is a copy and has further delegates, so/,
  );
});

test.serial('an import that fails before it marks the record can be repeated as a first import', async (t) => {
  const { folder, withNode, run } = machine(t);
  withNode('from', (journal) => journal.record(A, HEADER));
  await run('export', 'record.json', 'from');
  // The flush of the line in the journal fails.
  const restore = failing(t, 'fsyncSync', (call) => call === 2);
  t.throws(() => forgingImport(join(folder, 'record.json'), { network: 'devnet', dataDir: join(folder, 'into') }), {
    code: 'JOURNAL_WRITE_FAILED',
  });
  restore();
  t.regex((await run('import', 'record.json', 'into')).stdout, /this node may sign for them now/);
});

test.serial('an old file of a record changes nothing in the folder that imported the record before', async (t) => {
  const here = machine(t);
  const { folder, withNode, watermarks, run } = here;
  const copied = (from: string, to: string) => {
    rmSync(join(folder, to), { recursive: true, force: true });
    cpSync(join(folder, from), join(folder, to), { recursive: true });
  };
  withNode('from', (journal) => journal.record(A, HEADER));
  await run('export', 'record.json', 'from');
  copied('record.json', 'old.json');
  await run('import', 'record.json', 'data');
  withNode('data', (journal) => journal.record(A, { ...HEADER, blockId: '18', height: 8, timestamp: 80 }));
  for (const name of ['data', 'signed']) copied(name, `${name}-backup`);
  // The signing record of the delegate is exported, and then the old data folder is restored. The watermark (a record
  // outside of the data folder) still shows the export.
  copied('old.json', 'again.json');
  await run('export', 'next.json', 'data');
  copied('data-backup', 'data');
  t.regex((await run('import', 'again.json', 'data')).stdout, /so nothing was changed/);
  t.false(maySign(here, 'data'));
  t.not(watermarks.read(A)?.movedAtS, undefined);
  // The folder and the watermarks are restored together, with and without a start of the node before the import.
  for (const isStarted of [false, true]) {
    for (const name of ['data', 'signed']) copied(`${name}-backup`, name);
    if (isStarted) t.false(maySign(here, 'data'));
    copied('old.json', 'again.json');
    t.regex((await run('import', 'again.json', 'data')).stdout, /so it counts as a copy/);
    t.false(maySign(here, 'data'), isStarted ? 'started' : 'not started');
  }
});

test.serial('a copied folder that imports the newest record of all its delegates is no copy any more', async (t) => {
  const { folder, withNode, run } = machine(t);
  withNode('from', (journal) => journal.record(A, HEADER));
  cpSync(join(folder, 'from'), join(folder, 'into'), { recursive: true });
  cpSync(join(folder, 'from'), join(folder, 'other'), { recursive: true });
  withNode('from', (journal) => journal.record(A, { ...HEADER, blockId: '18', height: 8, timestamp: 80 }));
  await run('export', 'record.json', 'from');
  rmSync(join(folder, 'signed'), { recursive: true });
  t.regex((await run('import', 'record.json', 'into')).stdout, /this node may sign for them now/);
  withNode('into', (journal) => t.deepEqual([journal.last(A)?.height, journal.heldSinceS(A)], [8, 0]));
});

test.serial('a copied folder whose record has more delegates than the imported one stays a copy', async (t) => {
  const { folder, withNode, run } = machine(t);
  withNode('from', (journal) => journal.record(A, HEADER));
  withNode('old', (journal) => {
    journal.record(A, HEADER);
    journal.record(B, HEADER);
  });
  cpSync(join(folder, 'old'), join(folder, 'into'), { recursive: true });
  await run('export', 'record.json', 'from');
  rmSync(join(folder, 'signed'), { recursive: true });
  await run('import', 'record.json', 'into');
  withNode('into', (journal) => t.is(journal.heldSinceS(B), 500));
});

test.serial('the file of an import of a copy makes a later import of the same record a copy', async (t) => {
  const { folder, withNode, run } = machine(t);
  withNode('from', (journal) => journal.record(A, HEADER));
  await run('export', 'record.json', 'from');
  cpSync(join(folder, 'record.json'), join(folder, 'left.json'));
  const text = JSON.parse(readFileSync(join(folder, 'record.json'), 'utf8'));
  const marked = recordOfText(readFileSync(join(folder, 'record.json'), 'utf8'), 'record.json');
  writeFileSync(join(folder, 'record.json'), textOfRecord({ ...marked, isCopy: true }));
  t.false(text.isCopy);
  t.regex((await run('import', 'record.json', 'into')).stdout, /it is a copy/);
  t.regex((await run('import', 'left.json', 'other')).stdout, /so it counts as a copy/);
});

test.serial('an export with --keep says for which delegates the node continues to sign', async (t) => {
  const { withNode, run } = machine(t);
  withNode('data', (journal) => journal.record(A, HEADER));
  t.regex((await run('export', 'one.json', 'data', '--keep')).stderr, /; this node continues to sign\n/);
  await run('export', 'two.json', 'data');
  withNode('data', (journal) => journal.record(B, HEADER));
  const { stderr } = await run('export', 'three.json', 'data', '--keep');
  t.regex(stderr, /; this node signs for 1 of them no longer until the record is imported here again; delegates of/);
});

test.serial(
  'an export whose JSON cannot be printed says that the record was written and the signing ended',
  async (t) => {
    const { folder, withNode } = machine(t);
    withNode('data', (journal) => journal.record(A, HEADER));
    const full = openSync('/dev/full', 'w');
    const args = ['forging', 'export', join(folder, 'record.json'), '--json', '--network', 'devnet'];
    const { status, stderr } = spawnSync(process.execPath, [CLI_ENTRY, ...args, '--data-dir', join(folder, 'data')], {
      env: { ...process.env, BLOOMERY_FORGING_WATERMARK_FOLDER: join(folder, 'signed') },
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    t.is(status, 1);
    t.regex(String(stderr), /record\.json was written, and this node does not sign any more/);
  },
);

test.serial('a damaged record, one of another network and a missing one are refused without a change', async (t) => {
  const folder = temporaryFolder(t);
  const [from, into, file] = [join(folder, 'from'), join(folder, 'into'), join(folder, 'record.json')];
  const journal = openJournal(journalFileOf(join(from, 'devnet')));
  journal.record(A, HEADER);
  journal.close();
  await runCli(['forging', 'export', file, '--keep', '--network', 'devnet', '--data-dir', from]);
  const importInto = (network: string) => runCli(['forging', 'import', file, '--network', network, '--data-dir', into]);
  const other = await importInto('devnet-gen2');
  t.is(other.code, 2);
  t.true(isProblemLine(other.stderr));
  t.regex(other.stderr, /of another network/);
  t.false(existsSync(into));
  writeFileSync(file, readFileSync(file, 'utf8').replace('"height": 7', '"height": 8'));
  t.regex((await importInto('devnet')).stderr, /record\.json: was changed or damaged/);
  t.false(existsSync(journalFileOf(join(into, 'devnet'))));
  const missing = await runCli(['forging', 'import', join(folder, 'none'), '--network', 'devnet', '--data-dir', into]);
  t.regex(missing.stderr, /none: cannot be read: does not exist/);
  t.regex(
    (await runCli(['forging', 'export', join(folder, 'x'), '--network', 'devnet', '--data-dir', into])).stderr,
    /there is no signing record in/,
  );
});

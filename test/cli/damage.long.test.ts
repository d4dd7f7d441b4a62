/**
 * Damages the data file of a chain, as a faulty disk can do, and checks the messages of the commands. By default, 8
 * tests damage one page each. With `DAMAGED_FOLDERS=50`, 50 tests damage one page each. Each further test flips one bit
 * in one table. By default, every seventh table has such a test. With `DAMAGED_FOLDERS=50`, every table has such a
 * test. The tables in `LACKING` never have such a test.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { addressOf } from '../../src/crypto/keys.ts';
import { chainDirectory, openChain, type ChainLocation } from '../../src/node/chain-tool.ts';
import { hexOf } from '../../src/primitives/bytes.ts';
import { DATA_FILE } from '../../src/store/disk/data-file.ts';
import { TABLES, type TableName } from '../../src/store/tables/layout.ts';
import { madeChain, NETWORK_NAME, locationIn, storeChain, writeNetworkFolder } from '../support/chain-folder.ts';
import { CLI_ENTRY } from '../support/cli.ts';
import { entriesOf, pagesInUse, type PageInUse } from '../support/damaged-pages.ts';

const PAGE_BYTES = 4096;
const FOLDERS = Number(process.env['DAMAGED_FOLDERS'] ?? 8);
const { network, blocks } = madeChain(300);
const TABLE_NAMES = Object.keys(TABLES) as TableName[];
/** Tables to which the chain of this test writes nothing. The test flips no bit in them. */
const LACKING: readonly TableName[] = ['facts', 'transactionsByData', 'longLists', 'secondPublicKeys', 'memberships'];

let folder: string;
let networkFolder: string;
let whole: Buffer;
let pages: readonly PageInUse[];

test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-damage-'));
  networkFolder = writeNetworkFolder(join(folder, 'net'), network);
  const place = locationIn(join(folder, 'data'), network);
  await storeChain(place, blocks);
  await leaveNotes(place);
  whole = readFileSync(join(chainDirectory(place), DATA_FILE));
  pages = pagesInUse(whole);
});
test.after.always(() => rmSync(folder, { recursive: true, force: true }));

/** Reverts the last block and applies it again. The revert writes the finalized height to the table `notes`. */
async function leaveNotes(place: ChainLocation): Promise<void> {
  const { chain, close } = await openChain(place, true);
  try {
    await chain.rollback(blocks.length - 1);
    await chain.append(blocks.slice(-1));
  } finally {
    await close();
  }
}

/** Returns a pseudo-random number that depends only on the arguments, so that a failure is reproducible. */
function pick(seed: number, below: number): number {
  return (Math.imul(seed + 1, 2_654_435_761) >>> 0) % below;
}

interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  readonly text: string;
}

async function run(data: string, command: readonly string[]): Promise<Ending> {
  const args = [...command, '--data-dir', data, '--network', networkFolder];
  const child = spawn(process.execPath, [CLI_ENTRY, ...args], {
    env: { PATH: process.env['PATH'], HOME: data, BLOOMERY_HOME: data, BLOOMERY_HTTP_ENABLED: 'false' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      // Stop a node that started in spite of the damage.
      if (text.includes('data in ')) child.kill('SIGTERM');
    });
  }
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { code, signal, text };
}

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  doctor: ['doctor', '--node', 'http://127.0.0.1:1'],
  verify: ['verify'],
  export: ['export', '/dev/null'],
  rollback: ['rollback', '--to', '299', '--yes'],
  start: ['start', '--no-peers', '--no-forging'],
};

/** Runs all commands, each on its own copy of the folder with a damaged data file. */
async function endings(
  name: string,
  damage: (bytes: Buffer) => number | undefined,
): Promise<Readonly<Record<string, Ending>>> {
  const all: Record<string, Ending> = {};
  for (const [command, args] of Object.entries(COMMANDS)) {
    const data = join(folder, name);
    cpSync(join(folder, 'data'), data, { recursive: true });
    const bytes = Buffer.from(whole);
    const length = damage(bytes);
    const path = join(data, NETWORK_NAME, 'chain', DATA_FILE);
    writeFileSync(path, bytes);
    if (length !== undefined) truncateSync(path, length);
    all[command] = await run(data, args);
    rmSync(data, { recursive: true, force: true });
  }
  return all;
}

const RAW = /MDB_|Assertion|mdb_|lmdb error|defect of the program|\n {4}at /;

for (let index = 0; index < FOLDERS; index += 1) {
  const kind = (['zeroed', 'garbled', 'cut off', 'another’s'] as const)[index % 4];
  test.serial(`folder ${index}: a page that is ${kind} is reported by every command, with the remedy`, async (t) => {
    // Damage the root page in the first folder, and a pseudo-random page in each further folder.
    const page = pages[index === 0 ? 0 : pick(index, pages.length)] as PageInUse;
    const at = page.number * PAGE_BYTES;
    const all = await endings(`folder-${index}`, (bytes) => {
      if (kind === 'cut off') return at;
      const garbage = Buffer.from(Array.from({ length: PAGE_BYTES }, (_, place) => pick(index * 7919 + place, 256)));
      if (kind === 'zeroed') bytes.fill(0, at, at + PAGE_BYTES);
      else if (kind === 'garbled') garbage.copy(bytes, at);
      else bytes.copyWithin(at, (page.number === 5 ? 6 : 5) * PAGE_BYTES, (page.number === 5 ? 7 : 6) * PAGE_BYTES);
      return undefined;
    });
    for (const [command, { code, signal, text }] of Object.entries(all)) {
      const about = `${command}, ${page.kind} page ${page.number} of table ${page.table} ${kind}: ${text}`;
      t.is(signal, null, about);
      t.is(code, 1, about);
      t.notRegex(text, RAW, about);
      t.regex(text, /damaged|cut off/, about);
      t.regex(text, /backup/, about);
    }
  });
}

/** Offset of a byte in a value of a table, or in a key if the values are empty. */
function byteOf(table: TableName): number {
  const { number } = TABLES[table];
  const entries = entriesOf(whole, pages, number);
  const entry = entries[pick(number, entries.length)];
  if (entry === undefined) throw new Error(`the chain has nothing in table ${table}`);
  const { keyAt, keyBytes, valueAt, valueBytes } = entry;
  return valueBytes > 0 ? valueAt + pick(number + 1000, valueBytes) : keyAt + pick(number + 1000, keyBytes);
}

for (const [index, table] of TABLE_NAMES.entries()) {
  if (LACKING.includes(table) || (FOLDERS < 50 && index % 7 !== 2)) continue;
  const { role } = TABLES[table];
  test.serial(`verify reports a flipped byte of table ${table} with the remedy, and nothing crashes`, async (t) => {
    const at = byteOf(table);
    const bit = 1 << pick(index, 8);
    const all = await endings(`flipped-${table}`, (bytes) => {
      bytes[at] = (bytes[at] ?? 0) ^ bit;
      return undefined;
    });
    for (const [command, { signal, text }] of Object.entries(all)) {
      const about = `${command}, byte ${at} of table ${table}, bit ${bit}: ${text}`;
      t.is(signal, null, about);
      t.notRegex(text, RAW, about);
    }
    const reporting =
      role === 'state' || table === 'undo' || table === 'notes'
        ? ['verify', 'start', 'doctor', 'rollback']
        : ['verify'];
    for (const command of reporting) {
      const { code, text } = all[command] as Ending;
      const about = `${command}, byte ${at} of table ${table}, bit ${bit}: ${text}`;
      t.is(code, 1, about);
      // The table `meta` identifies the store, so a damaged value looks like another network or another version.
      t.regex(text, table === 'meta' ? /backup|layout|another|parameters/ : /backup/, about);
    }
  });
}

test.serial(
  'every command that uses the state, and verify, reports a flipped byte in an account with the remedy',
  async (t) => {
    const [account] = network.accounts;
    const name = Buffer.from(addressOf(hexOf(account?.publicKey ?? new Uint8Array())));
    // Undo records also contain the address. The search therefore includes the bytes before the address: the length of
    // the key and the number of the table.
    const key = Buffer.from([name.length + 1, 0, TABLES.accounts.number, ...name]);
    const found = pages
      .filter(({ kind }) => kind === 'leaf')
      .map(({ number }) => {
        const at = whole.subarray(number * PAGE_BYTES, (number + 1) * PAGE_BYTES).indexOf(key);
        return at < 0 ? -1 : number * PAGE_BYTES + at + key.length;
      });
    const at = Math.max(...found);
    t.true(at > 0);
    const all = await endings('account', (bytes) => {
      bytes[at + 3] = (bytes[at + 3] ?? 0) ^ 1;
      return undefined;
    });
    for (const command of ['start', 'doctor', 'rollback'] as const) {
      t.is(all[command]?.code, 1, command);
      t.regex(
        all[command]?.text ?? '',
        /its state does not match its checksum.*bloomery verify.*Restore it from a backup/,
      );
    }
    t.is(all['verify']?.code, 1);
    t.regex(all['verify']?.text ?? '', /table accounts holds a wrong value .*restore the folder from a backup/);
    t.is(all['export']?.code, 0, 'its blocks are whole');
  },
);

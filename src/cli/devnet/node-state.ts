/** The files of a node's state: what a snapshot of a devnet takes from each node and puts back. */

import { constants, copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TransactionPool } from '../../engine/pool/pool.ts';
import { journalFileOf } from '../../node/journal-file.ts';
import { chainDirectory } from '../../node/chain-directory.ts';
import { transactionJournalOf } from '../../node/transaction-journal-file.ts';
import { POOL_STATES } from '../../engine/pool/queues.ts';
import type { Codec } from '../../protocol/rules.ts';
import type { JsonObject } from '../../protocol/types.ts';
import { DATA_FILE } from '../../store/disk/data-file.ts';
import { makeFolder } from '../../store/disk/folder.ts';

const POOL_FILE = 'pool.json';
const JOURNAL_FILE = 'forging-journal';
const TRANSACTIONS_FILE = 'transaction-journal';

/** Files below the folder of a node, by their names in a snapshot. */
function filesOf(dataDirectory: string): readonly (readonly [name: string, file: string])[] {
  return [
    [DATA_FILE, join(chainDirectory({ dataDirectory }), DATA_FILE)],
    [JOURNAL_FILE, journalFileOf(dataDirectory)],
    // Else a node would take up again what it accepted after the snapshot and has in no block yet.
    [TRANSACTIONS_FILE, transactionJournalOf(dataDirectory)],
  ];
}

/**
 * Copies chain and journals of a node that writes nothing meanwhile. Blocks are shared with the original where the file system
 * can do that, so a copy takes neither time nor module.
 */
export function copyState(dataDirectory: string, directory: string): void {
  makeFolder(directory);
  for (const [name, file] of filesOf(dataDirectory)) {
    if (existsSync(file)) copyFileSync(file, join(directory, name), constants.COPYFILE_FICLONE);
  }
}

/** Transactions of all states, in the order in which they can be taken in again. */
export function writePool(directory: string, pool: Pick<TransactionPool, 'entries'>, codec: Codec): void {
  const entries = [...POOL_STATES].reverse().flatMap((state) => pool.entries(state));
  const json = entries.map(({ transaction }) => codec.transactionToJson(transaction));
  writeFileSync(join(directory, POOL_FILE), JSON.stringify(json));
}

export function readPool(directory: string): readonly JsonObject[] {
  const file = join(directory, POOL_FILE);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as JsonObject[]) : [];
}

/**
 * Puts the state of a snapshot in the place of that of a node that is closed. A file that the snapshot lacks is removed: the
 * node begins with the genesis block and gets the rest from the others.
 *
 * @param options `withJournal: false` for another node than the one whose state it was: it signed none of it, and promised nobody anything
 */
export function putBackState(directory: string, dataDirectory: string, { withJournal = true } = {}): void {
  makeFolder(chainDirectory({ dataDirectory }));
  for (const [name, file] of filesOf(dataDirectory)) {
    if (name !== DATA_FILE && !withJournal) continue;
    const kept = join(directory, name);
    if (!existsSync(kept)) {
      rmSync(file, { force: true });
      continue;
    }
    // Whoever has the old file open keeps it; nobody sees half of the new one.
    const draft = `${file}.draft`;
    copyFileSync(kept, draft, constants.COPYFILE_FICLONE);
    renameSync(draft, file);
  }
  rmSync(join(chainDirectory({ dataDirectory }), 'lock.mdb'), { force: true });
}

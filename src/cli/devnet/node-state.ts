/**
 * Copies the chain and the journals of a node into a snapshot of a devnet, and restores them from a snapshot. Writes
 * the transactions of the pool into a snapshot, and reads these transactions from a snapshot.
 */

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

/** The files with the chain and the journals in the data folder of a node, each with its name in a snapshot. */
function filesOf(dataDirectory: string): readonly (readonly [name: string, file: string])[] {
  return [
    [DATA_FILE, join(chainDirectory({ dataDirectory }), DATA_FILE)],
    [JOURNAL_FILE, journalFileOf(dataDirectory)],
    // Without this entry, a node would keep its transaction journal when the user reverts the devnet to a snapshot.
    // From this journal, the node would then restore transactions that arrived after the snapshot was made.
    [TRANSACTIONS_FILE, transactionJournalOf(dataDirectory)],
  ];
}

/**
 * Copies the chain and the journals of a node. The node must not write during the copy. If the file system can clone
 * files (copy-on-write), the copy takes hardly any time and space.
 */
export function copyState(dataDirectory: string, directory: string): void {
  makeFolder(directory);
  for (const [name, file] of filesOf(dataDirectory)) {
    if (existsSync(file)) copyFileSync(file, join(directory, name), constants.COPYFILE_FICLONE);
  }
}

/** Writes the transactions of all queues of the pool, in an order in which the pool accepts the transactions again. */
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
 * Replaces the chain and the journals of a closed node by the chain and the journals in a snapshot. Removes a file of
 * the node if the snapshot lacks this file. If the snapshot has no chain, the node begins with the genesis block and
 * downloads all further blocks.
 *
 * @param options `withJournal: false` replaces only the chain. Use this value for a snapshot of another node, because
 *   the blocks that the other node signed, and the transactions that the other node accepted, do not concern this node
 */
export function restoreState(directory: string, dataDirectory: string, { withJournal = true } = {}): void {
  makeFolder(chainDirectory({ dataDirectory }));
  for (const [name, file] of filesOf(dataDirectory)) {
    if (name !== DATA_FILE && !withJournal) continue;
    const kept = join(directory, name);
    if (!existsSync(kept)) {
      rmSync(file, { force: true });
      continue;
    }
    // The new file gets its name only when it is complete. A process that has opened the old file continues to read the
    // old file.
    const draft = `${file}.draft`;
    copyFileSync(kept, draft, constants.COPYFILE_FICLONE);
    renameSync(draft, file);
  }
  rmSync(join(chainDirectory({ dataDirectory }), 'lock.mdb'), { force: true });
}

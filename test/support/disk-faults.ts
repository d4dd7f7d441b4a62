/**
 * Causes faults that `bloomery doctor` must find when no node answers, such as a damaged store or a wrong
 * configuration.
 */

import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { FaultCode } from '../../src/cli/doctor/catalogue.ts';
import type { DoctorRequest } from '../../src/cli/doctor/run-checks.ts';
import { chainDirectory, type ChainLocation } from '../../src/node/chain-tool.ts';
import { journalFileOf, openJournal } from '../../src/node/journal-file.ts';
import { LAYOUT_VERSION, META_LAYOUT, META_NETWORK, META_PARAMS, TABLES } from '../../src/store/tables/layout.ts';
import { openLmdb } from '../../src/store/disk/lmdb.ts';
import { takePort } from './cli.ts';

/** A healthy node folder that the doctor will examine. */
export interface DiskFixture extends DoctorRequest {
  readonly place: ChainLocation;
  readonly network: string;
  readonly config: string;
}

/** Height of the block whose header `STORE_CHAIN_BROKEN` removes. The height is low, because the chain is short. */
const REMOVED_HEIGHT = 3;

/**
 * A function that causes one fault of the doctor's catalogue. If the fault needs an open port or an open file, the
 * function also registers a teardown of the test that closes the port or the file.
 */
type Induce = (its: DiskFixture, t: ExecutionContext) => unknown;

export const diskFaults: Partial<Record<FaultCode, Induce>> = {
  NETWORK_FOLDER_WRONG: ({ network: folder }) => writeFileSync(join(folder, 'network.json'), '{'),
  CONFIG_WRONG: ({ config }) => writeFileSync(config, '{ http: { prt: 1 } }'),
  FORGING_KEY_WRONG: ({ config }) =>
    writeFileSync(
      config,
      JSON.stringify({
        forging: {
          force: true,
          defaultPassword: 'wrong',
          delegates: [
            {
              publicKey: 'ab'.repeat(32),
              encryptedPassphrase:
                `iterations=1&cipherText=${'ab'.repeat(60)}&iv=${'cd'.repeat(12)}&salt=${'ef'.repeat(16)}` +
                `&tag=${'01'.repeat(16)}&version=1`,
            },
          ],
        },
      }),
    ),
  FORGING_OPEN_TO_STRANGERS: ({ config }) =>
    writeFileSync(config, '{ http: { port: 0, forgingWhitelist: ["0.0.0.0/0"] }, p2p: { port: 0 } }'),
  DATA_FOLDER_UNWRITABLE: ({ place }) => {
    rmSync(place.dataDirectory, { recursive: true });
    writeFileSync(place.dataDirectory, 'a file where a folder should be');
  },
  DISK_NEARLY_FULL: (its) => Object.assign(its, { freeBytesOf: () => 5e8 }),
  STORE_DAMAGED: ({ place }) => {
    const file = join(chainDirectory(place), 'data.mdb');
    writeFileSync(file, readFileSync(file).subarray(0, 6000));
  },
  STORE_OF_OTHER_LAYOUT: (its) => mark(its, META_LAYOUT, String(LAYOUT_VERSION + 1)),
  STORE_OF_OTHER_NETWORK: (its) => mark(its, META_NETWORK, 'another network'),
  STORE_OF_OTHER_PARAMS: (its) => mark(its, META_PARAMS, '{}'),
  STORE_CHAIN_BROKEN: async ({ place }) => {
    const store = openLmdb(chainDirectory(place), false);
    const key = Buffer.alloc(5);
    key.writeUInt8(TABLES.headers.number, 0);
    key.writeUInt32BE(REMOVED_HEIGHT, 1);
    store.transact((writer) => writer.remove(key));
    await store.close();
  },
  JOURNAL_DAMAGED: ({ place }) => appendFileSync(journalFileOf(place.dataDirectory), 'no line\nno line\n'),
  PORT_TAKEN: async ({ config }, t) =>
    writeFileSync(config, JSON.stringify({ http: { port: await takePort(t), host: '127.0.0.1' }, p2p: { port: 0 } })),
  NODE_SILENT: ({ place }, t) => {
    const journal = openJournal(journalFileOf(place.dataDirectory));
    t.teardown(() => journal.close());
  },
  NODE_NOT_RUNNING: () => undefined,
};

async function mark({ place }: DiskFixture, name: string, value: string): Promise<void> {
  const store = openLmdb(chainDirectory(place), false);
  store.transact((writer) => writer.put(TABLES.meta.key(name), Buffer.from(value)));
  await store.close();
}

/**
 * A world contains the resources for one group of interop cases in one generation: a new network, a folder, a database
 * server, and nodes.
 */

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readAccounts, type KnownAccount } from '../../src/cli/genesis/accounts-file.ts';
import { makeNetwork } from '../../src/cli/genesis/make-network.ts';
import { writeNetworkFolder } from '../../src/cli/network-folder.ts';
import { loadNetwork, type ForgerEntry, type Network } from '../../src/config/network.ts';
import type { Generation } from '../../src/protocol/params.ts';
import type { RealRelease } from './install.ts';
import type { InteropNode } from './nodes.ts';
import { freePort } from '../support/ports.ts';
import { startPostgres, type Postgres, type PostgresPlace } from './postgres.ts';
import { Processes } from './processes.ts';

export interface World {
  readonly generation: Generation;
  readonly folder: string;
  readonly network: Network;
  readonly accounts: readonly KnownAccount[];
  readonly delegates: readonly ForgerEntry[];
  readonly password: string;
  readonly release: RealRelease;
  readonly postgres: Postgres;
  readonly processes: Processes;
  /** All nodes that were created in the world. */
  readonly nodes: InteropNode[];
  log(line: string): void;
  /** The function `close` calls these functions before it ends all processes of the world. */
  readonly closing: (() => void)[];
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly release: RealRelease;
  readonly postgres: PostgresPlace;
  readonly log: (line: string) => void;
  /**
   * If true, `close` keeps the folder of the world, which contains the log files. If false, `close` removes the folder.
   */
  readonly keep: boolean;
  /**
   * Before `makeWorld` starts the database server, it calls this function and passes the function `close` of the world.
   * A signal handler can then call `close`, even if the world is not complete.
   */
  readonly begun?: (close: () => Promise<void>) => void;
}

export const BLOCK_TIME_S = 2;
/**
 * First height whose block has a reward. The height is low, so that the chains of the cases contain blocks with
 * rewards.
 */
const REWARD_OFFSET = 110;

export async function makeWorld(options: WorldOptions): Promise<World> {
  const { release, log } = options;
  const { generation } = release;
  const folder = mkdtempSync(join(tmpdir(), `bloomery-interop-${generation}-`));
  const processes = new Processes();
  const closing: (() => void)[] = [];
  const close = async (): Promise<void> => {
    for (const work of closing.splice(0)) work();
    await processes.endAll();
    if (options.keep) log(`what it leaves behind: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  };
  options.begun?.(close);
  try {
    const network = await newNetwork(generation, join(folder, 'network'));
    const { forgers } = network;
    if (forgers === undefined) throw new Error('the new network has no delegates');
    // The database server may run as another user of the operating system. This user needs access to the folder
    // `database` inside the folder of the world.
    chmodSync(folder, 0o711);
    mkdirSync(join(folder, 'database'), { mode: 0o755 });
    const postgres = await startPostgres(options.postgres, join(folder, 'database'), await freePort(), processes);
    return {
      generation,
      folder,
      network,
      accounts: readAccounts(network.directory),
      delegates: forgers.delegates,
      password: forgers.defaultPassword ?? '',
      release,
      postgres,
      processes,
      nodes: [],
      closing,
      log,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Creates a network like `bloomery genesis create`, but with rewards from height `REWARD_OFFSET` on. */
async function newNetwork(generation: Generation, directory: string): Promise<Network> {
  const request = { generation, name: 'interop', blockTimeS: BLOCK_TIME_S, delegates: 101, seed: 'interop' };
  writeNetworkFolder(directory, await makeNetwork(request));
  const file = join(directory, 'network.json');
  const json = JSON.parse(readFileSync(file, 'utf8')) as { rewards: object };
  writeFileSync(file, JSON.stringify({ ...json, rewards: { ...json.rewards, offset: REWARD_OFFSET } }));
  return loadNetwork(directory);
}

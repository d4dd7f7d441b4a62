/** Reads and checks the files of an earlier run in the folder of a devnet, and writes the files for the next run. */

import { chmodSync, cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readBounded } from '../../config/bounded-file.ts';
import { bloomeryHome, loadNetwork, type Network } from '../../config/network.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { clockSettingOf, type ClockSetting } from '../../node/movable-clock.ts';
import { makeFolder } from '../../store/disk/folder.ts';
import { takeLock, type ProcessLock } from '../../store/disk/process-lock.ts';
import type { ForkFacts } from './fork/prepare.ts';
import { CONTROL_FILE } from './control-file.ts';
import type { ChosenNetwork } from './network.ts';
import type { PlannedNode } from './plan.ts';

/** Settings that must be equal in all runs of a devnet in the same folder. */
interface DevnetRecord {
  readonly nodes: number;
  readonly blockTimeS: number;
  readonly genesisBlockId: string;
}

const RECORD_FILE = 'devnet.json';
const FILE_BYTES_MAX = 1024 * 1024;
/** Copy of the network folder, for a devnet that does not use the original folder (see `placedNetwork`). */
export const NETWORK_FOLDER = 'network';
/** File with the state of the devnet's clock, for the next run in this folder. */
const CLOCK_FILE = 'clock.json';
/**
 * File with the public keys of impersonated accounts. If a node of a later run verifies the existing blocks again, the
 * node must still accept any signature of these accounts.
 */
const IMPERSONATED_FILE = 'impersonated.json';
/** File with the `ForkFacts` of a forked devnet. */
const FORK_FILE = 'fork.json';
const OWN_ENTRIES: ReadonlySet<string> = new Set([
  ...[NETWORK_FOLDER, RECORD_FILE, CLOCK_FILE, CONTROL_FILE, IMPERSONATED_FILE, FORK_FILE, 'snapshots'],
]);
/**
 * File mode (access rights) of a new devnet folder. Other users of the machine must not read the folder, because the
 * folder contains passphrases and snapshots.
 */
const OWNER_ALONE = 0o700;
const LOCK_NAME = 'devnet.in-use';

/**
 * Folder of a devnet: the folder that `--data-dir` names, or the folder `networkName` in `BLOOMERY_HOME` (default:
 * `~/.bloomery`).
 */
export function devnetDirectory({ dataDir }: { readonly dataDir?: string }, networkName: string): string {
  return dataDir === undefined ? join(bloomeryHome(process.env), networkName) : resolve(dataDir);
}

/**
 * Returns the network, with the path of the network folder that the devnet uses. Usually, the devnet uses the network's
 * own folder. In two cases, the devnet uses a copy in its devnet folder instead: the block time of the devnet differs
 * from the block time of the network, or the network's own folder is temporary. `writeDevnetFolder` makes this copy.
 */
export function placedNetwork(
  { network, isTemporary }: Pick<ChosenNetwork, 'network' | 'isTemporary'>,
  blockTimeS: number | undefined,
  directory: string,
): Network {
  const { params } = network;
  if (!isTemporary && (blockTimeS === undefined || blockTimeS === params.blockTimeS)) return network;
  const placed = { ...params, blockTimeS: blockTimeS ?? params.blockTimeS };
  return { ...network, directory: join(directory, NETWORK_FOLDER), params: placed };
}

/**
 * Refuses a folder that contains data of an earlier run with other settings.
 *
 * @throws ProtocolError `DEVNET_DIFFERS` if the number of nodes, the block time or the genesis block differs;
 *   `DEVNET_UNREADABLE` for an unreadable `devnet.json`
 */
export function checkDevnetFolder(directory: string, nodes: number, network: Network): void {
  const earlier = readRecord(directory);
  if (earlier === undefined) return;
  const now = recordOf(nodes, network);
  // Delegates are divided among the nodes. With a different number of nodes, a node would sign for delegates whose
  // signing journal is on another node.
  const difference =
    earlier.genesisBlockId !== now.genesisBlockId
      ? 'another genesis block'
      : earlier.blockTimeS !== now.blockTimeS
        ? `a block time of ${earlier.blockTimeS} s`
        : earlier.nodes !== now.nodes
          ? `${earlier.nodes} nodes`
          : undefined;
  if (difference === undefined) return;
  throw new ProtocolError(
    'DEVNET_DIFFERS',
    { directory, ...earlier },
    `${directory}: holds a devnet with ${difference}: start it with the same flags, add --fresh to forget it, or choose ` +
      'another folder with --data-dir',
  );
}

/**
 * Creates the folder if it does not exist, and locks it for this process.
 *
 * @throws ProtocolError `DEVNET_IN_USE` while another devnet uses the folder
 */
export function lockDevnetFolder(directory: string): ProcessLock {
  const isNew = !existsSync(directory);
  makeFolder(directory);
  // The file mode of an existing folder is not changed, because the owner of the folder has perhaps chosen this mode.
  if (isNew) chmodSync(directory, OWNER_ALONE);
  try {
    return takeLock(directory, LOCK_NAME);
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.code !== 'LOCKED') throw error;
    const { pid, owner } = error.data;
    throw new ProtocolError(
      'DEVNET_IN_USE',
      { directory, pid },
      `${directory}: in use by the devnet of ${String(owner)}: stop that one, or choose another folder with --data-dir`,
      { cause: error },
    );
  }
}

/** Removes the files of earlier devnets. All other files stay. */
export function wipeDevnetFolder(directory: string): void {
  if (!existsSync(directory)) return;
  for (const entry of readdirSync(directory)) {
    if (/^node-[0-9]{1,2}$/.test(entry) || OWN_ENTRIES.has(entry)) {
      rmSync(join(directory, entry), { recursive: true });
    }
  }
}

/**
 * Writes `devnet.json`, and for each node a folder with its configuration. If `placedNetwork` has returned the path of
 * a copy of the network folder, this function also makes the copy.
 *
 * @param chosen the network with its original folder
 * @param network the network from `placedNetwork`
 */
export function writeDevnetFolder(
  directory: string,
  nodes: readonly PlannedNode[],
  chosen: Network,
  network: Network,
): void {
  makeFolder(directory);
  if (network.directory !== chosen.directory) {
    cpSync(chosen.directory, network.directory, { recursive: true });
    const file = join(network.directory, 'network.json');
    const json = JSON.parse(readBounded(file, { bytesMax: FILE_BYTES_MAX }).toString('utf8')) as object;
    writeFileSync(file, `${JSON.stringify({ ...json, blockTimeS: network.params.blockTimeS }, null, 2)}\n`);
    loadNetwork(network.directory);
  }
  writeFileSync(join(directory, RECORD_FILE), `${JSON.stringify(recordOf(nodes.length, network))}\n`);
  for (const node of nodes) writeNodeFolder(node);
}

/** Makes the folder of one node, with its configuration. */
export function writeNodeFolder(node: PlannedNode): void {
  makeFolder(node.directory);
  writeFileSync(node.configFile, `${JSON.stringify(node.config, null, 2)}\n`, { mode: 0o600 });
}

/** Saves the state of the devnet's clock for the next run in this folder. */
export function writeClock(directory: string, setting: ClockSetting): void {
  writeFileSync(join(directory, CLOCK_FILE), `${JSON.stringify(setting)}\n`);
}

export function writeImpersonated(directory: string, publicKeys: readonly string[]): void {
  writeFileSync(join(directory, IMPERSONATED_FILE), `${JSON.stringify(publicKeys)}\n`, { mode: 0o600 });
}

export function writeForkFacts(directory: string, facts: ForkFacts): void {
  writeFileSync(join(directory, FORK_FILE), `${JSON.stringify(facts)}\n`);
}

/**
 * @returns undefined for a devnet without a forked chain
 * @throws ProtocolError `DEVNET_UNREADABLE` for an unreadable `fork.json`
 */
export function readForkFacts(directory: string): ForkFacts | undefined {
  const file = join(directory, FORK_FILE);
  return existsSync(file) ? (readOwnJson(file) as ForkFacts) : undefined;
}

/**
 * Refuses a folder whose chain has another origin than `source`.
 *
 * @param source path of the chain to fork; undefined for a devnet without a fork
 * @returns true if the folder contains a devnet that was created from `source`; false if the folder contains no devnet
 * @throws ProtocolError `DEVNET_DIFFERS` for a devnet with another origin; `DEVNET_UNREADABLE` for an unreadable
 *   `devnet.json` or `fork.json`
 */
export function checkForkFolder(directory: string, source: string | undefined): boolean {
  const isThere = readRecord(directory) !== undefined;
  const earlier = readForkFacts(directory)?.source;
  if (!isThere || earlier === source) return isThere;
  const difference = earlier === undefined ? 'that was not forked' : `that was forked from ${earlier}`;
  throw new ProtocolError(
    'DEVNET_DIFFERS',
    { directory, source: earlier },
    `${directory}: holds a devnet ${difference}: start it with the same flags, add --fresh to forget it, or choose another ` +
      'folder with --data-dir',
  );
}

/**
 * Returns the public keys of the impersonated accounts; empty if no account was impersonated.
 *
 * @throws ProtocolError `DEVNET_UNREADABLE` for an unreadable `impersonated.json`
 */
export function readImpersonated(directory: string): readonly string[] {
  const file = join(directory, IMPERSONATED_FILE);
  if (!existsSync(file)) return [];
  return readOwnJson(file) as readonly string[];
}

/**
 * Returns the state of the clock that an earlier run saved in this folder; undefined when no run saved a state, or when
 * the file is unreadable.
 */
export function readClock(directory: string): ClockSetting | undefined {
  const file = join(directory, CLOCK_FILE);
  if (!existsSync(file)) return undefined;
  try {
    return clockSettingOf(JSON.parse(readBounded(file, { bytesMax: FILE_BYTES_MAX }).toString('utf8')));
  } catch {
    return undefined;
  }
}

function recordOf(nodes: number, network: Network): DevnetRecord {
  return { nodes, blockTimeS: network.params.blockTimeS, genesisBlockId: network.params.genesisBlockId };
}

function readRecord(directory: string): DevnetRecord | undefined {
  const file = join(directory, RECORD_FILE);
  if (!existsSync(file)) return undefined;
  return readOwnJson(file) as DevnetRecord;
}

/** @throws ProtocolError `DEVNET_UNREADABLE` for a file that cannot be read or is not JSON */
function readOwnJson(file: string): unknown {
  try {
    return JSON.parse(readBounded(file, { bytesMax: FILE_BYTES_MAX }).toString('utf8'));
  } catch (error) {
    throw new ProtocolError('DEVNET_UNREADABLE', { file }, `${file}: cannot be read: add --fresh to forget it`, {
      cause: error,
    });
  }
}

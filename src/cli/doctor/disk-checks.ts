/**
 * Checks that need no running node: network folder, configuration, disk, store, signing journal (the file of signed
 * headers), ports.
 */

import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadConfig } from '../../config/load.ts';
import { findNetworkDirectory, loadNetwork, bloomeryHome, type Network } from '../../config/network.ts';
import type { Config } from '../../config/schema.ts';
import { decryptPassphrase, keyPairOfPassphrase } from '../../crypto/keys.ts';
import { chainDirectory, openSnapshot, type ChainLocation } from '../../node/chain-tool.ts';
import { checkTlsFiles } from '../../node/http-options.ts';
import { examineJournal, journalFileOf } from '../../node/journal-file.ts';
import { checkMemoryLimit } from '../../node/memory-budget.ts';
import { webhookSecretOf } from '../../node/notify/secret.ts';
import { hexOf } from '../../primitives/bytes.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import { refuseChangedState } from '../../store/chain/open.ts';
import { locationOfData, locationOfNetwork } from '../chain-location.ts';
import { checkPortsFree, endpointsOf } from '../ports.ts';
import { finding, type FaultCode, type Finding } from './catalogue.ts';

export interface DiskRequest {
  readonly network?: string;
  readonly dataDir?: string;
  readonly config?: string;
  readonly environment: NodeJS.ProcessEnv;
  /**
   * True when a program answers at the address of the node. In this case, ports in use are not a fault, because it is
   * possible that the node uses these ports.
   */
  readonly isAnswering: boolean;
  /**
   * Returns the number of free bytes in the file system of a folder. The default function asks the operating system.
   */
  readonly freeBytesOf?: (folder: string) => number;
  /**
   * Returns the number of files that can still be created in the file system of a folder; undefined if the file system
   * creates inodes on demand. The default function asks the operating system.
   */
  readonly freeFilesOf?: (folder: string) => number | undefined;
}

/** Results of the disk checks. `judgeTogether` (`run-checks.ts`) uses all three members. */
export interface DiskReport {
  readonly findings: readonly Finding[];
  /**
   * Network of the checked chain. Undefined if the network folder is wrong, or if the members `network` and `dataDir`
   * of the request do not determine a chain.
   */
  readonly network: Network | ChainLocation['network'] | undefined;
  /**
   * True when another process, such as a running node, uses the signing journal of the data folder (the file with the
   * headers that the node's delegates have signed).
   */
  readonly isInUse: boolean;
}

const FREE_BYTES_MIN = 1024 ** 3;
/**
 * Minimum number of free inodes. If the file system of the data folder has fewer free inodes, the doctor reports a
 * nearly full disk. With default options, a node creates fewer than `FREE_FILES_MIN` files: locks, temporary files and
 * log files.
 */
const FREE_FILES_MIN = 100;
/** Number of newest blocks that the doctor reads. `bloomery verify` reads all blocks. */
const BLOCKS_CHECKED = 300;

const STORE_FAULTS: Readonly<Record<string, FaultCode>> = {
  STORE_UNREADABLE: 'STORE_DAMAGED',
  STORE_NOT_ALLOWED: 'DATA_FOLDER_UNWRITABLE',
  STORE_LAYOUT_MISMATCH: 'STORE_OF_OTHER_LAYOUT',
  STORE_NETWORK_MISMATCH: 'STORE_OF_OTHER_NETWORK',
  STORE_GENERATION_MISMATCH: 'STORE_OF_OTHER_NETWORK',
  STORE_PARAMS_MISMATCH: 'STORE_OF_OTHER_PARAMS',
};

export async function checkDisk(request: DiskRequest): Promise<DiskReport> {
  const findings: Finding[] = [];
  const location = locationOf(request, findings);
  if (location === undefined) return { findings, network: undefined, isInUse: false };
  const config = request.network === undefined ? undefined : await checkConfig(request, request.network, findings);
  checkFolder(location, request, findings);
  await checkStore(location, findings);
  const isInUse = checkJournal(location, findings);
  if (config !== undefined && !request.isAnswering && !isInUse) await checkPorts(config, findings);
  return { findings, network: location.network, isInUse };
}

/**
 * Returns the location of the chain to check. If the request does not determine a chain, returns undefined, and in most
 * cases adds a finding with the reason. In one case, the function adds no finding: the request names neither a network
 * nor a data folder, and the default folder contains either no chain or several chains. In this case, the user perhaps
 * wants to check only the answers of a node.
 *
 * @throws ProtocolError `USAGE` if the request names a data folder but no network, and the folder does not contain
 *   exactly one chain
 */
function locationOf({ network, dataDir }: DiskRequest, findings: Finding[]): ChainLocation | undefined {
  const data = dataDir === undefined ? {} : { dataDir };
  try {
    return network === undefined ? locationOfData(data) : locationOfNetwork({ ...data, network });
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const isUsage = error.code === 'USAGE' && network === undefined;
    if (isUsage && dataDir !== undefined) throw error;
    if (!isUsage) findings.push(finding('NETWORK_FOLDER_WRONG', error.message));
    return undefined;
  }
}

async function checkConfig(
  { config: file, environment }: DiskRequest,
  name: string,
  findings: Finding[],
): Promise<Config | undefined> {
  try {
    const network = loadNetwork(findNetworkDirectory(name, bloomeryHome(environment)));
    const flags = new Map<string, unknown>();
    const config = loadConfig({ network, environment, flags, ...(file === undefined ? {} : { file }) });
    checkMemoryLimit(config);
    webhookSecretOf(config.notify);
    checkTlsFiles(config.http);
    const open = config.http.forgingWhitelist.map(String).find((entry) => /^(0\.0\.0\.0|::)\/0$/.test(entry));
    if (open !== undefined) findings.push(finding('FORGING_OPEN_TO_STRANGERS', `http.forgingWhitelist has ${open}`));
    await checkKeys(config, findings);
    return config;
  } catch (error) {
    findings.push(finding('CONFIG_WRONG', messageOf(error)));
    return undefined;
  }
}

async function checkKeys({ forging }: Config, findings: Finding[]): Promise<void> {
  if (!forging.enabled || !forging.force) return;
  const faults = await Promise.all(
    forging.delegates.map(async ({ publicKey, encryptedPassphrase }) => {
      try {
        const passphrase = await decryptPassphrase(encryptedPassphrase, forging.defaultPassword);
        const isItsOwn = hexOf(keyPairOfPassphrase(passphrase).publicKey) === publicKey;
        return isItsOwn ? undefined : `${publicKey}: the passphrase belongs to another public key`;
      } catch (error) {
        return `${publicKey}: ${messageOf(error)}`;
      }
    }),
  );
  const [first] = faults.filter((fault) => fault !== undefined);
  if (first !== undefined) findings.push(finding('FORGING_KEY_WRONG', first));
}

function checkFolder(
  { dataDirectory }: ChainLocation,
  { freeBytesOf = freeBytes, freeFilesOf = freeFiles }: DiskRequest,
  findings: Finding[],
): void {
  let folder = dataDirectory;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  try {
    if (!statSync(folder).isDirectory()) throw new Error(`${folder} is a file`);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    findings.push(finding('DATA_FOLDER_UNWRITABLE', messageOf(error)));
  }
  const files = freeFilesOf(folder);
  const bytes = freeBytesOf(folder);
  const scarce = [
    ...(files !== undefined && files < FREE_FILES_MIN ? [`${files} more files (inodes) can be made`] : []),
    ...(bytes < FREE_BYTES_MIN ? [`${Math.round(bytes / 1024 ** 2)} MiB are left`] : []),
  ];
  if (scarce.length > 0) findings.push(finding('DISK_NEARLY_FULL', `${scarce.join(', and ')} at ${folder}`));
}

/** Number of free inodes; undefined for a file system that creates inodes on demand. */
function freeFiles(folder: string): number | undefined {
  const { files, ffree } = statfsSync(folder);
  return files === 0 ? undefined : ffree;
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

async function checkStore(location: ChainLocation, findings: Finding[]): Promise<void> {
  try {
    const { store } = await openSnapshot(location);
    try {
      refuseChangedState(store, chainDirectory(location));
      const broken = brokenPlace(store);
      if (broken !== undefined) findings.push(finding('STORE_CHAIN_BROKEN', broken));
    } finally {
      await store.close();
    }
  } catch (error) {
    const code = error instanceof ProtocolError ? error.code : '';
    // A missing store is not a fault, because a new node has no store yet. The doctor cannot read a store that a node
    // in another container uses, and reports no fault of such a store. To check this store, users must run the doctor
    // in the container of the node.
    if (code === 'STORE_MISSING' || code === 'STORE_IN_USE_ELSEWHERE') return;
    findings.push(finding(STORE_FAULTS[code] ?? 'STORE_DAMAGED', messageOf(error)));
  }
}

function brokenPlace(store: Awaited<ReturnType<typeof openSnapshot>>['store']): string | undefined {
  const tip = store.tip();
  if (tip === undefined) return undefined;
  let above = tip;
  for (let height = tip.height; height > Math.max(1, tip.height - BLOCKS_CHECKED); height -= 1) {
    try {
      const block = store.block(height);
      if (block === undefined) return `there is no block at height ${height}`;
      if (block.height !== height) return `the block stored at height ${height} has the height ${block.height}`;
      if (block !== undefined && above.height > height && above.previousBlockId !== block.id)
        return `block ${above.id} at height ${above.height} does not follow block ${block.id}`;
      above = block;
    } catch (error) {
      return `the block at height ${height} cannot be read: ${messageOf(error)}`;
    }
  }
  return undefined;
}

/**
 * @returns true when another process, such as a running node, uses the journal
 */
function checkJournal({ dataDirectory }: ChainLocation, findings: Finding[]): boolean {
  const file = journalFileOf(dataDirectory);
  if (!existsSync(file)) return false;
  try {
    return examineJournal(file) !== undefined;
  } catch (error) {
    findings.push(finding('JOURNAL_DAMAGED', messageOf(error)));
    return false;
  }
}

async function checkPorts(config: Config, findings: Finding[]): Promise<void> {
  try {
    await checkPortsFree(endpointsOf(config));
  } catch (error) {
    const data = error instanceof ProtocolError ? error.data : {};
    findings.push(finding('PORT_TAKEN', `port ${String(data['port'])} on ${String(data['host'])}`));
  }
}

/**
 * Reads a network folder: `network.json` (parameters), `genesis.json` (block 1), `exceptions.json` (known deviations
 * from the rules) and `forgers.json` (delegates with encrypted passphrases). The last two files can be absent. If one
 * of the files has a fault, the functions throw an error that names the file. For a wrong value, the error also names
 * the key and the expected value.
 */

import { existsSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { isCanonicalHex } from '../primitives/bytes.ts';
import { ProtocolError } from '../primitives/errors.ts';
import { networkIdentifierOf } from '../protocol/genesis.ts';
import { ACTIVE_DELEGATES, NO_EXCEPTIONS, type ChainParams, type Exceptions } from '../protocol/params.ts';
import type { JsonObject, PublicKey } from '../protocol/types.ts';
import { readBounded, whyUnreadable } from './bounded-file.ts';
import { readExceptions } from './exceptions.ts';
import { checkGenesis } from './genesis-check.ts';
import { knownIdentities } from './identity.ts';
import { packageDirectory } from './package.ts';
import { RecordReader } from './record.ts';
import { refuseRepeatedKey } from './repeated-keys.ts';

/** Content of a network folder. */
export interface Network {
  readonly name: string;
  /** Absolute path of the folder. */
  readonly directory: string;
  readonly params: ChainParams;
  /** Genesis block in the file format of lisk-sdk. The `Codec` of the network's generation decodes the block. */
  readonly genesisJson: JsonObject;
  /** Protocol version in the form `major.minor`, sent to peers and clients. */
  readonly protocolVersion: string;
  /** Application version, sent to peers and clients. */
  readonly appVersion: string;
  /** P2P port of each node of this network, unless the configuration of the node has another port. */
  readonly wsPort: number;
  /** HTTP port of each node of this network, unless the configuration of the node has another port. */
  readonly httpPort: number;
  readonly seeds: readonly SeedPeer[];
  /**
   * Content of `forgers.json`; undefined if the folder has no such file, or if `forgersFault` is set. Usually, only the
   * network folders of devnets contain this file.
   */
  readonly forgers?: Forgers;
  /**
   * The error that `forgersOf` throws, if the user of this process has no right to read `forgers.json`. `loadNetwork`
   * does not throw this error, because most commands do not need the file. Code that needs the file calls `forgersOf`.
   */
  readonly forgersFault?: ProtocolError;
}

export interface SeedPeer {
  /** Host name or IPv4 address of the seed peer. */
  readonly host: string;
  readonly wsPort: number;
}

export interface ForgerEntry {
  readonly publicKey: PublicKey;
  /** The encrypted passphrase in the text form of Lisk: `key=value` pairs, joined by `&`. */
  readonly encryptedPassphrase: string;
}

export interface Forgers {
  /** Password of the encrypted passphrases; empty if `forgers.json` does not contain the password. */
  readonly defaultPassword: string;
  readonly delegates: readonly ForgerEntry[];
  /** True if `forgers.json` has a member `notice`. This member marks the passphrases as published. */
  readonly arePublished: boolean;
}

const CODE = 'NETWORK_INVALID';
/** Allowed names of networks. `homeNetworkDirectory` uses the name of a network as the name of the network's folder. */
export const NETWORK_NAME = /^[a-z0-9][a-z0-9_.-]{0,31}$/;
const FILE_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Reads and checks a network folder. If the user of this process has no right to read `forgers.json`, the function
 * loads the other files, and sets `forgersFault`.
 *
 * @throws ProtocolError `NETWORK_UNREADABLE` (a file is missing, cannot be read or is not JSON) or `NETWORK_INVALID` (a
 *   wrong value, or files that do not belong together)
 */
export function loadNetwork(directory: string): Network {
  const folder = resolve(directory);
  const file = join(folder, 'network.json');
  const json = readJson(file);
  const record = new RecordReader(json, file, CODE);

  const name = record.text('name', 'a name of lower-case letters, digits, `-`, `_` and `.`', (text) =>
    NETWORK_NAME.test(text),
  );
  const generation = record.integer('generation', 2, 3) === 2 ? 2 : 3;
  const epochMs = Date.parse(
    record.text('epoch', 'a moment such as 2016-05-24T17:00:00.000Z', (text) => !Number.isNaN(Date.parse(text))),
  );
  const blockTimeS = record.integer('blockTimeS', 2, 3600);
  const activeDelegates = record.has('activeDelegates')
    ? record.integer('activeDelegates', 1, ACTIVE_DELEGATES)
    : ACTIVE_DELEGATES;
  const transactionsPerBlockMax = record.integer('transactionsPerBlockMax', 1, 150);
  const rewards = record.object('rewards');
  const milestones = rewards.list('milestones', milestone, 1000);
  if (milestones.length === 0) throw rewards.wrong('milestones', 'a list of at least one amount');
  const offset = rewards.integer('offset', 1);
  const distance = rewards.integer('distance', 1);
  rewards.end();
  const delegateListRoundOffset = record.integer('delegateListRoundOffset', 0, generation === 2 ? 0 : 100);
  const communityIdentifier = record.text('communityIdentifier', 'a string of 1 to 64 characters', (text) =>
    /^.{1,64}$/u.test(text),
  );
  const protocolVersion = record.text('protocolVersion', 'two numbers such as 2.0', (text) => /^\d+\.\d+$/.test(text));
  const appVersion = record.text('appVersion', 'a version such as 3.0.2', (text) =>
    /^\d+\.\d+\.\d+\S{0,32}$/.test(text),
  );
  const wsPort = record.integer('wsPort', 1, 65_535);
  const httpPort = record.integer('httpPort', 1, 65_535);
  const seeds = record.objects('seeds', seedPeer, 100);
  record.end();

  const genesisFile = join(folder, 'genesis.json');
  // `readJson` does not search the genesis block for repeated keys, because `checkGenesis` verifies the parsed block.
  // `checkGenesis` compares the hash of the header with the id. From block version 2 on, `checkGenesis` also compares
  // the hash of the transactions with the payload hash.
  const genesisJson = readJson(genesisFile, true);
  const genesis = new RecordReader(genesisJson, genesisFile, CODE);
  const nethash = genesis.text('payloadHash', '64 lower-case hexadecimal digits', (text) => isCanonicalHex(text, 32));
  if (generation === 3 && genesis.text('communityIdentifier') !== communityIdentifier) {
    throw genesis.wrong('communityIdentifier', `\`${communityIdentifier}\`, as in ${file}`);
  }
  const params: ChainParams = {
    generation,
    epochMs,
    blockTimeS,
    activeDelegates,
    transactionsPerBlockMax,
    rewards: { milestones, offset, distance },
    delegateListRoundOffset,
    genesisBlockId: genesis.text('id', 'decimal digits', (text) => /^[0-9]{1,20}$/.test(text)),
    nethash,
    communityIdentifier,
    networkIdentifier: networkIdentifierOf(nethash, communityIdentifier),
    exceptions: exceptionsOf(folder),
  };
  checkGenesis(genesisJson, params, genesisFile);
  return {
    name,
    directory: folder,
    params,
    genesisJson: genesisJson as JsonObject,
    protocolVersion,
    appVersion,
    wsPort,
    httpPort,
    seeds,
    ...forgersIn(folder),
  };
}

/**
 * Returns the content of `forgers.json`; undefined if the network folder has no such file.
 *
 * @throws ProtocolError `NETWORK_UNREADABLE` if the user of this process has no right to read the file
 */
export function forgersOf({ forgers, forgersFault }: Network): Forgers | undefined {
  if (forgersFault !== undefined) throw forgersFault;
  return forgers;
}

/**
 * Folder with the networks and data of a user: `BLOOMERY_HOME` if it is set and not empty, otherwise `.bloomery` in the
 * home folder.
 */
export function bloomeryHome(environment: Readonly<Record<string, string | undefined>>): string {
  const home = environment['BLOOMERY_HOME'];
  return home === undefined || home === '' ? join(homedir(), '.bloomery') : resolve(home);
}

/**
 * Finds the folder that `--network NAME|DIR` means. A value that contains a path separator or begins with a dot is a
 * path. Any other value is a name. The function first looks for a network of the package with this name, then for a
 * network in `home`, and then for a folder in the working directory.
 *
 * @throws ProtocolError `NETWORK_UNKNOWN` with the remedy, if the value is empty or no folder is found. A folder counts
 *   as found if it contains `network.json`, or if the user of this process has no right to read the folder
 */
export function findNetworkDirectory(nameOrDirectory: string, home: string): string {
  const isPath = /[\\/]/.test(nameOrDirectory) || nameOrDirectory.startsWith('.');
  const places = isPath
    ? [resolve(nameOrDirectory)]
    : [
        packagedNetworkDirectory(nameOrDirectory),
        homeNetworkDirectory(nameOrDirectory, home),
        resolve(nameOrDirectory),
      ];
  const found = places.find((place) => existsSync(join(place, 'network.json'))) ?? places.find(isDenied);
  if (found !== undefined && nameOrDirectory !== '') return found;
  if (!isPath && knownIdentities().some(({ name }) => name === nameOrDirectory)) {
    throw new ProtocolError(
      'NETWORK_UNKNOWN',
      { network: nameOrDirectory },
      `the genesis block of ${nameOrDirectory} is not part of the package: get it and add it with ` +
        `bloomery network import --from DIR --name ${nameOrDirectory} (docs/guides/public-networks.md)`,
    );
  }
  const sought = isPath ? `no network.json in ${places[0]}` : `neither in the package nor in ${join(home, 'networks')}`;
  throw new ProtocolError(
    'NETWORK_UNKNOWN',
    { network: nameOrDirectory },
    `unknown network \`${nameOrDirectory}\`: ${sought}; give the name of a network (${networkNames(home).join(', ')}) or the path ` +
      'of its folder',
  );
}

/**
 * True for a folder that the user of this process has no right to read. `findNetworkDirectory` returns this folder, so
 * that the attempt to read its files causes an error that names the missing permission.
 */
function isDenied(folder: string): boolean {
  try {
    statSync(join(folder, 'network.json'));
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/**
 * Returns the names of all networks that have a network folder: first the networks of the package, then the networks of
 * the user.
 */
export function networkNames(home: string): readonly string[] {
  const folders = [join(packageDirectory(), 'networks'), join(home, 'networks')].filter((folder) => existsSync(folder));
  return folders.flatMap((folder) =>
    readdirSync(folder).filter((name) => existsSync(join(folder, name, 'network.json'))),
  );
}

/**
 * Finds the network that has this nethash. The search covers the networks of the package, the networks of the user, and
 * the public networks for which the package has an `identity.json`.
 *
 * @returns the name of the network; undefined when no known network has the nethash
 */
export function networkOfNethash(nethash: string, home: string): string | undefined {
  const known = knownIdentities().find((identity) => identity.nethash === nethash);
  return known?.name ?? networkNames(home).find((name) => nethashOf(name, home) === nethash);
}

/**
 * Returns the nethash of the network with this name; undefined if the network folder is invalid or unreadable, so that
 * `networkOfNethash` continues with the other networks.
 */
function nethashOf(name: string, home: string): string | undefined {
  try {
    return loadNetwork(findNetworkDirectory(name, home)).params.nethash;
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

/** Returns the folder of a user's own network with this name. The folder need not exist. */
export function homeNetworkDirectory(name: string, home: string): string {
  return join(home, 'networks', name);
}

/** Returns the folder of a network in the package. The folder need not exist. */
export function packagedNetworkDirectory(name: string): string {
  return join(packageDirectory(), 'networks', basename(name));
}

/** @param isChecked true for the genesis block, to skip the search for repeated keys; see `loadNetwork` */
function readJson(file: string, isChecked = false): unknown {
  let text: string;
  let value: unknown;
  try {
    text = readBounded(file, { bytesMax: FILE_BYTES_MAX }).toString('utf8');
    value = JSON.parse(text);
  } catch (error) {
    const reason = whyUnreadable(error, 'restore it or give another network folder');
    throw new ProtocolError('NETWORK_UNREADABLE', { file }, `${file}: cannot be read: ${reason}`, { cause: error });
  }
  if (!isChecked) refuseRepeatedKey(text, file, CODE);
  return value;
}

function exceptionsOf(folder: string): Exceptions {
  const file = join(folder, 'exceptions.json');
  return existsSync(file) ? readExceptions(new RecordReader(readJson(file), file, CODE)) : NO_EXCEPTIONS;
}

function forgersIn(folder: string): Pick<Network, 'forgers' | 'forgersFault'> {
  const file = join(folder, 'forgers.json');
  if (!existsSync(file)) return {};
  let json: unknown;
  try {
    json = readJson(file);
  } catch (error) {
    const isDenied =
      error instanceof ProtocolError && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'EACCES';
    if (!isDenied) throw error;
    return { forgersFault: error };
  }
  const record = new RecordReader(json, file, CODE);
  const arePublished = record.has('notice');
  if (arePublished) record.text('notice');
  const defaultPassword = record.has('defaultPassword')
    ? record.text('defaultPassword', 'a string', (text) => text !== '')
    : '';
  const delegates = record.objects('delegates', forgerEntry, 10_000);
  record.end();
  return { forgers: { defaultPassword, delegates, arePublished } };
}

/**
 * Reads an object `{publicKey, encryptedPassphrase}` of a network folder, a configuration file or an environment
 * variable.
 */
export function forgerEntry(record: RecordReader): ForgerEntry {
  return {
    publicKey: record.text('publicKey', '64 lower-case hexadecimal digits', (text) => isCanonicalHex(text, 32)),
    encryptedPassphrase: record.text(
      'encryptedPassphrase',
      'an encrypted passphrase of the form iterations=..&salt=..&cipherText=..&iv=..&tag=..&version=1',
      (text) => /^[a-zA-Z0-9]{2,15}=[0-9a-f]{1,256}(?:&[a-zA-Z0-9]{2,15}=[0-9a-f]{1,256}){0,10}$/.test(text),
    ),
  };
}

function seedPeer(record: RecordReader): SeedPeer {
  return {
    host: record.text('host', 'a host name or an IPv4 address', (text) =>
      /^[a-zA-Z0-9][a-zA-Z0-9.-]{0,252}$/.test(text),
    ),
    wsPort: record.integer('wsPort', 1, 65_535),
  };
}

function milestone(value: unknown, wrong: (expected: string) => ProtocolError): bigint {
  if (typeof value === 'string' && /^[0-9]{1,19}$/.test(value)) return BigInt(value);
  throw wrong('a string of decimal digits');
}

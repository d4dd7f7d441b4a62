/**
 * Makes a network folder from the configuration folder of Lisk Core. In the folder of Lisk Core, `genesis_block.json`
 * is block 1, and `config.json` contains the values that differ from the defaults of Lisk Core.
 */

import { ProtocolError } from '../primitives/errors.ts';
import type { Generation } from '../protocol/params.ts';
import { readExceptions } from './exceptions.ts';
import type { NetworkIdentity } from './identity.ts';
import { forgerEntry } from './network.ts';
import { RecordReader } from './record.ts';

export interface ForeignFolder {
  /** Path of `config.json`, for error messages. */
  readonly configFile: string;
  readonly config: unknown;
  /** Path of `genesis_block.json`, for error messages. */
  readonly genesisFile: string;
  readonly genesis: unknown;
}

export interface ForeignOptions {
  /** Name of the new network. */
  readonly name: string;
  /** Protocol version of the new network. This version replaces the protocol version in `config.json`. */
  readonly protocolVersion?: string;
  /**
   * The epoch, the genesis block id and other fixed values of each public network (`identity.json`). If the imported
   * network is a public network, its files must have four values of that network: the nethash, the genesis block id,
   * the rewards offset, and the height of the last block whose header has version 0.
   */
  readonly identities: readonly NetworkIdentity[];
}

/** The content of each file of a network folder, by the name of the file. */
export type NetworkFiles = ReadonlyMap<string, string>;

const IMPORT_CODE = 'NETWORK_IMPORT_INVALID';

/** Maximum depth of nested arrays and objects in a file. The files of real networks nest at most six levels. */
const DEPTH_MAX = 64;

/** The values that Lisk Core uses for keys that `config.json` lacks. */
const DEFAULTS = {
  epoch: '2016-05-24T17:00:00.000Z',
  blockTimeS: 10,
  transactionsPerBlockMax: 25,
  milestones: ['500000000', '400000000', '300000000', '200000000', '100000000'],
  rewardsOffset: 2160,
  rewardsDistance: 3_000_000,
  communityIdentifier: 'Lisk',
  wsPort: 5000,
  httpPort: 4000,
} as const;

const BY_GENERATION: Readonly<Record<Generation, { offset: number; protocolVersion: string; appVersion: string }>> = {
  2: { offset: 0, protocolVersion: '1.1', appVersion: '2.1.6' },
  3: { offset: 2, protocolVersion: '2.0', appVersion: '3.0.0' },
};

/**
 * Makes the files of a network folder. The function does not check whether the id and the payload hash of the genesis
 * block match the content of the block. `loadNetwork` makes this check later: it calls `checkGenesis`.
 *
 * @throws ProtocolError `NETWORK_IMPORT_INVALID` for a wrong value, values that contradict each other, content that is
 *   nested too deep, or an unknown key in `genesisConfig`, `exceptions`, `seedPeers` or `delegates`. The error names
 *   the file
 */
export function networkFilesOf(folder: ForeignFolder, options: ForeignOptions): NetworkFiles {
  refuseDeep(folder.config, folder.configFile);
  refuseDeep(folder.genesis, folder.genesisFile);
  const config = new RecordReader(folder.config, folder.configFile, IMPORT_CODE);
  const genesis = new RecordReader(folder.genesis, folder.genesisFile, IMPORT_CODE);
  const generation: Generation = genesis.has('communityIdentifier') ? 3 : 2;
  const facts = BY_GENERATION[generation];
  const app = section(config, 'app');
  const modules = section(config, 'modules');
  const chain = section(modules, 'chain');
  const network = section(modules, 'network');
  const http = section(modules, 'http_api');

  const identity = identityOf(genesis, options, folder);
  const exceptions = chain.has('exceptions') ? chain.raw('exceptions') : undefined;
  const constants = readConstants(section(app, 'genesisConfig'), generation, facts.offset);
  if (identity !== undefined) checkFacts(identity, constants, exceptions, folder);
  if (exceptions !== undefined) {
    readExceptions(new RecordReader(exceptions, folder.configFile, IMPORT_CODE, 'modules.chain.exceptions'));
  }
  const description = {
    name: options.name,
    generation,
    ...constants,
    communityIdentifier: generation === 3 ? genesis.text('communityIdentifier') : DEFAULTS.communityIdentifier,
    protocolVersion: options.protocolVersion ?? textOr(app, 'protocolVersion', facts.protocolVersion),
    appVersion: textOr(app, 'version', facts.appVersion),
    wsPort: integerOr(network, 'wsPort', DEFAULTS.wsPort, 1, 65_535),
    httpPort: integerOr(http, 'httpPort', DEFAULTS.httpPort, 1, 65_535),
    seeds: network.has('seedPeers') ? network.objects('seedPeers', seedPeer, 100) : [],
  };
  const forgers = readForgers(section(chain, 'forging'), genesis, folder);
  return new Map([
    ['network.json', text(description)],
    ['genesis.json', text(folder.genesis)],
    ...(exceptions === undefined ? [] : [['exceptions.json', text(exceptions)] as const]),
    ...(forgers === undefined ? [] : [['forgers.json', text(forgers)] as const]),
  ]);
}

/**
 * Returns the public network that the genesis block belongs to; undefined if the block belongs to no public network.
 *
 * @throws ProtocolError if the genesis block has the nethash or the id of a public network, and another nethash, id or
 *   community identifier than this network
 * @throws ProtocolError if the chosen name is the name of a public network, and the genesis block does not belong to
 *   that network
 */
function identityOf(
  genesis: RecordReader,
  { name, identities }: ForeignOptions,
  { genesisFile }: ForeignFolder,
): NetworkIdentity | undefined {
  const nethash = genesis.text('payloadHash');
  const id = genesis.text('id');
  const meant = identities.find((identity) => identity.name === name);
  const identity = identities.find((each) => each.nethash === nethash || each.genesisBlockId === id) ?? meant;
  if (identity === undefined) return undefined;
  if (identity.nethash !== nethash) throw foreign(genesisFile, 'payloadHash', identity.nethash, identity);
  if (identity.genesisBlockId !== id) throw foreign(genesisFile, 'id', identity.genesisBlockId, identity);
  // Only genesis blocks of generation 3 have this member. The network identifier depends on it.
  const community = genesis.has('communityIdentifier') ? genesis.text('communityIdentifier') : undefined;
  if (community !== undefined && community !== identity.communityIdentifier) {
    throw foreign(genesisFile, 'communityIdentifier', identity.communityIdentifier, identity);
  }
  if (meant === undefined || meant === identity) return identity;
  throw new ProtocolError(
    IMPORT_CODE,
    { file: genesisFile, name },
    `${genesisFile}: is the genesis block of ${identity.name}: choose another name than ${name}`,
  );
}

/**
 * Compares values of the configuration with the known facts of the network: the epoch, the rewards offset, and the
 * height of the last block whose header has version 0. If one of these values is wrong, the function refuses the
 * configuration. With a wrong value, the node would build a chain that no other node accepts.
 */
function checkFacts(
  identity: NetworkIdentity,
  { epoch, rewards }: Pick<ReturnType<typeof readConstants>, 'epoch' | 'rewards'>,
  exceptions: unknown,
  { configFile }: ForeignFolder,
): void {
  if (Date.parse(epoch) !== Date.parse(identity.epoch)) {
    throw foreign(configFile, 'app.genesisConfig.EPOCH_TIME', identity.epoch, identity);
  }
  if (rewards.offset !== identity.rewardsOffset) {
    throw foreign(configFile, 'app.genesisConfig.REWARDS.OFFSET', `${identity.rewardsOffset}`, identity);
  }
  const versions = (exceptions as { blockVersions?: Record<string, { end?: unknown }> } | undefined)?.blockVersions;
  if (versions?.['0']?.end !== identity.version0EndHeight) {
    const key = 'modules.chain.exceptions.blockVersions.0.end';
    throw foreign(configFile, key, `${identity.version0EndHeight}`, identity);
  }
}

function readConstants(genesisConfig: RecordReader, generation: Generation, listOffset: number) {
  const rewards = section(genesisConfig, 'REWARDS');
  const constants = {
    epoch: textOr(genesisConfig, 'EPOCH_TIME', DEFAULTS.epoch),
    blockTimeS: integerOr(genesisConfig, 'BLOCK_TIME', DEFAULTS.blockTimeS, 2, 3600),
    transactionsPerBlockMax: integerOr(
      genesisConfig,
      'MAX_TRANSACTIONS_PER_BLOCK',
      DEFAULTS.transactionsPerBlockMax,
      1,
      150,
    ),
    rewards: {
      milestones: rewards.has('MILESTONES') ? rewards.list('MILESTONES', amount, 1000) : DEFAULTS.milestones,
      offset: integerOr(rewards, 'OFFSET', DEFAULTS.rewardsOffset, 1),
      distance: integerOr(rewards, 'DISTANCE', DEFAULTS.rewardsDistance, 1),
    },
    delegateListRoundOffset:
      generation === 3 ? integerOr(genesisConfig, 'DELEGATE_LIST_ROUND_OFFSET', listOffset, 0, 100) : listOffset,
  };
  rewards.end();
  genesisConfig.end();
  return constants;
}

/**
 * Reads the delegates that `config.json` lists for forging.
 *
 * @returns the content of `forgers.json`; undefined if `config.json` lists no delegates
 * @throws ProtocolError if a delegate is not the sender of any transaction in the genesis block. In this case,
 *   `config.json` and the genesis block belong to different networks
 */
function readForgers(forging: RecordReader, genesis: RecordReader, { configFile }: ForeignFolder): object | undefined {
  const delegates = forging.has('delegates') ? forging.objects('delegates', forgerEntry, 10_000) : [];
  if (delegates.length === 0) return undefined;
  const senders = new Set(genesis.list('transactions', (each) => senderOf(each), 100_000));
  const stranger = delegates.findIndex(({ publicKey }) => !senders.has(publicKey));
  if (stranger >= 0) {
    throw new ProtocolError(
      IMPORT_CODE,
      { file: configFile, publicKey: delegates[stranger]?.publicKey },
      `${configFile}: modules.chain.forging.delegates[${stranger}].publicKey must be a key of the genesis block: ` +
        'the two files belong to different networks',
    );
  }
  const defaultPassword = textOr(forging, 'defaultPassword', '');
  return { ...(defaultPassword === '' ? {} : { defaultPassword }), delegates };
}

function senderOf(transaction: unknown): unknown {
  return (transaction as { senderPublicKey?: unknown } | null)?.senderPublicKey;
}

function seedPeer(record: RecordReader): object {
  return { host: record.text('ip', 'a host name or an IPv4 address'), wsPort: record.integer('wsPort', 1, 65_535) };
}

function amount(value: unknown, wrong: (expected: string) => ProtocolError): string {
  if (typeof value === 'string' && /^[0-9]{1,19}$/.test(value)) return value;
  throw wrong('a string of decimal digits');
}

function section(record: RecordReader, key: string): RecordReader {
  return record.has(key) ? record.object(key) : new RecordReader({}, '', IMPORT_CODE);
}

function textOr(record: RecordReader, key: string, fallback: string): string {
  return record.has(key) ? record.text(key) : fallback;
}

function integerOr(record: RecordReader, key: string, fallback: number, min: number, max?: number): number {
  return record.has(key) ? record.integer(key, min, max) : fallback;
}

function foreign(file: string, key: string, expected: string, { name }: NetworkIdentity): ProtocolError {
  const message = `${file}: ${key} must be ${expected}, as in ${name}`;
  return new ProtocolError(IMPORT_CODE, { file, key, expected }, message);
}

/**
 * Refuses values that nest deeper than `DEPTH_MAX` levels. Writing very deep values as JSON could exhaust the call
 * stack.
 */
function refuseDeep(value: unknown, file: string): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX) {
      throw new ProtocolError(
        IMPORT_CODE,
        { file, depthMax: DEPTH_MAX },
        `${file}: nests deeper than ${DEPTH_MAX} levels`,
      );
    }
    level = level.flatMap((each) =>
      typeof each === 'object' && each !== null ? (Object.values(each) as unknown[]) : [],
    );
  }
}

function text(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

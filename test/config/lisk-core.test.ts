import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { knownIdentities } from '../../src/config/identity.ts';
import { networkFilesOf } from '../../src/config/lisk-core.ts';
import { packagedNetworkDirectory } from '../../src/config/network.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { networkIdentifierOf } from '../../src/protocol/genesis.ts';
import type { Untyped } from '../support/untyped.ts';

const identities = knownIdentities();

function packagedFile(network: string, file: string): Untyped {
  return JSON.parse(readFileSync(join(packagedNetworkDirectory(network), file), 'utf8'));
}

function filesOf(config: Untyped, genesis: Untyped, options: { name?: string; protocolVersion?: string } = {}) {
  const folder = { configFile: '/f/config.json', config, genesisFile: '/f/genesis_block.json', genesis };
  const files = networkFilesOf(folder, { name: 'mine', identities, ...options });
  return new Map([...files].map(([file, text]) => [file, JSON.parse(text)]));
}

const older = packagedFile('devnet-gen2', 'genesis.json');
const newer = packagedFile('devnet', 'genesis.json');

test('a missing option gets the default of Lisk Core, by the generation of the genesis block', (t) => {
  const common = {
    name: 'mine',
    epoch: '2016-05-24T17:00:00.000Z',
    blockTimeS: 10,
    transactionsPerBlockMax: 25,
    rewards: {
      milestones: ['500000000', '400000000', '300000000', '200000000', '100000000'],
      offset: 2160,
      distance: 3_000_000,
    },
    communityIdentifier: 'Lisk',
    wsPort: 5000,
    httpPort: 4000,
    seeds: [],
  };
  const files = filesOf({}, older);
  t.deepEqual([...files.keys()], ['network.json', 'genesis.json']);
  t.deepEqual(files.get('genesis.json'), older);
  t.deepEqual(files.get('network.json'), {
    ...common,
    generation: 2,
    delegateListRoundOffset: 0,
    protocolVersion: '1.1',
    appVersion: '2.1.6',
  });
  t.deepEqual(filesOf({}, newer).get('network.json'), {
    ...common,
    generation: 3,
    delegateListRoundOffset: 2,
    protocolVersion: '2.0',
    appVersion: '3.0.0',
  });
});

test('options of a network are imported, and all other options are skipped', (t) => {
  const { delegates } = packagedFile('devnet', 'forgers.json');
  const exceptions = {
    precedent: { disableDappTransfer: 5 },
    votes: ['7'],
    blockVersions: { 1: { start: 2, end: 9 } },
  };
  const config = {
    app: {
      version: '3.1.0',
      protocolVersion: '2.1',
      ipc: { enabled: true },
      genesisConfig: {
        EPOCH_TIME: '2020-01-01T00:00:00.000Z',
        BLOCK_TIME: 4,
        MAX_TRANSACTIONS_PER_BLOCK: 30,
        REWARDS: { MILESTONES: ['5'], OFFSET: 10, DISTANCE: 20 },
        DELEGATE_LIST_ROUND_OFFSET: 1,
      },
    },
    components: { storage: { database: 'x' } },
    modules: {
      http_api: { httpPort: 4100, access: { public: true } },
      network: { wsPort: 5100, seedPeers: [{ ip: 'seed.example', wsPort: 5101 }] },
      chain: { exceptions, forging: { force: true, delegates, defaultPassword: 'a password' } },
    },
  };
  const files = filesOf(config, newer);
  t.like(files.get('network.json'), {
    epoch: '2020-01-01T00:00:00.000Z',
    blockTimeS: 4,
    transactionsPerBlockMax: 30,
    rewards: { milestones: ['5'], offset: 10, distance: 20 },
    delegateListRoundOffset: 1,
    protocolVersion: '2.1',
    appVersion: '3.1.0',
    wsPort: 5100,
    httpPort: 4100,
    seeds: [{ host: 'seed.example', wsPort: 5101 }],
  });
  t.deepEqual(files.get('exceptions.json'), exceptions);
  t.deepEqual(files.get('forgers.json'), { defaultPassword: 'a password', delegates });
  t.is(filesOf(config, newer, { protocolVersion: '3.0' }).get('network.json').protocolVersion, '3.0');
});

const stranger = { publicKey: 'ab'.repeat(32), encryptedPassphrase: 'iterations=1&salt=00' };
const testnet = identities.find(({ name }) => name === 'testnet');
const asTestnet = { ...older, id: testnet?.genesisBlockId, payloadHash: testnet?.nethash };
const testnetConfig = { modules: { chain: { exceptions: { blockVersions: { 0: { start: 1, end: 5_932_033 } } } } } };

const refusals: readonly (readonly [what: string, config: Untyped, genesis: Untyped, name: string, message: RegExp])[] =
  [
    ['a configuration that is not an object', [], older, 'mine', /^\/f\/config\.json: the content must be an object$/],
    [
      'a block time as a string',
      { app: { genesisConfig: { BLOCK_TIME: '10' } } },
      older,
      'mine',
      /app\.genesisConfig\.BLOCK_TIME must be an integer from 2 to 3600$/,
    ],
    [
      'a constant that nobody knows',
      { app: { genesisConfig: { BLOCK_TYME: 10 } } },
      older,
      'mine',
      /app\.genesisConfig\.BLOCK_TYME is not a known key: correct or remove it$/,
    ],
    [
      'a list offset on a network that has none',
      { app: { genesisConfig: { DELEGATE_LIST_ROUND_OFFSET: 2 } } },
      older,
      'mine',
      /DELEGATE_LIST_ROUND_OFFSET is not a known key: correct or remove it$/,
    ],
    [
      'a seed without a port',
      { modules: { network: { seedPeers: [{ ip: 'a' }] } } },
      older,
      'mine',
      /modules\.network\.seedPeers\[0\]\.wsPort must be/,
    ],
    [
      'an unknown kind of exceptions',
      { modules: { chain: { exceptions: { miracles: [] } } } },
      older,
      'mine',
      /modules\.chain\.exceptions\.miracles is not a known key: correct or remove it$/,
    ],
    [
      'a delegate that the genesis block does not know',
      { modules: { chain: { forging: { delegates: [stranger] } } } },
      older,
      'mine',
      /delegates\[0\]\.publicKey must be a key of the genesis block: the two files belong to different networks$/,
    ],
    [
      'another genesis block than the name says',
      testnetConfig,
      older,
      'testnet',
      /payloadHash must be da3ed.* as in testnet/,
    ],
    ['the genesis block of another name', testnetConfig, asTestnet, 'mainnet', /is the genesis block of testnet/],
    ['a public genesis block with another id', testnetConfig, { ...asTestnet, id: '1' }, 'mine', /: id must be 78071/],
    [
      'a public genesis block with the rewards of another network',
      { ...testnetConfig, app: { genesisConfig: { REWARDS: { OFFSET: 1_451_520 } } } },
      asTestnet,
      'mine',
      /REWARDS\.OFFSET must be 2160, as in testnet$/,
    ],
    [
      'a public genesis block with another epoch',
      { ...testnetConfig, app: { genesisConfig: { EPOCH_TIME: '2016-05-24T17:00:10.000Z' } } },
      asTestnet,
      'mine',
      /app\.genesisConfig\.EPOCH_TIME must be 2016-05-24T17:00:00\.000Z, as in testnet$/,
    ],
    [
      'a public genesis block with another community',
      testnetConfig,
      { ...asTestnet, communityIdentifier: 'Mine' },
      'mine',
      /communityIdentifier must be Lisk, as in testnet$/,
    ],
    [
      'a public genesis block without its history',
      {},
      asTestnet,
      'mine',
      /blockVersions\.0\.end must be 5932033, as in testnet/,
    ],
  ];

for (const [what, config, genesis, name, message] of refusals) {
  test(`${what} is refused with file and key`, (t) => {
    const error = t.throws(() => filesOf(config, genesis, { name }), { instanceOf: ProtocolError });
    t.is(error?.code, 'NETWORK_IMPORT_INVALID');
    t.regex(error?.message ?? '', message);
    t.regex(error?.message ?? '', /^\/f\/(?:config|genesis_block)\.json: /);
  });
}

test('a public network is recognised by its genesis block under any name, and may have its own name', (t) => {
  t.is(filesOf(testnetConfig, asTestnet, { name: 'testnet' }).get('network.json').name, 'testnet');
  t.is(filesOf(testnetConfig, asTestnet).get('network.json').name, 'mine');
  const sameEpoch = { ...testnetConfig, app: { genesisConfig: { EPOCH_TIME: '2016-05-24T19:00:00+02:00' } } };
  t.notThrows(() => filesOf(sameEpoch, asTestnet));
});

test('the identities of the public networks are consistent', (t) => {
  t.deepEqual(
    identities.map(({ name }) => name),
    ['mainnet', 'testnet'],
  );
  for (const { nethash, communityIdentifier, networkIdentifier } of identities) {
    t.is(networkIdentifierOf(nethash, communityIdentifier), networkIdentifier);
  }
});

test('a file nested deeper than any real one is refused by name', (t) => {
  const nested = (depth: number): Untyped => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);
  t.notThrows(() => filesOf({ app: {}, other: nested(60) }, newer));
  for (const depth of [65, 100_000]) {
    const error = t.throws(() => filesOf({ app: {}, other: nested(depth) }, newer), { instanceOf: ProtocolError });
    t.is(error.code, 'NETWORK_IMPORT_INVALID');
    t.is(error.message, '/f/config.json: nests deeper than 64 levels');
  }
});

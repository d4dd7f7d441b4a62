import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'ava';
import { planDevnet } from '../../src/cli/devnet/plan.ts';
import { loadConfig } from '../../src/config/load.ts';
import { findNetworkDirectory, loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { devnetCopy, editJson, temporaryFolder } from '../support/network-folder.ts';
import type { Untyped } from '../support/untyped.ts';

/** Calls `work` as a user whose rights the modes of files restrict. File modes do not restrict root. */
function asOrdinaryUser(work: () => void): void {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test('an unreadable network folder is reported as unreadable, not as missing', (t) => {
  const folder = devnetCopy(t);
  chmodSync(folder, 0);
  t.teardown(() => chmodSync(folder, 0o700));
  asOrdinaryUser(() => {
    t.is(findNetworkDirectory(folder, '/nowhere'), folder);
    t.throws(() => loadNetwork(folder), {
      code: 'NETWORK_UNREADABLE',
      message: /network\.json: cannot be read: permission denied \(EACCES\)/,
    });
  });
});

test('without the right to read forgers.json, a network loads, but the configuration of a node does not', (t) => {
  const folder = devnetCopy(t);
  chmodSync(dirname(folder), 0o755);
  chmodSync(join(folder, 'forgers.json'), 0);
  asOrdinaryUser(() => {
    const network = loadNetwork(folder);
    t.is(network.name, 'devnet');
    const fault = {
      code: 'NETWORK_UNREADABLE',
      message: /forgers\.json: cannot be read: permission denied \(EACCES\)/,
    };
    t.throws(() => loadConfig({ network, environment: {} }), fault);
    const ports = { httpPort: 4000, wsPort: 5000 };
    t.throws(() => planDevnet({ nodes: 1, directory: folder, network, ...ports }), fault);
  });
});

test('the parameters of the packaged devnet are read', (t) => {
  const network = loadNetwork(packagedNetworkDirectory('devnet'));
  t.is(network.name, 'devnet');
  t.is(network.params.generation, 3);
  t.is(network.params.blockTimeS, 2);
  t.is(network.params.epochMs, 1_464_109_200_000);
  t.is(network.params.rewards.offset, 2160);
  t.is(network.params.rewards.milestones[0], 500_000_000n);
  t.is(network.protocolVersion, '2.0');
  t.is(network.forgers?.delegates.length, 101);
  t.regex(network.params.networkIdentifier, /^[0-9a-f]{64}$/);
});

const refusals: readonly (readonly [what: string, file: string, edit: (json: Untyped) => unknown, message: RegExp])[] =
  [
    [
      'a misspelt key',
      'network.json',
      (json) => void (json.blocktime = 2),
      /network\.json: blocktime is not a known key: correct or remove it$/,
    ],
    [
      'a missing block time',
      'network.json',
      (json) => void delete json.blockTimeS,
      /blockTimeS must be an integer from 2 to 3600$/,
    ],
    [
      'a block time of one second',
      'network.json',
      (json) => void (json.blockTimeS = 1),
      /blockTimeS must be an integer/,
    ],
    ['a name with a slash', 'network.json', (json) => void (json.name = 'a/b'), /name must be a name of/],
    ['an epoch that is not a moment', 'network.json', (json) => void (json.epoch = 'soon'), /epoch must be a moment/],
    [
      'a milestone as a number',
      'network.json',
      (json) => void (json.rewards.milestones[1] = 4),
      /rewards\.milestones\[1\] must be a string of decimal digits$/,
    ],
    ['no milestone', 'network.json', (json) => void (json.rewards.milestones = []), /rewards\.milestones must be/],
    [
      'a protocol version in words',
      'network.json',
      (json) => void (json.protocolVersion = 'two'),
      /protocolVersion must be two numbers/,
    ],
    [
      'a seed without a port',
      'network.json',
      (json) => void (json.seeds = [{ host: 'a.example' }]),
      /seeds\[0\]\.wsPort must be an integer from 1 to 65535$/,
    ],
    ['a list instead of an object', 'network.json', () => [], /network\.json: the content must be an object$/],
    [
      'another community in the genesis block',
      'genesis.json',
      (json) => void (json.communityIdentifier = 'Else'),
      /genesis\.json: communityIdentifier must be `Lisk`/,
    ],
    [
      'a genesis id that is not the header’s',
      'genesis.json',
      (json) => void (json.id = '1'),
      /genesis\.json: id must be \d+, which the header has$/,
    ],
    [
      'a genesis header that was changed',
      'genesis.json',
      (json) => void (json.timestamp = 5),
      /genesis\.json: id must be/,
    ],
    [
      'a genesis transaction that was changed',
      'genesis.json',
      (json) => void (json.transactions[0].asset.amount = '1'),
      /genesis\.json: payloadHash must be/,
    ],
    [
      'a genesis block that is none',
      'genesis.json',
      (json) => void (json.transactions = 5),
      /genesis\.json: is not a genesis block/,
    ],
    [
      'an exception id that is a number',
      'exceptions.json',
      () => ({ votes: [1] }),
      /exceptions\.json: votes\[0\] must be a string of decimal digits$/,
    ],
    [
      'an unknown kind of exception',
      'exceptions.json',
      () => ({ vote: [] }),
      /exceptions\.json: vote is not a known key: correct or remove it$/,
    ],
    [
      'a block version range that ends before it starts',
      'exceptions.json',
      () => ({ blockVersions: { 0: { start: 5, end: 1 } } }),
      /blockVersions\.0\.end must be an integer of at least 5$/,
    ],
    [
      'a forger without a key',
      'forgers.json',
      (json) => void delete json.delegates[3].publicKey,
      /forgers\.json: delegates\[3\]\.publicKey must be 64/,
    ],
    [
      'an encrypted passphrase that is none',
      'forgers.json',
      (json) => void (json.delegates[0].encryptedPassphrase = 'secret'),
      /delegates\[0\]\.encryptedPassphrase must be/,
    ],
  ];

for (const [what, file, edit, message] of refusals) {
  test(`a network folder with ${what} is refused`, (t) => {
    const folder = devnetCopy(t);
    if (file === 'exceptions.json') writeFileSync(join(folder, file), '{}');
    editJson(folder, file, edit);
    const error = t.throws(() => loadNetwork(folder), { instanceOf: ProtocolError });
    t.is(error?.code, 'NETWORK_INVALID');
    t.regex(error?.message ?? '', message);
    t.true(error?.message.startsWith(join(folder, file)));
  });
}

test('the parameters of the packaged devnet of generation 2 are read', (t) => {
  const network = loadNetwork(packagedNetworkDirectory('devnet-gen2'));
  t.like(network, { name: 'devnet-gen2', protocolVersion: '1.1', appVersion: '2.3.8' });
  t.like(network.params, { generation: 2, blockTimeS: 2, delegateListRoundOffset: 0 });
  t.is(network.params.nethash, (network.genesisJson as Untyped).payloadHash);
  t.is(network.forgers?.delegates.length, 101);
});

test('a genesis block of one generation is refused by the other', (t) => {
  const folder = devnetCopy(t);
  editJson(folder, 'network.json', (json) => void (json.generation = 2));
  t.regex(t.throws(() => loadNetwork(folder)).message, /delegateListRoundOffset must be an integer from 0 to 0$/);
  editJson(folder, 'network.json', (json) => void (json.delegateListRoundOffset = 0));
  t.regex(t.throws(() => loadNetwork(folder)).message, /genesis\.json: is not a genesis block/);

  const older = devnetCopy(t, 'devnet-gen2');
  editJson(older, 'genesis.json', (json) => void (json.blockSignature = json.blockSignature.replace(/^../, '00')));
  t.regex(t.throws(() => loadNetwork(older)).message, /genesis\.json: id must be [0-9]+, which the header has$/);
});

test('a missing file, and a file that is not JSON, are named', (t) => {
  const folder = devnetCopy(t);
  writeFileSync(join(folder, 'forgers.json'), '{');
  t.regex(t.throws(() => loadNetwork(folder)).message, /forgers\.json: cannot be read: .*JSON/);
  rmSync(join(folder, 'forgers.json'));
  t.is(loadNetwork(folder).forgers, undefined);
  rmSync(join(folder, 'genesis.json'));
  t.regex(
    t.throws(() => loadNetwork(folder)).message,
    /genesis\.json: cannot be read: does not exist: restore it or give another network folder$/,
  );
});

test('exceptions are read in all their forms', (t) => {
  const folder = devnetCopy(t);
  const address = '01234L';
  const signature = 'ab'.repeat(64);
  const exceptions = {
    votes: ['17'],
    recipientLeadingZero: { 18: address },
    duplicatedSignatures: { 19: [signature] },
    blockVersions: { 1: { start: 1, end: 9 } },
    rounds: { 27040: { rewards_factor: 2, fees_factor: 2, fees_bonus: 10000000 } },
    ignoreDelegateListCacheForRounds: [19],
    precedent: { disableDappTransfer: 7 },
  };
  writeFileSync(join(folder, 'exceptions.json'), JSON.stringify(exceptions));
  const read = loadNetwork(folder).params.exceptions;
  t.true(read.votes.has('17'));
  t.is(read.recipientLeadingZero.get('18'), address);
  t.deepEqual(read.duplicatedSignatures.get('19'), [signature]);
  t.deepEqual(read.blockVersions.get(1), { start: 1, end: 9 });
  t.deepEqual(read.rounds.get(27040), { rewardsFactor: 2, feesFactor: 2, feesBonus: 10_000_000n });
  t.true(read.ignoreDelegateListCacheForRounds.has(19));
  t.is(read.precedent.disableDappTransfer, 7);
  t.is(read.precedent.disableDappTransaction, 0);
  t.is(read.inertTransactions.size, 0);
});

test('a name is searched in the package, then in the home folder; a path is used directly', (t) => {
  const home = temporaryFolder(t);
  const own = join(home, 'networks', 'mine');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'network.json'), '{}');
  t.is(findNetworkDirectory('devnet', home), packagedNetworkDirectory('devnet'));
  t.is(findNetworkDirectory('mine', home), own);
  t.is(findNetworkDirectory(own, home), own);
});

test('an unknown network is refused by its name', (t) => {
  const home = temporaryFolder(t);
  for (const name of ['nowhere', '', '..', './nowhere', join(home, 'nowhere')]) {
    const error = t.throws(() => findNetworkDirectory(name, home), { instanceOf: ProtocolError });
    t.is(error?.code, 'NETWORK_UNKNOWN');
    t.true(error?.message.includes(`unknown network \`${name}\``));
  }
});

test('the genesis file has the members of the Lisk format and no others', (t) => {
  const genesis = JSON.parse(readFileSync(join(packagedNetworkDirectory('devnet'), 'genesis.json'), 'utf8'));
  t.deepEqual(Object.keys(genesis).sort(), [
    'blockSignature',
    'communityIdentifier',
    'generatorPublicKey',
    'height',
    'id',
    'maxHeightPreviouslyForged',
    'maxHeightPrevoted',
    'numberOfTransactions',
    'payloadHash',
    'payloadLength',
    'previousBlockId',
    'reward',
    'timestamp',
    'totalAmount',
    'totalFee',
    'transactions',
    'version',
  ]);
});

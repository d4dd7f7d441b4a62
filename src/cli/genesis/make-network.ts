/** Makes the files of a new network from its name and a seed. */

import { encryptPassphrase } from '../../crypto/keys.ts';
import { defaultEd25519 } from '../../crypto/ed25519.ts';
import { buildGenesis, type GenesisFormat } from '../../protocol/genesis.ts';
import { gen2GenesisFormat } from '../../protocol/gen2/genesis-format.ts';
import { gen3GenesisFormat } from '../../protocol/gen3/genesis-format.ts';
import { ACTIVE_DELEGATES, type Generation } from '../../protocol/params.ts';
import { ACCOUNTS_FILE, type KnownAccount } from './accounts-file.ts';
import { deriveAccounts, seededBytes, type DerivedAccount } from './derive.ts';

export interface NetworkRequest {
  readonly generation: Generation;
  readonly name: string;
  readonly blockTimeS: number;
  /** Number of delegates, from 1 to 101. */
  readonly delegates: number;
  readonly seed: string;
}

/** The text of each file, by the name of the file. */
export type NetworkFiles = ReadonlyMap<string, string>;

const COMMUNITY_IDENTIFIER = 'Lisk';
const EPOCH = '2016-05-24T17:00:00.000Z';
/**
 * Values that all networks of a generation share. Peers and clients of Lisk expect these values of `protocolVersion`
 * and `appVersion`.
 */
const GENERATIONS: Readonly<Record<Generation, GenerationFacts>> = {
  2: { format: gen2GenesisFormat, delegateListRoundOffset: 0, protocolVersion: '1.1', appVersion: '2.3.8' },
  3: { format: gen3GenesisFormat, delegateListRoundOffset: 2, protocolVersion: '2.0', appVersion: '3.0.2' },
};

interface GenerationFacts {
  readonly format: GenesisFormat;
  readonly delegateListRoundOffset: number;
  readonly protocolVersion: string;
  readonly appVersion: string;
}

/** Balance of each funded account: 100,000 LSK, which are enough for tests. */
const FUNDED_BEDDOWS = 10_000_000_000_000n;
/**
 * Number of iterations of PBKDF2 for the encryption of a passphrase. More iterations would protect no passphrase,
 * because `accounts.json` contains the passphrases in clear text.
 */
const PBKDF2_ITERATIONS = 10;
/** Password of the encrypted passphrases. The devnets of Lisk have the same password. */
const DEFAULT_PASSWORD = 'elephant tree paris dragon chair galaxy';
const NOTICE = 'devnet only: everybody knows these keys';

/** Makes the files. Equal requests give equal texts. */
export async function makeNetwork(request: NetworkRequest): Promise<NetworkFiles> {
  const { generation, name, blockTimeS, seed } = request;
  const { format, ...facts } = GENERATIONS[generation];
  const accounts = deriveAccounts(seed, request.delegates);
  const { generator, genesis: funder, funded, delegates } = accounts;
  const genesis = buildGenesis(
    {
      communityIdentifier: COMMUNITY_IDENTIFIER,
      generator: generator.keyPair,
      funder: funder.keyPair,
      accounts: funded.map(({ address }) => ({ address, amount: FUNDED_BEDDOWS })),
      delegates: delegates.map((delegate) => ({ keyPair: delegate.keyPair, username: delegate.name })),
    },
    format,
    defaultEd25519(),
  );
  const network = {
    name,
    generation,
    epoch: EPOCH,
    blockTimeS,
    // With fewer delegates than slots in a round, some slots would have no forger. With far fewer delegates, no block
    // would become final. Therefore the round has one slot for each delegate.
    ...(delegates.length === ACTIVE_DELEGATES ? {} : { activeDelegates: delegates.length }),
    transactionsPerBlockMax: 25,
    rewards: {
      milestones: ['500000000', '400000000', '300000000', '200000000', '100000000'],
      offset: 2160,
      distance: 3_000_000,
    },
    delegateListRoundOffset: facts.delegateListRoundOffset,
    communityIdentifier: COMMUNITY_IDENTIFIER,
    protocolVersion: facts.protocolVersion,
    appVersion: facts.appVersion,
    wsPort: 5000,
    httpPort: 4000,
    seeds: [],
  };
  const forgers = {
    notice: NOTICE,
    defaultPassword: DEFAULT_PASSWORD,
    delegates: await Promise.all(delegates.map((delegate, index) => encrypted(delegate, index, seed))),
  };
  const known = { notice: NOTICE, accounts: [funder, ...funded, ...delegates].map(publicPart) };
  return new Map([
    ['network.json', text(network)],
    ['genesis.json', text(genesis.json)],
    ['forgers.json', text(forgers)],
    [ACCOUNTS_FILE, text(known)],
  ]);
}

async function encrypted(delegate: DerivedAccount, index: number, seed: string) {
  const encryptedPassphrase = await encryptPassphrase(delegate.passphrase, DEFAULT_PASSWORD, {
    iterations: PBKDF2_ITERATIONS,
    salt: seededBytes(seed, 'salt', index, 16),
    iv: seededBytes(seed, 'iv', index, 12),
  });
  return { publicKey: delegate.publicKey, encryptedPassphrase };
}

function publicPart({ name, address, publicKey, passphrase }: DerivedAccount): KnownAccount {
  return { name, address, publicKey, passphrase };
}

function text(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

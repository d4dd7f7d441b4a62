/**
 * Defines the fuzz targets for decoders of files from an operator: configuration, network folders, chain files, signing
 * journals and encrypted passphrases.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { networkFilesOf } from '../../src/config/lisk-core.ts';
import { loadConfig } from '../../src/config/load.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { parseEncryptedPassphrase, textOfEncryptedPassphrase } from '../../src/crypto/encrypted-passphrase.ts';
import { openChainFile } from '../../src/node/chain-file.ts';
import { openJournal } from '../../src/node/journal-file.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { makeNetwork } from '../support/chain-maker.ts';
import { writeNetworkFolder } from '../support/chain-folder.ts';
import { keyNumber } from '../support/fixtures.ts';
import type { Target } from './fuzzer.ts';

const isProtocolError = (error: unknown) => error instanceof ProtocolError;

export function fileTargets(): readonly Target[] {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-fuzz-'));
  return [
    configTarget(folder),
    ...networkTargets(folder),
    importTarget(),
    ...chainFileTargets(folder),
    journalTarget(folder),
    passphraseTarget(() => rmSync(folder, { recursive: true, force: true })),
  ];
}

function configTarget(folder: string): Target {
  const network = loadNetwork(packagedNetworkDirectory('devnet'));
  const file = join(folder, 'config.json5');
  const config = {
    http: { port: 4001, accessWhitelist: ['127.0.0.1', '10.0.0.0/8'], corsOrigin: '*', readOnly: false },
    p2p: { port: 5001, fixedPeers: ['1.2.3.4:5000'], seedPeers: ['seed.example:5000'], blacklistedIps: ['6.6.6.6'] },
    forging: { enabled: true, waitThresholdS: 1, delegates: [] },
    pool: { broadcastIntervalMs: 5000 },
    log: { level: 'info' },
  };
  return {
    name: 'config',
    weight: 0.3,
    seeds: [
      Buffer.from(JSON.stringify(config)),
      Buffer.from("{ http: { port: +4_000, }, /* a word */ log: { level: 'debug' } }"),
    ],
    words: [
      'http',
      'p2p',
      'forging',
      'delegates',
      '//',
      '/*',
      '+1',
      '.5',
      '0x1F',
      "'",
      'Infinity',
      '__proto__',
      'verifier',
    ],
    isDeclared: isProtocolError,
    run(input) {
      writeFileSync(file, input);
      // The first 300 characters of the input are also the value of environment variables.
      const value = input.toString('utf8').replaceAll('\u0000', '').slice(0, 300);
      const outcomes = ['BLOOMERY_P2P_FIXED_PEERS', 'BLOOMERY_HTTP_PORT', 'BLOOMERY_LOG_LEVEL'].map((variable) => {
        try {
          loadConfig({ network, environment: { [variable]: value } });
          return 'taken';
        } catch (error) {
          if (isProtocolError(error)) return 'refused';
          throw error;
        }
      });
      loadConfig({ network, file, environment: {} });
      return outcomes.join(' ');
    },
  };
}

function networkTargets(folder: string): readonly Target[] {
  const network = makeNetwork({ delegates: 2, accounts: 1 });
  const whole = writeNetworkFolder(join(folder, 'network'), network);
  const exceptions = { signatures: ['1'], rounds: { '5': { rewards_factor: 2, fees_factor: 2, fees_bonus: 10 } } };
  const forgers = {
    defaultPassword: 'x',
    delegates: [
      { publicKey: keyNumber(1), encryptedPassphrase: 'iterations=1&salt=aa&cipherText=bb&iv=cc&tag=dd&version=1' },
    ],
  };
  const files: Readonly<Record<string, Buffer | undefined>> = {
    'network.json': readFileSync(join(whole, 'network.json')),
    'genesis.json': readFileSync(join(whole, 'genesis.json')),
    'exceptions.json': Buffer.from(JSON.stringify(exceptions)),
    'forgers.json': Buffer.from(JSON.stringify(forgers)),
  };
  return Object.entries(files).map(([name, seed = Buffer.alloc(0)]): Target => {
    const own = writeNetworkFolder(join(folder, `network-${name}`), network);
    return {
      name: `network-${name.replace('.json', '')}`,
      weight: 0.1,
      seeds: [seed],
      words: [
        '"generation"',
        '"rewards"',
        '"milestones"',
        '"seeds"',
        '"rounds"',
        '"blockVersions"',
        '"precedent"',
        '"delegates"',
      ],
      isDeclared: isProtocolError,
      run(input) {
        writeFileSync(join(own, name), input);
        return `read ${loadNetwork(own).params.generation}`;
      },
    };
  });
}

/** Target for configuration folders of Lisk Core. */
function importTarget(): Target {
  const genesis = makeNetwork({ delegates: 2, accounts: 1 }).genesisJson;
  const config = {
    app: { genesisConfig: { EPOCH_TIME: '2016-05-24T17:00:00.000Z', BLOCK_TIME: 10, REWARDS: { MILESTONES: ['5'] } } },
    modules: { chain: { exceptions: { signatures: ['1'] } }, network: { wsPort: 5000 }, http_api: { httpPort: 4000 } },
  };
  return {
    name: 'network-import',
    seeds: [Buffer.from(JSON.stringify({ config, genesis }))],
    words: [
      'genesisConfig',
      'exceptions',
      'blockVersions',
      'forging',
      'delegates',
      'seedPeers',
      'MAX_TRANSACTIONS_PER_BLOCK',
    ],
    isDeclared: isProtocolError,
    run(input) {
      const record = recordOf(input);
      const folder = {
        configFile: 'config.json',
        config: record['config'],
        genesisFile: 'g.json',
        genesis: record['genesis'],
      };
      return [...networkFilesOf(folder, { name: 'fuzzed', identities: [] }).keys()].join(' ');
    },
  };
}

function chainFileTargets(folder: string): readonly Target[] {
  const text = Buffer.from('{"height":1}\n\n{"height":2}\r\n{"height":3}');
  const file = (name: string, seed: Buffer): Target => ({
    name: `chain-file-${name}`,
    weight: 0.1,
    seeds: [seed],
    isDeclared: isProtocolError,
    async run(input) {
      const path = join(folder, name === 'plain' ? 'blocks' : 'blocks.gz');
      writeFileSync(path, input);
      let lines = 0;
      for await (const some of openChainFile(path).lines()) lines += some.length;
      return `${Math.min(lines, 20)} lines`;
    },
  });
  return [file('plain', text), file('gzip', gzipSync(text))];
}

function journalTarget(folder: string): Target {
  const file = join(folder, 'journal', 'forging-journal');
  const journal = openJournal(file);
  const header = { blockId: '7', height: 2, timestamp: 10, maxHeightPrevoted: 0, maxHeightPreviouslyForged: 0 };
  for (const height of [2, 3]) journal.record(keyNumber(height), { ...header, height });
  journal.close();
  return {
    name: 'forging-journal',
    weight: 0.05,
    seeds: [readFileSync(file)],
    isDeclared: isProtocolError,
    run(input) {
      writeFileSync(file, input);
      const opened = openJournal(file);
      const known = [2, 3].map((key) => opened.last(keyNumber(key)) !== undefined);
      opened.close();
      return `knows ${known.join(' ')}`;
    },
  };
}

function passphraseTarget(close: () => void): Target {
  const text = `iterations=10&salt=${'ab'.repeat(16)}&cipherText=${'cd'.repeat(40)}&iv=${'01'.repeat(12)}&tag=${'02'.repeat(16)}&version=1`;
  return {
    name: 'encrypted-passphrases',
    seeds: [Buffer.from(text)],
    words: ['&iterations=', '&salt=', '&cipherText=', '&iv=', '&tag=', '&version=', '%20'],
    isDeclared: isProtocolError,
    run: (input) => `read ${textOfEncryptedPassphrase(parseEncryptedPassphrase(input.toString('utf8'))).length > 0}`,
    close,
  };
}

function recordOf(input: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(input.toString('utf8')) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

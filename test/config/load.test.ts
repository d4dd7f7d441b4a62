import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { loadConfig } from '../../src/config/load.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { RENAMED_OPTIONS } from '../../src/config/renamed-options.ts';
import { allOptions, variableOf } from '../../src/config/schema.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const network = loadNetwork(packagedNetworkDirectory('devnet'));
const KEY = 'ab'.repeat(32);
const SECRET = 'iterations=10&salt=00&cipherText=00&iv=00&tag=00&version=1';

function file(t: ExecutionContext, content: string): string {
  const path = join(temporaryFolder(t), 'config.json5');
  writeFileSync(path, content);
  return path;
}

test("without sources the defaults and the network's own values apply", (t) => {
  const config = loadConfig({ network, environment: {} });
  t.is(config.http.port, network.httpPort);
  t.is(config.p2p.port, network.wsPort);
  t.is(config.http.accessPublic, false);
  t.deepEqual(config.http.accessWhitelist, ['127.0.0.1']);
  t.is(config.forging.force, false);
  t.is(config.forging.delegates.length, 101);
  t.is(config.log.level, 'info');
});

test('by default the HTTP interface listens for other machines only when they are allowed', (t) => {
  const hostWith = (http: object): string => {
    const values = new Map(Object.entries(http).map(([key, value]) => [`http.${key}`, value as unknown]));
    return loadConfig({ network, environment: {}, flags: values }).http.host;
  };
  t.is(hostWith({}), '127.0.0.1');
  t.is(hostWith({ accessWhitelist: ['127.0.0.1', '127.0.0.0/8', '::1'] }), '127.0.0.1');
  t.is(hostWith({ accessPublic: true }), '0.0.0.0');
  t.is(hostWith({ accessWhitelist: ['127.0.0.1', '192.168.1.0/24'] }), '0.0.0.0');
  t.is(hostWith({ accessPublic: true, host: '127.0.0.1' }), '127.0.0.1');
});

test('a folder for watermarks is the same from each working directory', (t) => {
  const folderOf = (value: string): string =>
    loadConfig({ network, environment: { BLOOMERY_FORGING_WATERMARK_FOLDER: value } }).forging.watermarkFolder;
  for (const value of ['/signed', 'none', '']) t.is(folderOf(value), value);
  for (const value of ['signed', './signed', '~/signed'])
    t.throws(() => folderOf(value), {
      message: /watermarkFolder.* an absolute path, or none|WATERMARK_FOLDER.* an absolute path, or none/,
    });
});

test('the wait threshold is below the block time by default', (t) => {
  t.is(loadConfig({ network, environment: {} }).forging.waitThresholdS, 1);
  const slow = { ...network, params: { ...network.params, blockTimeS: 10 } };
  t.is(loadConfig({ network: slow, environment: {} }).forging.waitThresholdS, 2);
});

test('by default generation 2 needs the consensus of its peers unless forging is forced', (t) => {
  const older = { ...network, params: { ...network.params, generation: 2 as const } };
  const consensus = (of: typeof network, environment: Record<string, string> = {}): number =>
    loadConfig({ network: of, environment }).forging.consensusMin;
  const force = { BLOOMERY_FORGING_FORCE: 'true', BLOOMERY_FORGING_DEFAULT_PASSWORD: 'x' };
  t.is(consensus(network), 0);
  t.is(consensus(older), 51);
  t.is(consensus(older, force), 0);
  t.is(consensus(older, { ...force, BLOOMERY_FORGING_CONSENSUS_MIN: '51' }), 51);
});

test('later sources win: network, file, environment, flags', (t) => {
  const path = file(t, "{ http: { port: 1, host: '127.0.0.2' }, /* a comment */ log: { level: 'warn' }, }");
  const environment = { BLOOMERY_HTTP_PORT: '2', BLOOMERY_LOG_LEVEL: 'error', PATH: '/bin' };
  t.is(loadConfig({ network, environment: {}, file: path }).http.port, 1);
  t.is(loadConfig({ network, environment, file: path }).http.port, 2);
  const config = loadConfig({ network, environment, file: path, flags: new Map([['http.port', 3]]) });
  t.is(config.http.port, 3);
  t.is(config.http.host, '127.0.0.2');
  t.is(config.log.level, 'error');
});

test('lists, peers and delegates are read from environment variables', (t) => {
  const config = loadConfig({
    network,
    environment: {
      BLOOMERY_P2P_FIXED_PEERS: '127.0.0.1:5001, 10.0.0.1:5000',
      BLOOMERY_P2P_SEED_PEERS: 'seed.example:5000',
      BLOOMERY_HTTP_ACCESS_WHITELIST: '10.0.0.0/8,::1',
      BLOOMERY_HTTP_TRUST_PROXY: 'true',
      BLOOMERY_FORGING_DELEGATES: `${KEY}|${SECRET}`,
      BLOOMERY_P2P_BLACKLISTED_IPS: '',
    },
  });
  t.deepEqual(config.p2p.fixedPeers, [
    { ip: '127.0.0.1', wsPort: 5001 },
    { ip: '10.0.0.1', wsPort: 5000 },
  ]);
  t.deepEqual(config.p2p.seedPeers, [{ host: 'seed.example', wsPort: 5000 }]);
  t.deepEqual(config.http.accessWhitelist, ['10.0.0.0/8', '::1']);
  t.true(config.http.trustProxy);
  t.deepEqual(config.forging.delegates, [{ publicKey: KEY, encryptedPassphrase: SECRET }]);
  t.deepEqual(config.p2p.blacklistedIps, []);
});

const wrongFiles: readonly (readonly [what: string, content: string, message: RegExp])[] = [
  ['an unknown section', '{ htpp: {} }', /config\.json5: htpp is not a known key: correct or remove it$/],
  ['an unknown key', '{ http: { prot: 1 } }', /config\.json5: http\.prot is not a known key: correct or remove it$/],
  ['a port as a string', "{ http: { port: '80' } }", /config\.json5: http\.port must be an integer from 0 to 65535$/],
  ['an invalid port', '{ p2p: { port: 70000 } }', /p2p\.port must be an integer/],
  ['a section that is not an object', '{ http: [] }', /config\.json5: http must be an object$/],
  ['a host name to listen on', "{ http: { host: 'localhost' } }", /http\.host must be an IPv4 address/],
  ['an address beyond 255', "{ p2p: { host: '127.0.0.256' } }", /p2p\.host must be an IPv4 address/],
  [
    'a peer without a port',
    "{ p2p: { fixedPeers: ['127.0.0.1'] } }",
    /p2p\.fixedPeers must be a list of IP:PORT; entry 1, "127\.0\.0\.1", is not accepted$/,
  ],
  [
    'a misspelt event code',
    "{ notify: { events: ['FORGING_PAUSED', 'OWN_SLOT_MISSED'] } }",
    /notify\.events must be a list of .*; entry 2, "OWN_SLOT_MISSED", is not accepted$/,
  ],
  ['an entry that is no text', '{ p2p: { fixedPeers: [7] } }', /; entry 1, 7, is not accepted$/],
  [
    'an entry of any length',
    `{ p2p: { fixedPeers: ['${'9'.repeat(5000)}'] } }`,
    /; entry 1, "9{79}…, is not accepted$/,
  ],
  ['a log level of no kind', "{ log: { level: 'loud' } }", /log\.level must be one of trace, debug/],
  [
    'a block of addresses with 33 bits',
    "{ http: { accessWhitelist: ['10.0.0.0/33'] } }",
    /accessWhitelist must be a list/,
  ],
  [
    'a delegate without a passphrase',
    `{ forging: { delegates: [{ publicKey: '${KEY}' }] } }`,
    /forging\.delegates must be a list/,
  ],
  [
    'a wait threshold of the whole slot',
    '{ forging: { waitThresholdS: 2 } }',
    /forging\.waitThresholdS must be below the block time of 2 s$/,
  ],
  [
    'forced forging of its own delegates without a password',
    `{ forging: { force: true, delegates: [{ publicKey: '${'ab'.repeat(32)}', encryptedPassphrase: 'iterations=10&salt=ab' }] } }`,
    /forging\.defaultPassword must be given/,
  ],
  ['the same port twice', '{ http: { port: 7 }, p2p: { port: 7 } }', /http\.port and p2p\.port must be different/],
  [
    'the HTTP port for TLS',
    "{ http: { port: 7, tlsPort: 7, tlsKeyFile: 'k', tlsCertificateFile: 'c' } }",
    /http\.port and http\.tlsPort must be different \(both are 7\)$/,
  ],
  [
    'the peer port for TLS',
    "{ http: { tlsPort: 7, tlsKeyFile: 'k', tlsCertificateFile: 'c' }, p2p: { port: 7 } }",
    /http\.tlsPort and p2p\.port must be different \(both are 7\)$/,
  ],
  [
    'TLS without a key',
    "{ http: { tlsPort: 7, tlsCertificateFile: 'c' } }",
    /http\.tlsKeyFile must be given when http\.tlsPort is set$/,
  ],
  [
    'TLS without a certificate',
    "{ http: { tlsPort: 7, tlsKeyFile: 'k' } }",
    /http\.tlsCertificateFile must be given when http\.tlsPort is set$/,
  ],
];

test('a renamed option is refused under its old name, and the error names the new one', (t) => {
  for (const [before, now] of Object.entries(RENAMED_OPTIONS)) {
    const options = allOptions();
    const renamed = options.find(({ path }) => path === now);
    t.truthy(renamed, `${now} is an option`);
    t.false(
      options.some(({ path }) => path === before),
      `${before} is none`,
    );
    const [section = '', key = ''] = before.split('.');
    t.throws(() => loadConfig({ network, environment: {}, file: file(t, `{ ${section}: { ${key}: [] } }`) }), {
      code: 'CONFIG_INVALID',
      message: new RegExp(`config\\.json5: ${before} is now called ${now}$`),
    });
    t.throws(() => loadConfig({ network, environment: { [variableOf(section, key)]: '' } }), {
      code: 'CONFIG_INVALID',
      message: `environment: ${variableOf(section, key)} is now called ${renamed?.variable ?? ''}`,
    });
  }
});

test('forced forging uses the password in the network folder for its delegates', (t) => {
  const { forging } = loadConfig({ network, environment: {}, file: file(t, '{ forging: { force: true } }') });
  t.is(forging.defaultPassword, network.forgers?.defaultPassword ?? 'none');
  t.is(forging.delegates.length, network.forgers?.delegates.length ?? 0);
});

for (const [what, content, message] of wrongFiles) {
  test(`a configuration file with ${what} is refused`, (t) => {
    const error = t.throws(() => loadConfig({ network, environment: {}, file: file(t, content) }), {
      instanceOf: ProtocolError,
    });
    t.is(error?.code, 'CONFIG_INVALID');
    t.regex(error?.message ?? '', message);
    t.false(error?.message.includes('\n'));
  });
}

test('a missing or invalid configuration file is named', (t) => {
  const broken = file(t, '{ http: ');
  t.regex(
    t.throws(() => loadConfig({ network, environment: {}, file: broken })).message,
    /config\.json5: cannot be read/,
  );
  const missing = join(temporaryFolder(t), 'none.json5');
  t.throws(() => loadConfig({ network, environment: {}, file: missing }), { code: 'CONFIG_UNREADABLE' });
});

test('a variable with a wrong value, or of no option, is refused by name', (t) => {
  const load = (environment: Record<string, string>) => () => loadConfig({ network, environment });
  t.regex(
    t.throws(load({ BLOOMERY_HTTP_PORT: 'http' })).message,
    /^environment: BLOOMERY_HTTP_PORT must be an integer from 0 to 65535$/,
  );
  t.regex(
    t.throws(load({ BLOOMERY_HTTP_PROT: '1' })).message,
    /^environment: BLOOMERY_HTTP_PROT is not a known variable: correct or remove it$/,
  );
  t.notThrows(load({ BLOOMERY_HOME: '/x', BLOOMERY_SUPERVISED: '1' }));
});

test('no error message contains a secret', (t) => {
  const error = t.throws(() => loadConfig({ network, environment: { BLOOMERY_FORGING_DELEGATES: 'hunter2' } }));
  t.false(error.message.includes('hunter2'));
});

test('an empty variable of a list option is an empty list', (t) => {
  const environment = { BLOOMERY_FORGING_DELEGATES: ' ', BLOOMERY_P2P_FIXED_PEERS: '', BLOOMERY_HTTP_HOST_NAMES: '' };
  const { forging, p2p, http } = loadConfig({ network, environment });
  t.deepEqual([forging.delegates, p2p.fixedPeers, http.hostNames], [[], [], []]);
});

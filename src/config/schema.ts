/**
 * Declares all options of a node. `docs/configuration.md` is generated from this file. Values that must be equal on all
 * nodes of a network are not options. The files of the network folder contain those values.
 */

import { isAbsolute } from 'node:path';
import { isIpv4 } from '../primitives/ip.ts';
import { EVENT_CODES } from './event-codes.ts';
import {
  choice,
  delegateList,
  flag,
  hostName,
  hostPort,
  integer,
  ipOrBlock,
  ipv4Port,
  list,
  moduleLevel,
  text,
  type Option,
} from './option.ts';

/** Default of `notify.events`: codes of the events that an operator should learn of immediately. */
const NOTIFIED_CODES = [
  'OWN_SLOTS_MISSED',
  'OWN_BLOCKS_REVERTED',
  'FORGING_PAUSED',
  'FORGING_FAILED',
  'STORE_WRITE_FAILED',
  'JOURNAL_WRITE_FAILED',
  'FORGING_ELSEWHERE',
  'FORGING_FOLDER_RESTORED',
  'BLOCK_DOUBLE_FORGING',
  'CLOCK_OFFSET',
  'CLOCKS_DIFFER',
  'CLOCK_SET',
  'CLOCK_BEHIND_TIP',
  'CLOCK_REACHED_TIP',
  'ACCEPTED_TRANSACTIONS_DROPPED',
  'TRANSACTION_JOURNAL_FAILED',
  'TRANSACTION_JOURNAL_RECOVERED',
  'NODE_STARTED',
];

const IPV4 = 'an IPv4 address such as 127.0.0.1';
const ADDRESSES = 'IP addresses or blocks such as 10.0.0.0/8';

export const OPTIONS = {
  http: {
    enabled: flag('Whether the node answers HTTP.', true),
    processes: integer(
      'Number of separate processes that answer HTTP on the port of the node. With 0, the process of the node itself answers HTTP. A node of `bloomery devnet` always has 0.',
      0,
      0,
      64,
      { defaultText: '1; 0 on a machine or in a container with one processor core or less than 1 GB of memory' },
    ),
    port: integer('Port of the HTTP interface; 0 for any free port.', 4000, 0, 65_535, {
      defaultText: "the network's",
    }),
    hostNames: list(
      'Host names that the node accepts in the header `Host`, in addition to `localhost` and IP addresses, on the routes for forging, diagnostics and passphrases.',
      [],
      'host names',
      hostName,
    ),
    accessPublic: flag(
      'Whether every address has access to the HTTP interface; if false, only the addresses in `accessWhitelist` have access.',
      false,
    ),
    accessWhitelist: list(
      'Addresses that have access if `accessPublic` is false. The addresses of a very wide block have access, but the limits of the node on connections and requests treat them like addresses outside this list. Three kinds of blocks are very wide: IPv4 blocks wider than /8, IPv6 blocks wider than /32, and IPv6 blocks that contain the IPv6 forms (`::ffff:a.b.c.d`) of an IPv4 block wider than /8.',
      ['127.0.0.1'],
      ADDRESSES,
      ipOrBlock,
    ),
    host: text('Address on which the HTTP interface listens.', '127.0.0.1', IPV4, isIpv4, {
      defaultText: '127.0.0.1; 0.0.0.0 if `accessPublic` or `accessWhitelist` admits other machines',
    }),
    forgingWhitelist: list(
      'Addresses that are allowed to view the forging status, and to switch forging on and off. Each of these addresses must also have access through `accessPublic` or `accessWhitelist`.',
      ['127.0.0.1'],
      ADDRESSES,
      ipOrBlock,
    ),
    trustProxy: flag(
      'Whether the node reads the address of the client from the header X-Forwarded-For. Set `trustProxy` to true only if all clients connect through your own proxy.',
      false,
    ),
    corsOrigin: text(
      'Origin of the web pages that are allowed to read answers of the node in a browser (CORS); `*` for every origin. If this option names an origin, the pages of this origin are also allowed to use the routes for forging, diagnostics and passphrases.',
      '*',
      'an origin or *',
      (value) => /^\S{1,200}$/.test(value),
    ),
    connectionsMax: integer(
      'Maximum number of open connections. A tenth of this number is reserved for this machine (127.0.0.1 and ::1) and for `accessWhitelist`. If the system allows the node too few open files for this number, the node accepts fewer connections, and logs `HTTP_CONNECTIONS_LIMITED`.',
      5000,
      100,
      100_000,
    ),
    connectionsPerAddressMax: integer(
      'Maximum number of connections of one address that is neither this machine nor in `accessWhitelist`. An IPv6 network with a prefix of 64 bits (/64) counts as one address.',
      100,
      1,
      100_000,
    ),
    rateLimitMax: integer(
      'Maximum number of requests from each address in a window of `rateLimitWindowMs`. With 0, this machine has no limit, and `rateLimitStrangersMax` limits other machines. A request with a body counts once for each full or partial 16 kB of the body.',
      0,
      0,
      1_000_000_000,
    ),
    rateLimitWindowMs: integer('Length of the window in which the rate limits count requests.', 60_000, 1, 86_400_000, {
      unit: 'ms',
    }),
    rateLimitStrangersMax: integer(
      'Maximum number of requests per window from one address of another machine, even if the address is in `accessWhitelist`; 0 for no limit. The option has an effect only if `rateLimitMax` is 0.',
      1200,
      0,
      1_000_000_000,
    ),
    rateLimitStrangersTotalMax: integer(
      'Maximum total number of requests per window from all addresses that are neither this machine nor in `accessWhitelist`; 0 for no limit.',
      60_000,
      0,
      1_000_000_000,
    ),
    dashboard: flag(
      'Whether clients with access get the dashboard at `/` and the interactive reference at `/api/docs`; if false, `/api/docs` is a page without scripts.',
      true,
    ),
    metrics: flag('Whether clients with access get metrics for Prometheus at `/metrics`.', true),
    readOnly: flag('Whether the node refuses every method except GET, HEAD and OPTIONS.', false),
    strictDialect: flag(
      'Whether the node behaves below `/api` like a lisk-sdk node of the network’s generation: it accepts only the parameters that such a node accepts, and sends only the JSON members that such a node sends. The option does not change the events of `/api/events`.',
      false,
    ),
    legacySignatures: flag(
      'Whether the node serves two routes that only the oldest Lisk clients use: `PUT /api/signatures`, which registers a second signature by passphrase, and `GET /api/signatures/fee`, which shows the fee of this registration.',
      true,
    ),
    legacySignaturesWhitelist: list(
      'Addresses that are allowed to send passphrases to register second signatures. Each of these addresses must also have access through `accessPublic` or `accessWhitelist`. `accessPublic` does not add addresses to this list.',
      ['127.0.0.0/8', '::1'],
      ADDRESSES,
      ipOrBlock,
    ),
    tlsPort: integer('Port of a second listener with TLS; 0 for none.', 0, 0, 65_535),
    tlsKeyFile: text('Private key of the TLS listener, a PEM file.', '', 'a path', () => true),
    tlsCertificateFile: text('Certificate chain of the TLS listener, a PEM file.', '', 'a path', () => true),
    headersTimeoutMs: integer('Time within which a client must send all headers of a request.', 5000, 1, 40_000, {
      unit: 'ms',
    }),
    socketTimeoutMs: integer(
      'Time without sent or received bytes after which the node closes the connection of an unfinished request. Between two requests, this option has no effect: the node closes the connection after 5 to 6 s.',
      20_000,
      1,
      120_000,
      { unit: 'ms' },
    ),
  },
  p2p: {
    enabled: flag(
      'Whether the node connects to peers; if false, the node neither listens for peers nor dials peers.',
      true,
    ),
    port: integer('Port for peers; 0 for any free port.', 5000, 0, 65_535, {
      defaultText: "the network's",
    }),
    host: text('Listen address of the peer port.', '0.0.0.0', IPV4, isIpv4),
    fixedPeers: list('Peers to which the node always tries to be connected.', [], 'IP:PORT', ipv4Port),
    seedPeers: list('Peers that the node asks for the addresses of other peers.', [], 'HOST:PORT', hostPort, {
      defaultText: "the network's",
    }),
    whitelistedPeers: list(
      'Peers that the node always remembers. The node never closes their connections to make room for other peers. Whitelisted, fixed and seed peers get no penalty points for an invalid block or transaction. They still get penalty points for too many frames per second, for a malformed list of peers, and for node information that is too large.',
      [],
      'IP:PORT',
      ipv4Port,
    ),
    blacklistedIps: list(
      'Addresses to which the node never connects, and from which the node accepts no peers. Even if another option, such as `fixedPeers`, names one of these addresses, the node does not connect to it.',
      [],
      'IPv4 addresses',
      (entry) => (isIpv4(entry) ? entry : undefined),
    ),
    advertiseAddress: flag(
      'Whether peers are allowed to pass on the address of this node to other nodes. In generation 2, this option has no effect.',
      true,
    ),
    outboundMax: integer(
      'Maximum number of open connections that this node has opened to peers. The node dials all fixed peers, even if their number is above this maximum.',
      20,
      0,
      1000,
    ),
    inboundMax: integer('Maximum number of open connections that peers have opened to this node.', 100, 0, 10_000),
  },
  forging: {
    enabled: flag('Whether this node is allowed to forge; if false, the node ignores `delegates`.', true),
    force: flag(
      'Whether the node, at each start, decrypts all passphrases in `delegates` with `defaultPassword` and enables forging for these delegates.',
      false,
    ),
    delegates: delegateList('Delegates that are allowed to forge on this node, with their encrypted passphrases.', {
      defaultText: 'all delegates in `forgers.json` of the network, if the network has this file; otherwise none',
    }),
    defaultPassword: text(
      'Password of the encrypted passphrases in `delegates`. With `force`, the node needs this password.',
      '',
      'a string',
      () => true,
      { secret: true, defaultText: "the network's, if `forgers.json` of the network contains all `delegates`" },
    ),
    riskDoubleForging: flag(
      'Whether the node skips the search for signatures that its delegates made on other nodes. If true, the node checks only the signing record in its data folder and the newest block of the delegate on the chain. ' +
        'If two nodes with this setting have the same delegate, both nodes forge a block in each slot of this delegate.',
      false,
      { defaultText: 'false; true on networks with published passphrases, such as a devnet' },
    ),
    watermarkFolder: text(
      'Folder outside of the data folder, in which the node stores the last signed header of each delegate. With these headers, ' +
        'the node detects a data folder that was restored from a backup. If the value is `none`, the node stores no headers. With `riskDoubleForging`, the node does not check these headers.',
      '',
      'an absolute path, or none',
      // A relative path would mean a different folder in each working directory. A command and the node could then use
      // different folders.
      (value) => value === '' || value === 'none' || isAbsolute(value),
      { defaultText: 'bloomery/signed below $XDG_STATE_HOME, or below ~/.local/state' },
    ),
    consensusMin: integer(
      'Minimum share of the connected peers that must have the tip of this node before this node forges; 0 for no condition. If the share among all connected peers is too low, the node also computes the share among only those peers that it dialled or that the configuration names. If this second share is high enough, the node forges. With `p2p.enabled: false` (`--no-peers`), the node has no peers, and the option has no effect.',
      0,
      0,
      100,
      { unit: '%', defaultText: '51 in generation 2 if `force` is false; otherwise 0' },
    ),
    waitThresholdS: integer(
      'Maximum time for which the node waits for a missing block of the previous slot before it forges in its own slot. The time counts from the start of the node’s own slot, and must be below the block time.',
      2,
      0,
      3600,
      { unit: 's', defaultText: '2, or half the block time (rounded down) if that is less' },
    ),
  },
  pool: {
    transactionsPerQueueMax: integer(
      'Maximum number of transactions in each of the five queues of the pool. A full queue refuses new transactions from clients and peers.',
      1000,
      100,
      5000,
    ),
    // The name `broadcastIntervalMs` is from Lisk Core. In this node, the option sets the interval between two checks
    // of the transactions that wait in the pool. The gossip of transactions does not use this interval.
    broadcastIntervalMs: integer(
      'Time between two checks of the transactions that wait in the pool. The node also checks a new transaction on arrival. In two cases, a new transaction from a peer waits for a later check: the limit on signature checks for this peer or for all peers is reached, or the queue `verified` of the pool is full.',
      5000,
      100,
      60_000,
      { unit: 'ms' },
    ),
  },
  notify: {
    name: text(
      'Name of this node in the events that it sends; if not set, the host name of the machine.',
      '',
      'a string',
      () => true,
    ),
    webhook: text('URL to which the node posts the `events` as JSON.', '', 'an http or https URL', isWebUrl, {
      secret: true,
    }),
    webhookSecretFile: text(
      'File with a secret in its first line. With this secret, the node signs each event that it posts to `webhook`. The receiver can then verify that the event comes from the node.',
      '',
      'a path',
      () => true,
    ),
    command: list(
      'Program with its arguments. The node runs the program, without a shell, for each event whose code is in `events`. The program receives the event as JSON on its standard input.',
      [],
      'strings',
      (entry) => entry,
    ),
    events: list(
      'Codes of the events that the node sends to `webhook` and `command`; `all` for all codes.',
      NOTIFIED_CODES,
      'codes of events that the node sends, such as OWN_SLOTS_MISSED, or all',
      (entry) => (entry === 'all' || EVENT_CODES.has(entry) ? entry : undefined),
    ),
  },
  verifier: {
    threads: integer(
      'Number of worker threads that verify large batches of signatures, such as the signatures of downloaded blocks. The main thread verifies small batches; with 0 threads, the main thread verifies all signatures.',
      2,
      0,
      64,
    ),
    backend: choice(
      'Implementation of Ed25519 signatures: `sodium` is a native library, `noble` is JavaScript. `auto` and `sodium` select the native library if it loads, and otherwise `noble`.',
      ['auto', 'sodium', 'noble'],
      'auto',
    ),
  },
  memory: {
    limitMb: integer(
      'Limit of the memory of the node’s process. The reading processes do not count. On Linux, the mapped pages of the store do not count either. If the memory stays above the limit after a garbage collection, the node ends, so that a supervisor restarts it. In two cases, the node ends without waiting for a garbage collection: the memory exceeds the limit by more than a quarter, or the main thread does not respond while the memory exceeds the limit. docs/guides/operate.md explains how to choose the limit. The smallest valid limit depends on `http.connectionsMax`, `pool.transactionsPerQueueMax` and `verifier.threads`. With a smaller limit, the node does not start.',
      2048,
      1280,
      1_000_000,
      { unit: 'MB' },
    ),
  },
  watchdog: {
    blockedMaxS: integer(
      'Time limit for two faults: the event loop is blocked, or garbage collection takes 80 % of the time or more. If one of these faults lasts longer than the limit, the node ends, so that a supervisor can restart it; 0 for no limit. The limit does not apply while the node starts.',
      30,
      0,
      3600,
      { unit: 's' },
    ),
  },
  log: {
    level: choice('Lowest level of the log lines to write.', ['trace', 'debug', 'info', 'warn', 'error'], 'info'),
    format: choice('Format of the log: lines for people, or JSON for programs.', ['human', 'json'], 'human'),
    modules: list(
      'Log levels of single modules. The level of a module replaces `level` for this module and for the modules inside it. For example, a level for `p2p` also applies to `p2p/server`.',
      [],
      'MODULE=LEVEL such as p2p=debug',
      moduleLevel,
    ),
    file: text(
      'File to which the node appends its log lines; if not set, the node writes them to standard error.',
      '',
      'a path',
      () => true,
    ),
    fileSizeMaxMb: integer(
      'Size at which the node renames the log file to `<file>.1` and begins a new file.',
      50,
      1,
      10_000,
      { unit: 'MB' },
    ),
    filesKept: integer('Number of renamed log files that the node keeps.', 5, 1, 100),
  },
} as const satisfies Record<string, Record<string, Option<unknown>>>;

type Sections = typeof OPTIONS;
type ValueOf<O> = O extends Option<infer T> ? T : never;

/** The typed values of all options. */
export type Config = {
  readonly [S in keyof Sections]: { readonly [K in keyof Sections[S]]: ValueOf<Sections[S][K]> };
};

export type HttpConfig = Config['http'];
export type P2pConfig = Config['p2p'];
export type NotifyConfig = Config['notify'];

export interface NamedOption {
  readonly section: string;
  readonly key: string;
  /** `section.key`, the name of the option in the documentation. */
  readonly path: string;
  /** Environment variable that sets the option. */
  readonly variable: string;
  readonly option: Option<unknown>;
}

/** All options, in the order of `OPTIONS`. */
export function allOptions(): readonly NamedOption[] {
  return Object.entries(OPTIONS).flatMap(([section, options]) =>
    Object.entries(options).map(([key, option]: [string, Option<unknown>]) => ({
      section,
      key,
      path: `${section}.${key}`,
      variable: variableOf(section, key),
      option,
    })),
  );
}

/**
 * Name of the environment variable that sets an option. Example: section `http` and key `forgingWhitelist` give
 * `BLOOMERY_HTTP_FORGING_WHITELIST`.
 */
export function variableOf(section: string, key: string): string {
  return `BLOOMERY_${section}_${key.replace(/[A-Z]/g, (capital) => `_${capital}`)}`.toUpperCase();
}

/**
 * True for an absolute http or https URL that contains no user name and no password. The result is also true for an
 * empty text, because an empty text means that the option is not set.
 */
function isWebUrl(text: string): boolean {
  if (text === '') return true;
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === '';
}

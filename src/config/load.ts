/**
 * Collects the values of options from their sources. The order of the sources is: defaults, network folder, user's
 * file, environment, flags. If several sources give a value for the same option, the option gets the value of the
 * source that is last in this order.
 */

import JSON5 from 'json5';
import { ProtocolError } from '../primitives/errors.ts';
import { readBounded, whyUnreadable } from './bounded-file.ts';
import { forgersOf, type Network } from './network.ts';
import { RecordReader } from './record.ts';
import { refuseRepeatedKey } from './repeated-keys.ts';
import { RENAMED_EVENT_CODES, RENAMED_OPTIONS } from './renamed-options.ts';
import { OPTIONS, allOptions, variableOf, type Config, type NamedOption } from './schema.ts';

/** The unchecked values of one source. Each key of `values` is the name of an option (`section.key`). */
interface ConfigLayer {
  /** Name of the source in errors: the path of the file or of the network folder, `environment` or `flags`. */
  readonly origin: string;
  readonly values: ReadonlyMap<string, unknown>;
  /**
   * Returns an option's name in this source, such as `BLOOMERY_HTTP_PORT`. A source that names its options
   * `section.key` does not have this function.
   */
  readonly nameOf?: (option: NamedOption) => string;
}

export interface ConfigSources {
  readonly network: Network;
  /** Path of the user's JSON5 file. */
  readonly file?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * Value of each flag, by the name of its option (`section.key`). The values have the same form as in a configuration
   * file.
   */
  readonly flags?: ReadonlyMap<string, unknown>;
  /**
   * The default of the option `http.processes` on this machine. If the member `processes` is absent, the option has the
   * default 0.
   */
  readonly processes?: number;
}

const CODE = 'CONFIG_INVALID';
/**
 * Maximum size of a configuration file. A file with all options and the passphrases of all delegates of a round is much
 * smaller.
 */
const FILE_BYTES_MAX = 4 * 1024 * 1024;
/**
 * Default of `forging.consensusMin` in generation 2, in percent. If `forging.force` is true, the default of `OPTIONS`
 * applies instead, as in generation 3.
 */
const GEN2_CONSENSUS_MIN = 51;

/** An option with its effective value and the source of that value. */
export interface ExplainedOption {
  readonly named: NamedOption;
  readonly value: unknown;
  /** Path of the configuration file or of the network folder, or `environment`, `flags` or `default`. */
  readonly origin: string;
}

/**
 * Loads the configuration of a node.
 *
 * @throws ProtocolError `CONFIG_UNREADABLE` if the configuration file cannot be read or is not JSON5
 * @throws ProtocolError the error of `forgersOf`
 * @throws ProtocolError `CONFIG_INVALID` for a wrong value, an unknown, renamed or repeated key, or values that
 *   contradict each other
 */
export function loadConfig(sources: ConfigSources): Config {
  const values: Record<string, Record<string, unknown>> = {};
  for (const { named, value } of explainConfig(sources)) {
    values[named.section] = { ...values[named.section], [named.key]: value };
  }
  // Each value has the type that the schema declares. The compiler cannot infer these types, because the loop handles
  // options of all types.
  return values as unknown as Config;
}

/**
 * Loads the configuration of a node as a list of options in the order of the schema.
 *
 * @throws ProtocolError in the same cases as `loadConfig`
 */
export function explainConfig(sources: ConfigSources): readonly ExplainedOption[] {
  const layers = [
    networkLayer(sources.network),
    ...(sources.file === undefined ? [] : [fileLayer(sources.file)]),
    environmentLayer(sources.environment),
    { origin: 'flags', values: sources.flags ?? new Map<string, unknown>() },
  ];
  const explained: ExplainedOption[] = [];
  const values: Record<string, Record<string, unknown>> = {};
  for (const section of Object.keys(OPTIONS)) values[section] = {};
  for (const named of allOptions()) {
    const section = values[named.section];
    if (section === undefined) continue;
    const { value, origin } = valueOf(named, layers, sources, section);
    section[named.key] = value;
    explained.push({ named, value, origin });
  }
  // A comment in `loadConfig` explains why this cast is correct.
  checkTogether(values as unknown as Config, sources.network);
  return explained;
}

function valueOf(
  named: NamedOption,
  layers: readonly ConfigLayer[],
  sources: ConfigSources,
  section: Readonly<Record<string, unknown>>,
): { readonly value: unknown; readonly origin: string } {
  const layer = layers.findLast((candidate) => candidate.values.has(named.path));
  if (layer === undefined) return { value: defaultOf(named, sources, section), origin: 'default' };
  const value = named.option.read(layer.values.get(named.path));
  if (value !== undefined) return { value, origin: layer.origin };
  const name = layer.nameOf?.(named) ?? named.path;
  if (named.path === 'notify.events') refuseRenamedCode(layer, name, layer.values.get(named.path));
  const { option } = named;
  const wrong = option.secret === true ? undefined : option.wrongEntry?.(layer.values.get(named.path));
  throw new ProtocolError(
    CODE,
    { source: layer.origin, key: named.path, expected: option.expected },
    `${layer.origin}: ${name} must be ${option.expected}${wrong === undefined ? '' : `; ${wrong}, is not accepted`}`,
  );
}

/**
 * @param section values of the options that precede the option `named` in the same section; some defaults depend on
 *   these values
 */
function defaultOf(
  named: NamedOption,
  { network, processes }: ConfigSources,
  section: Readonly<Record<string, unknown>>,
): unknown {
  if (named.path === 'http.processes') return processes ?? named.option.default;
  if (named.path === 'http.host' && mayOthersAsk(section)) return '0.0.0.0';
  // The default of `forging.waitThresholdS` suits the slots of mainnet. On a devnet with short slots, this default
  // could be as long as a whole slot. The function therefore limits the default to half a slot.
  if (named.path === 'forging.waitThresholdS') {
    return Math.min(OPTIONS.forging.waitThresholdS.default, Math.floor(network.params.blockTimeS / 2));
  }
  if (named.path === 'forging.consensusMin' && network.params.generation === 2 && section['force'] !== true) {
    return GEN2_CONSENSUS_MIN;
  }
  // If `forging.riskDoubleForging` is true, the node does not search for signatures that its delegates made on other
  // nodes. The default is true on a network whose delegates have published passphrases. On such a network, anybody can
  // sign blocks for the delegates, so the search is useless. In addition, the search would delay the first blocks of a
  // new network.
  if (named.path === 'forging.riskDoubleForging') return network.forgers?.arePublished === true;
  if (named.path === 'forging.defaultPassword') return passwordOf(network, section['delegates']);
  return named.option.default;
}

/**
 * True when `http.accessPublic` or `http.accessWhitelist` admits other machines. In this case, the default of
 * `http.host` is `0.0.0.0`, which means all IPv4 addresses.
 */
function mayOthersAsk({ accessPublic, accessWhitelist }: Readonly<Record<string, unknown>>): boolean {
  const isOther = (entry: string): boolean => !/^(?:127\.|::1(?:\/128)?$)/.test(entry);
  return accessPublic === true || (accessWhitelist as readonly string[]).some(isOther);
}

/**
 * Returns the password of the delegates in `forgers.json` of the network folder. The result is empty in three cases:
 * the file is missing, the file has no password, or a configured delegate is not in the file.
 */
function passwordOf({ forgers }: Network, delegates: unknown): string {
  const known = new Set(forgers?.delegates.map(({ encryptedPassphrase }) => encryptedPassphrase));
  const areKnown =
    Array.isArray(delegates) &&
    delegates.every(({ encryptedPassphrase }: { encryptedPassphrase: string }) => known.has(encryptedPassphrase));
  return areKnown ? (forgers?.defaultPassword ?? '') : '';
}

/** @throws ProtocolError `CONFIG_INVALID` for values of options that contradict each other or the block time */
function checkTogether(config: Config, network: Network): void {
  const { blockTimeS } = network.params;
  if (config.forging.waitThresholdS >= blockTimeS) {
    throw new ProtocolError(
      CODE,
      { key: 'forging.waitThresholdS', blockTimeS },
      `forging.waitThresholdS must be below the block time of ${blockTimeS} s`,
    );
  }
  if (config.forging.force && config.forging.delegates.length > 0 && config.forging.defaultPassword === '') {
    throw new ProtocolError(
      CODE,
      { key: 'forging.defaultPassword' },
      'forging.defaultPassword must be given when forging.force is true',
    );
  }
  checkTlsFiles(config);
  checkPortsDiffer(config);
}

function checkTlsFiles({ http }: Config): void {
  if (!http.enabled || http.tlsPort === 0) return;
  for (const option of ['tlsKeyFile', 'tlsCertificateFile'] as const) {
    if (http[option] !== '') continue;
    const key = `http.${option}`;
    throw new ProtocolError(CODE, { key }, `${key} must be given when http.tlsPort is set`);
  }
}

/**
 * Throws an error if two listeners have the same port. Several listeners can have port 0. For `http.port` and
 * `p2p.port`, 0 means any free port. For `http.tlsPort`, 0 means no listener.
 */
function checkPortsDiffer({ http, p2p }: Config): void {
  const ports = [
    ...(http.enabled
      ? ([
          ['http.port', http.port],
          ['http.tlsPort', http.tlsPort],
        ] as const)
      : []),
    ...(p2p.enabled ? ([['p2p.port', p2p.port]] as const) : []),
  ];
  for (const [at, [key, port]] of ports.entries()) {
    const same = ports.slice(0, at).find(([, earlier]) => earlier === port);
    if (port === 0 || same === undefined) continue;
    throw new ProtocolError(CODE, { key }, `${same[0]} and ${key} must be different (both are ${port})`);
  }
}

function networkLayer(network: Network): ConfigLayer {
  const values = new Map<string, unknown>([
    ['http.port', network.httpPort],
    ['p2p.port', network.wsPort],
    ['p2p.seedPeers', network.seeds.map((seed) => `${seed.host}:${seed.wsPort}`)],
  ]);
  const forgers = forgersOf(network);
  if (forgers !== undefined) values.set('forging.delegates', forgers.delegates);
  return { origin: network.directory, values };
}

function fileLayer(file: string): ConfigLayer {
  const record = new RecordReader(readJson5(file), file, CODE);
  const values = new Map<string, unknown>();
  for (const [section, options] of Object.entries(OPTIONS)) {
    if (!record.has(section)) continue;
    const members = record.object(section);
    for (const key of Object.keys(options)) if (members.has(key)) values.set(`${section}.${key}`, members.raw(key));
    for (const [before, now] of Object.entries(RENAMED_OPTIONS)) {
      const [itsSection, key = ''] = before.split('.');
      if (itsSection === section && members.has(key)) throw renamed(file, before, now);
    }
    members.end();
  }
  record.end();
  return { origin: file, values };
}

function readJson5(file: string): unknown {
  let text: string;
  let value: unknown;
  try {
    text = readBounded(file, { bytesMax: FILE_BYTES_MAX }).toString('utf8');
    value = JSON5.parse<unknown>(text);
  } catch (error) {
    const reason = whyUnreadable(error, 'correct --config').replace(/^JSON5: /, '');
    throw new ProtocolError('CONFIG_UNREADABLE', { file }, `${file}: cannot be read: ${reason}`, { cause: error });
  }
  refuseRepeatedKey(text, file, CODE);
  return value;
}

function environmentLayer(environment: ConfigSources['environment']): ConfigLayer {
  const options = allOptions();
  const values = new Map<string, unknown>();
  for (const { path, variable, option } of options) {
    const value = environment[variable];
    if (value !== undefined) values.set(path, option.fromText(value));
  }
  for (const [before, now] of Object.entries(RENAMED_OPTIONS)) {
    const [beforeName, nowName] = [variableOfPath(before), variableOfPath(now)];
    if (environment[beforeName] !== undefined) throw renamed('environment', beforeName, nowName);
  }
  refuseMisspelt(environment, new Set(options.map((named) => named.variable)));
  return { origin: 'environment', values, nameOf: (named) => named.variable };
}

function variableOfPath(path: string): string {
  const [section = '', key = ''] = path.split('.');
  return variableOf(section, key);
}

/**
 * @throws ProtocolError `CONFIG_INVALID` if the list `value` contains an event code that was renamed. The message has
 *   the new name
 */
function refuseRenamedCode({ origin }: ConfigLayer, name: string, value: unknown): void {
  for (const code of Array.isArray(value) ? (value as readonly unknown[]) : []) {
    const now = typeof code === 'string' ? RENAMED_EVENT_CODES[code] : undefined;
    if (now !== undefined) throw renamed(`${origin}: ${name}`, String(code), now);
  }
}

function renamed(source: string, before: string, now: string): ProtocolError {
  return new ProtocolError(CODE, { source, key: before, renamedTo: now }, `${source}: ${before} is now called ${now}`);
}

/**
 * Refuses an environment variable that begins with the prefix of a section, such as `BLOOMERY_HTTP_`, but belongs to no
 * option. The name of this variable is probably misspelt. The function accepts all other variables that begin with
 * `BLOOMERY_`, because these variables can have other uses.
 */
function refuseMisspelt(environment: ConfigSources['environment'], known: ReadonlySet<string>): void {
  const prefixes = Object.keys(OPTIONS).map((section) => `BLOOMERY_${section.toUpperCase()}_`);
  for (const variable of Object.keys(environment)) {
    if (known.has(variable) || !prefixes.some((prefix) => variable.startsWith(prefix))) continue;
    throw new ProtocolError(
      CODE,
      { key: variable },
      `environment: ${variable} is not a known variable: correct or remove it`,
    );
  }
}

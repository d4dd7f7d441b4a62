/**
 * Defines the kinds of options, such as `flag` and `integer`. The kind defines the accepted values, and their form in a
 * configuration file and in an environment variable.
 */

import { isIpv4 } from '../primitives/ip.ts';
import type { LogLevel } from '../ports/observer.ts';
import { forgerEntry, type ForgerEntry, type SeedPeer } from './network.ts';
import { RecordReader } from './record.ts';

export interface Option<T> {
  readonly help: string;
  readonly default: T;
  /** Text that describes the accepted values. In an error, the text follows the words "must be". */
  readonly expected: string;
  readonly unit?: string;
  /**
   * True for a value that contains a secret. A secret must never appear in logs, errors, documentation or the output of
   * a command.
   */
  readonly secret?: boolean;
  /**
   * Text that the documentation shows in place of `default`, if the default depends on the network, the machine or
   * another option.
   */
  readonly defaultText?: string;
  /** Reads a value in the form of a configuration file; returns undefined for a value that is not accepted. */
  read(value: unknown): T | undefined;
  /**
   * If the option is a list, returns a text with the position and the value of the first entry that `read` does not
   * accept. Returns undefined if `read` accepts all entries.
   */
  wrongEntry?(value: unknown): string | undefined;
  /** Converts the text of an environment variable into the form that `read` accepts. */
  fromText(text: string): unknown;
}

/** If an entry is wrong, the error shows at most this number of characters of the entry. */
const SHOWN_ENTRY_MAX = 80;

type Facts = Pick<Option<unknown>, 'unit' | 'secret' | 'defaultText'>;

export interface Ipv4Address {
  readonly ip: string;
  readonly wsPort: number;
}

export function flag(help: string, fallback: boolean, facts: Facts = {}): Option<boolean> {
  return {
    help,
    default: fallback,
    expected: 'true or false',
    ...facts,
    read: (value) => (typeof value === 'boolean' ? value : undefined),
    fromText: (text) => (text === 'true' ? true : text === 'false' ? false : text),
  };
}

export function integer(help: string, fallback: number, min: number, max: number, facts: Facts = {}): Option<number> {
  return {
    help,
    default: fallback,
    expected: `an integer from ${min} to ${max}`,
    ...facts,
    read: (value) =>
      typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max ? value : undefined,
    fromText: (text) => (/^-?[0-9]{1,15}$/.test(text) ? Number(text) : text),
  };
}

export function text(
  help: string,
  fallback: string,
  expected: string,
  accepts: (value: string) => boolean,
  facts: Facts = {},
): Option<string> {
  return {
    help,
    default: fallback,
    expected,
    ...facts,
    read: (value) => (typeof value === 'string' && accepts(value) ? value : undefined),
    fromText: (value) => value,
  };
}

export function choice<const Value extends string>(
  help: string,
  values: readonly Value[],
  fallback: NoInfer<Value>,
): Option<Value> {
  return {
    help,
    default: fallback,
    expected: `one of ${values.join(', ')}`,
    read: (value) => values.find((known) => known === value),
    fromText: (value) => value,
  };
}

/**
 * Makes an option whose value is a list. In a configuration file, each entry is a string, which `readEntry` converts.
 * In an environment variable, commas separate the entries.
 */
export function list<T>(
  help: string,
  fallback: readonly string[],
  expected: string,
  readEntry: (entry: string) => T | undefined,
  facts: Facts = {},
): Option<readonly T[]> {
  const readItem = (item: unknown): T | undefined => (typeof item === 'string' ? readEntry(item) : undefined);
  const read = (value: unknown): readonly T[] | undefined => {
    if (!Array.isArray(value) || value.length > ENTRIES_MAX) return undefined;
    const entries: T[] = [];
    for (const item of value as readonly unknown[]) {
      const entry = readItem(item);
      if (entry === undefined) return undefined;
      entries.push(entry);
    }
    return entries;
  };
  return {
    help,
    default: read(fallback) ?? [],
    expected: `a list of ${expected}`,
    ...facts,
    read,
    wrongEntry(value) {
      if (!Array.isArray(value)) return undefined;
      const items = value as readonly unknown[];
      const index = items.findIndex((item) => readItem(item) === undefined);
      return index < 0 ? undefined : `entry ${index + 1}, ${shortened(JSON.stringify(items[index]))}`;
    },
    fromText: (joined) => (joined.trim() === '' ? [] : joined.split(',').map((entry) => entry.trim())),
  };
}

/**
 * Makes an option whose value is a list of `{publicKey, encryptedPassphrase}` objects. In an environment variable, each
 * entry has the form `<publicKey>|<encryptedPassphrase>`, and commas separate the entries.
 */
export function delegateList(help: string, facts: Pick<Facts, 'defaultText'> = {}): Option<readonly ForgerEntry[]> {
  return {
    help,
    default: [],
    expected:
      'a list of {publicKey, encryptedPassphrase}, in which each publicKey has 64 lower-case hexadecimal digits',
    secret: true,
    ...facts,
    read(value) {
      try {
        return new RecordReader({ value }, '', 'ENTRY').objects('value', forgerEntry, ENTRIES_MAX);
      } catch {
        return undefined;
      }
    },
    fromText: (joined) =>
      joined.trim() === ''
        ? []
        : joined.split(',').map((entry) => {
            const [publicKey, encryptedPassphrase] = entry.split('|');
            return { publicKey: publicKey?.trim(), encryptedPassphrase: encryptedPassphrase?.trim() };
          }),
  };
}

function shortened(text: string): string {
  return text.length > SHOWN_ENTRY_MAX ? `${text.slice(0, SHOWN_ENTRY_MAX)}…` : text;
}

export function ipv4Port(entry: string): Ipv4Address | undefined {
  const match = /^([0-9.]{7,15}):([0-9]{1,5})$/.exec(entry);
  const ip = match?.[1];
  const wsPort = Number(match?.[2]);
  return ip !== undefined && isIpv4(ip) && isPort(wsPort) ? { ip, wsPort } : undefined;
}

export function hostPort(entry: string): SeedPeer | undefined {
  const match = /^([a-zA-Z0-9][a-zA-Z0-9.-]{0,252}):([0-9]{1,5})$/.exec(entry);
  const host = match?.[1];
  const wsPort = Number(match?.[2]);
  return host !== undefined && isPort(wsPort) ? { host, wsPort } : undefined;
}

/**
 * Reads a host name, and converts it to lower case, because browsers send host names in lower case. The result is
 * undefined for any other text, for example a host name with a port.
 */
export function hostName(entry: string): string | undefined {
  return /^[a-zA-Z0-9](?:[a-zA-Z0-9.-]{0,251}[a-zA-Z0-9])?$/.test(entry) ? entry.toLowerCase() : undefined;
}

/**
 * Returns the text of an IPv4 or IPv6 address, or of a block of addresses (`10.0.0.0/8`); undefined for any other text.
 * For an IPv6 address, the function checks only the characters and the length.
 */
export function ipOrBlock(entry: string): string | undefined {
  const [address = '', bits, ...rest] = entry.split('/');
  if (rest.length > 0) return undefined;
  const v4 = isIpv4(address);
  if (!v4 && !/^(?=.*:)[0-9a-fA-F:.]{2,45}$/.test(address)) return undefined;
  if (bits !== undefined && (!/^[0-9]{1,3}$/.test(bits) || Number(bits) > (v4 ? 32 : 128))) return undefined;
  return entry;
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

/** Maximum number of entries in a list. The lists that people write are much shorter. */
const ENTRIES_MAX = 10_000;

/** Reads the log level of one module, such as `p2p=debug`. The modules have the same names as in the log lines. */
export function moduleLevel(entry: string): readonly [module: string, level: LogLevel] | undefined {
  const [, module, name] = /^([a-z0-9/-]{1,40})=([a-z]+)$/.exec(entry) ?? [];
  const level = LOG_LEVELS.find((known) => known === name);
  return module === undefined || level === undefined ? undefined : [module, level];
}

const LOG_LEVELS: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error'];

/** The requests of a sink to a ClickHouse server. */

import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { Readable } from 'node:stream';
import type { Clock } from '../../ports/clock.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';

export interface ClickHouseServer {
  readonly database: string;
  /** Runs a statement without a result. */
  run(statement: string): Promise<void>;
  /**
   * Runs a statement that changes rows. Like an insert, a statement that changes rows has a query id by which it can be
   * found while it runs.
   */
  change(statement: string): Promise<void>;
  /** Runs a SELECT and returns its rows; integers of 64 bits come as text. */
  rows<T>(select: string): Promise<readonly T[]>;
  /**
   * Inserts rows. If the server or this process dies during the call, a part of the rows may be inserted.
   *
   * @param lines rows in the format TabSeparated, with their values in the order of the columns
   */
  insert(table: string, columns: readonly string[], lines: Iterable<string>, options?: InsertOptions): Promise<void>;
  close(): Promise<void>;
}

interface InsertOptions {
  /**
   * True to end the insert only when the shards of a Distributed table have the rows. By default, the insert ends when
   * the first server has the rows.
   */
  readonly isWaitingForShards?: true;
}

/**
 * Time limit of a request, in milliseconds. An insert of a range takes about a second, but a mutation of large tables
 * takes minutes.
 */
const REQUEST_TIMEOUT_MS = 600_000;
/** Number of lines that are sent in one chunk. */
const LINES_AT_ONCE = 1_000;

/**
 * True for a URL with a password. Every program on the machine can read a password in a URL in the list of processes.
 */
export function hasPassword(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { password, searchParams } = new URL(url);
  return password !== '' || searchParams.has('password');
}

/**
 * @param url URL with the user name if the server asks for one; errors never contain its password
 * @param database name of the database, which need not exist yet
 * @param givenPassword password that replaces the password in the URL
 * @throws ProtocolError `CLICKHOUSE_UNREACHABLE` or `CLICKHOUSE_REFUSED`, like all calls
 */
export function openServer(
  url: string,
  database: string,
  clock: Pick<Clock, 'nowMs'>,
  givenPassword?: string,
): ClickHouseServer {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,60}$/.test(database)) {
    throw new ProtocolError(
      'USAGE',
      { database },
      `\`${database}\` is no name of a database: use letters, digits and _`,
    );
  }
  const { place, shown, username, password: passwordInUrl } = placeIn(url);
  const password = givenPassword ?? passwordInUrl;
  const client = createClient({
    url: place,
    username,
    password,
    request_timeout: REQUEST_TIMEOUT_MS,
    max_open_connections: 4,
    // A server closes idle connections. A request over such a connection would fail, and nobody would know whether it was done.
    keep_alive: { enabled: false },
    log: { level: ClickHouseLogLevel.OFF },
  });
  // Query ids begin with this prefix, so that running inserts of a killed sink can be found.
  const queryPrefix = `bloomery-${database}-`;
  let queries = 0;
  const nextQueryId = (): string => `${queryPrefix}${process.pid}-${clock.nowMs()}-${(queries += 1)}`;

  const told = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw refusalOf(shown, error, password);
    }
  };

  return {
    database,
    run: async (statement) => {
      await told(client.command({ query: statement }));
    },
    change: async (statement) => {
      await told(client.command({ query: statement, query_id: nextQueryId() }));
    },
    rows: async <T>(select: string) => {
      const result = await told(client.query({ query: select, format: 'JSONEachRow' }));
      return told(result.json<T>()) as Promise<readonly T[]>;
    },
    insert: async (table, columns, lines, options) => {
      await told(
        client.insert({
          table: `${database}.${table}`,
          columns: columns as [string, ...string[]],
          values: Readable.from(chunks(lines), { objectMode: false }),
          format: 'TabSeparated',
          query_id: nextQueryId(),
          ...(options?.isWaitingForShards === true ? { clickhouse_settings: { insert_distributed_sync: 1 } } : {}),
        }),
      );
    },
    close: () => client.close(),
  };
}

function* chunks(lines: Iterable<string>): Iterable<string> {
  let gathered: string[] = [];
  for (const line of lines) {
    gathered.push(line);
    if (gathered.length < LINES_AT_ONCE) continue;
    yield gathered.join('');
    gathered = [];
  }
  if (gathered.length > 0) yield gathered.join('');
}

interface ServerPlace {
  readonly place: string;
  /** URL for messages: without parameters, which may hold secrets. */
  readonly shown: string;
  readonly username: string;
  readonly password: string;
}

function placeIn(url: string): ServerPlace {
  // The error does not repeat the URL, because it may hold a password.
  const wrong = 'the URL is no address of a server: give one such as http://127.0.0.1:8123';
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw new ProtocolError('USAGE', {}, wrong);
  const parsed = new URL(url);
  try {
    const username = decodeURIComponent(parsed.username) || 'default';
    const password = decodeURIComponent(parsed.password) || (parsed.searchParams.get('password') ?? '');
    parsed.username = '';
    parsed.password = '';
    parsed.searchParams.delete('password');
    return { place: parsed.toString(), shown: `${parsed.origin}${parsed.pathname}`, username, password };
  } catch {
    throw new ProtocolError('USAGE', {}, `${wrong}; a % in the user or password is written %25`);
  }
}

function refusalOf(place: string, error: unknown, password: string): ProtocolError {
  const said = withoutSecret(messageOf(error).split('\n')[0] ?? '', password);
  const isOfServer = error instanceof Error && error.name === 'ClickHouseError';
  if (isOfServer || /^Code: /.test(said)) {
    return new ProtocolError('CLICKHOUSE_REFUSED', { url: place }, `${place} refused: ${said}`, { cause: error });
  }
  const message = `no ClickHouse server answers at ${place} (${said || 'connection lost'})`;
  return new ProtocolError('CLICKHOUSE_UNREACHABLE', { url: place }, message, { cause: error });
}

/**
 * Removes the password from a text of the server. A server, or a program that poses as a server, may repeat the
 * password in its answer.
 */
function withoutSecret(text: string, secret: string): string {
  if (secret === '') return text;
  return [secret, encodeURIComponent(secret)].reduce((rest, form) => rest.replaceAll(form, '***'), text);
}

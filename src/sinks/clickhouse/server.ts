/** Sends the requests of a sink to a ClickHouse server. */

import {
  ClickHouseLogLevel,
  createClient,
  type ClickHouseClient,
  type ClickHouseClientConfigOptions,
  type ClickHouseSettings,
} from '@clickhouse/client';
import { Readable } from 'node:stream';
import type { Clock } from '../../ports/clock.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';

export interface ClickHouseServer {
  readonly database: string;
  /** Runs a statement and ignores its result. */
  run(statement: string): Promise<void>;
  /**
   * Runs a statement that changes rows. The statement has a query id with a fixed prefix. With this prefix, the next
   * holder of the lease (`lease.ts`) can find and kill the statements of this process that the server still runs.
   */
  change(statement: string, options?: WriteOptions): Promise<void>;
  /** Runs a SELECT and returns its rows. Integers of 64 bits are text. */
  rows<T>(select: string): Promise<readonly T[]>;
  /**
   * Inserts rows. If the server or this process dies during the call, it is possible that the server has stored a part
   * of the rows. The insert has a query id, like the statements of `change`.
   *
   * @param chunks lines in the format TabSeparated, with the values in the order of `columns`. Each chunk contains only
   *   complete lines
   */
  insert(
    table: string,
    columns: readonly string[],
    chunks: Iterable<string | Uint8Array>,
    options?: WriteOptions,
  ): Promise<void>;
  close(): Promise<void>;
}

interface WriteOptions {
  /**
   * If true, an insert into a Distributed table ends when the shards have the rows. By default, the insert ends when
   * the server that received the insert has the rows.
   */
  readonly isWaitingForShards?: true;
  /**
   * If true, a statement ON CLUSTER ends as soon as it is in the queue of the cluster, even if a server is down. By
   * default, the statement waits until all servers have run it. If a server is down, a statement that waits in this way
   * fails after some minutes.
   */
  readonly isQueued?: true;
}

function settingsOf({ isWaitingForShards, isQueued }: WriteOptions = {}): ClickHouseSettings {
  return {
    ...(isWaitingForShards === true ? { insert_distributed_sync: 1 as const } : {}),
    ...(isQueued === true ? { distributed_ddl_task_timeout: '0' } : {}),
  };
}

/**
 * Settings that the sink sends with its statements. In these statements, each of these settings takes precedence over
 * the same setting of the ClickHouse user. The reason: with other values of these settings, the sink could lose or
 * misread data without an error. An old server does not know all of these settings, so the sink sends only the settings
 * that the server knows.
 */
const PINNED: Readonly<Record<string, string>> = {
  // An insert must not end before its rows are stored. A row that the server cannot parse must make the insert fail.
  async_insert: '0',
  input_format_allow_errors_num: '0',
  input_format_allow_errors_ratio: '0',
  // A fence (`schema.ts`) that refuses rows must make the insert fail.
  materialized_views_ignore_errors: '0',
  // A shard that does not answer must make the statement fail. Reads go to the same replica as writes, if possible.
  skip_unavailable_shards: '0',
  load_balancing: 'in_order',
  // A statement that exceeds a limit must fail. With the mode `break`, the statement would return a part of the rows
  // without an error.
  ...Object.fromEntries(
    ['read', 'result', 'set', 'group_by', 'sort', 'distinct', 'transfer', 'join', 'timeout'].map((limit) => [
      `${limit}_overflow_mode`,
      'throw',
    ]),
  ),
  // The answer of a failed statement must not look like a short answer of a successful statement. If a statement of a
  // migration fails on one server of a cluster, the statement must not look successful.
  http_write_exception_in_output_format: '0',
  distributed_ddl_output_mode: 'throw',
  // With these settings, a SELECT reads only one replica of each shard, and therefore reads each row once. The server
  // that receives an INSERT with a SELECT inserts all selected rows itself.
  max_parallel_replicas: '1',
  parallel_distributed_insert_select: '0',
  // JavaScript would lose digits of large integers in JSON numbers, so the server sends 64-bit integers as text.
  output_format_json_quote_64bit_integers: '1',
};

/**
 * If the connection of a request has no traffic for this time (in milliseconds), the request fails. An insert of a
 * range takes about a second. A statement ON CLUSTER can take minutes, and it is possible that the server sends nothing
 * before the statement ends.
 */
const REQUEST_TIMEOUT_MS = 600_000;
/**
 * Maximum number of requests at the same time: six requests for inserts into the six tables, one request for the
 * renewal of the lease, and one spare request.
 */
const CONNECTIONS_MAX = 8;
/** Databases that belong to the ClickHouse server itself. */
const OWN_DATABASES: ReadonlySet<string> = new Set(['system', 'information_schema']);
/** Minimum size in bytes of the chunks in which the sink sends an insert. Only the last chunk can be smaller. */
const CHUNK_BYTES = 65_536;

/**
 * True for a URL that contains a password. If such a URL is an argument of a command, every program on the machine can
 * read the password in the list of processes.
 */
export function hasPassword(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { password, searchParams } = new URL(url);
  return password !== '' || searchParams.has('password');
}

/**
 * Prepares the access to a server, but sends no request yet. The methods of the result throw `CLICKHOUSE_UNREACHABLE`
 * if no ClickHouse server answers, and `CLICKHOUSE_REFUSED` if the server reports an error. The messages of the errors
 * never contain the password.
 *
 * @param url URL of the server; the URL can contain a user name and a password
 * @param database name of the database, which need not exist yet
 * @param givenPassword password that replaces the password in the URL
 * @throws ProtocolError `USAGE` if the URL or the name of the database cannot be used
 */
export function openServer(
  url: string,
  database: string,
  clock: Pick<Clock, 'nowMs'>,
  givenPassword?: string,
): ClickHouseServer {
  if (OWN_DATABASES.has(database.toLowerCase())) {
    const message = `the database \`${database}\` belongs to the server itself: name another database`;
    throw new ProtocolError('USAGE', { database }, message);
  }
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,60}$/.test(database)) {
    throw new ProtocolError(
      'USAGE',
      { database },
      `\`${database}\` is no name of a database: use letters, digits and _`,
    );
  }
  const { place, shown, username, password: passwordInUrl } = placeIn(url);
  const password = givenPassword ?? passwordInUrl;
  const client = clientOf({
    url: place,
    username,
    password,
    request_timeout: REQUEST_TIMEOUT_MS,
    max_open_connections: CONNECTIONS_MAX,
    // A server closes idle connections. A request over a closed connection fails, and the sink cannot know whether the
    // server has run the statement. Therefore each request opens a new connection.
    keep_alive: { enabled: false },
    log: { level: ClickHouseLogLevel.OFF },
  });
  // `lease.ts` looks for query ids with this prefix.
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

  const select = async <T>(query: string, settings: ClickHouseSettings): Promise<readonly T[]> => {
    // In the format JSON, an answer without its end is invalid. In a format with a line for each row, the client would
    // not notice that the last rows are missing.
    const result = await told(client.query({ query, format: 'JSON', clickhouse_settings: settings }));
    const answer = await told(result.text());
    const rows = rowsIn(answer);
    if (rows === undefined) throw refusalOf(shown, new Error(exceptionIn(answer) ?? NO_ANSWER), password);
    return rows as readonly T[];
  };

  let pinned: ClickHouseSettings | undefined;
  const pinnedSettings = async (): Promise<ClickHouseSettings> => {
    if (pinned === undefined) {
      const names = Object.keys(PINNED).map((name) => `'${name}'`);
      const known = await select<{ readonly name: string }>(
        `SELECT name FROM system.settings WHERE name IN (${names.join(', ')})`,
        {},
      );
      pinned = Object.fromEntries(known.map(({ name }) => [name, PINNED[name]]));
    }
    return pinned;
  };

  const execute = async (
    statement: string,
    settings: ClickHouseSettings = {},
    more: { readonly query_id?: string; readonly values?: Readable } = {},
  ): Promise<string> => {
    const clickhouse_settings = { ...(await pinnedSettings()), ...settings };
    const { stream } = await told(client.exec({ ...more, query: statement, clickhouse_settings }));
    const answer = await told(textOf(stream));
    const exception = exceptionIn(answer);
    if (exception !== undefined) throw refusalOf(shown, new Error(exception), password);
    return answer;
  };

  return {
    database,
    run: async (statement) => {
      await execute(statement);
    },
    change: async (statement, options) => {
      await execute(statement, settingsOf(options), { query_id: nextQueryId() });
    },
    rows: async <T>(query: string) => select<T>(query, await pinnedSettings()),
    insert: async (table, columns, chunks, options) => {
      const statement = `INSERT INTO ${database}.${table} (${columns.join(', ')}) FORMAT TabSeparated`;
      const values = Readable.from(joinedChunks(chunks), { objectMode: false });
      const answer = await execute(statement, settingsOf(options), { query_id: nextQueryId(), values });
      if (answer !== '') throw refusalOf(shown, new Error(NO_ANSWER), password);
    },
    close: () => client.close(),
  };
}

/**
 * Reason in the error for an answer that is cut off, and for an answer whose form no ClickHouse server sends.
 */
const NO_ANSWER = 'the answer is not of ClickHouse';

/** @throws ProtocolError `USAGE` for a URL that the client refuses */
function clientOf(options: ClickHouseClientConfigOptions): ClickHouseClient {
  try {
    return createClient(options);
  } catch (error) {
    const message = `the URL is no address of a server (${messageOf(error)}): give one such as http://127.0.0.1:8123`;
    throw new ProtocolError('USAGE', {}, message, { cause: error });
  }
}

async function textOf(stream: Readable): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part as Uint8Array);
  return Buffer.concat(parts).toString('utf8');
}

/**
 * Returns the text of the server's exception in an answer with status 200; undefined if the answer has no exception. If
 * a statement fails after the server or a proxy has sent the status, the server can report the error only in the body.
 */
function exceptionIn(answer: string): string | undefined {
  return /(?:^|"exception": ?")(Code: [0-9]+.*Exception.*)$/m.exec(answer)?.[1];
}

/**
 * Returns the rows of an answer in the format JSON; undefined for any other text, and for an answer that ends with an
 * exception of the server.
 */
function rowsIn(answer: string): readonly unknown[] | undefined {
  try {
    const { data, exception } = JSON.parse(answer) as { readonly data?: unknown; readonly exception?: unknown };
    return Array.isArray(data) && exception === undefined ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Joins small chunks to larger chunks, because sending a chunk costs a system call. */
function* joinedChunks(chunks: Iterable<string | Uint8Array>): Iterable<Uint8Array> {
  let gathered: Uint8Array[] = [];
  let bytes = 0;
  for (const chunk of chunks) {
    const next = typeof chunk === 'string' ? Buffer.from(chunk, 'utf8') : chunk;
    gathered.push(next);
    bytes += next.length;
    if (bytes < CHUNK_BYTES) continue;
    yield Buffer.concat(gathered, bytes);
    [gathered, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(gathered, bytes);
}

interface ServerPlace {
  /** URL that this module passes to the ClickHouse client library, without user name and password. */
  readonly place: string;
  /** URL for messages, without the parts that can contain secrets: user name, password and parameters. */
  readonly shown: string;
  readonly username: string;
  readonly password: string;
}

function placeIn(url: string): ServerPlace {
  // The message does not repeat the URL, because the URL can contain a password.
  const wrong = 'the URL is no address of a server: give one such as http://127.0.0.1:8123';
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw new ProtocolError('USAGE', {}, wrong);
  const parsed = new URL(url);
  // With port 0 in the URL, the client would connect to the default port (80 or 443).
  if (parsed.port === '0') throw new ProtocolError('USAGE', {}, wrong);
  const unknown = [...parsed.searchParams.keys()].find((name) => name !== 'password');
  if (unknown !== undefined) {
    // The client library reads options from the parameters of the URL. Parameters could therefore replace options that
    // the sink needs, such as the number of connections.
    const message = `the parameter \`${unknown}\` of the URL is not supported: name the server only`;
    throw new ProtocolError('USAGE', {}, message);
  }
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
 * Replaces the password in an error message by `***`. A server, or another program at its address, can repeat the
 * password in its answer.
 */
function withoutSecret(text: string, secret: string): string {
  if (secret === '') return text;
  return [secret, encodeURIComponent(secret)].reduce((rest, form) => rest.replaceAll(form, '***'), text);
}

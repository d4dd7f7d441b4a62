/** A ClickHouse server, as far as a sink asks it. */

import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { Readable } from 'node:stream';
import type { Clock } from '../../ports/clock.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';

export interface ClickHouseServer {
  readonly database: string;
  /** Runs a statement that has no answer. */
  run(statement: string): Promise<void>;
  /** Runs a statement that changes rows, under a name by which it is found while it runs, as inserts are. */
  change(statement: string): Promise<void>;
  /** Rows of a SELECT; integers of 64 bits are text. */
  rows<T>(select: string): Promise<readonly T[]>;
  /**
   * Inserts rows, all or, when the server or this process dies, some of them.
   *
   * @param lines of the format TabSeparated, in the order of the columns
   */
  insert(table: string, columns: readonly string[], lines: Iterable<string>): Promise<void>;
  close(): Promise<void>;
}

/** An insert of a range takes a second or so, a mutation of large tables minutes. */
const REQUEST_TIMEOUT_MS = 600_000;
/** Lines sent in one chunk. */
const LINES_AT_ONCE = 1_000;

/** Whether an address carries a password, which every program of the machine can read in the list of processes. */
export function hasPassword(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { password, searchParams } = new URL(url);
  return password !== '' || searchParams.has('password');
}

/**
 * @param url with the user where the server asks for one; a password is in no error that comes of it
 * @param database need not be there yet
 * @param givenPassword goes before one in the URL
 * @throws ProtocolError `CLICKHOUSE_UNREACHABLE` or `CLICKHOUSE_REFUSED`, as all calls
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
    log: { level: ClickHouseLogLevel.OFF },
  });
  // Running inserts of a sink that was killed are found by it.
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
    insert: async (table, columns, lines) => {
      await told(
        client.insert({
          table: `${database}.${table}`,
          columns: columns as [string, ...string[]],
          values: Readable.from(chunks(lines), { objectMode: false }),
          format: 'TabSeparated',
          query_id: nextQueryId(),
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
  /** For people: without parameters, which may hold secrets. */
  readonly shown: string;
  readonly username: string;
  readonly password: string;
}

function placeIn(url: string): ServerPlace {
  // It may hold a password, and is not repeated.
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

/** A server, or a program that poses as one, may repeat what it was sent. */
function withoutSecret(text: string, secret: string): string {
  if (secret === '') return text;
  return [secret, encodeURIComponent(secret)].reduce((rest, form) => rest.replaceAll(form, '***'), text);
}

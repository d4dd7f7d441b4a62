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
/** Lines sent in one piece. */
const LINES_AT_ONCE = 1_000;

/**
 * @param url with user and password where the server asks for them
 * @param database need not be there yet
 * @throws ProtocolError `CLICKHOUSE_UNREACHABLE` or `CLICKHOUSE_REFUSED`, as all calls
 */
export function openServer(url: string, database: string, clock: Pick<Clock, 'nowMs'>): ClickHouseServer {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,60}$/.test(database)) {
    throw new ProtocolError(
      'USAGE',
      { database },
      `\`${database}\` is no name of a database: use letters, digits and _`,
    );
  }
  const { place, username, password } = placeIn(url);
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
      throw refusalOf(place, error);
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
          values: Readable.from(pieces(lines), { objectMode: false }),
          format: 'TabSeparated',
          query_id: nextQueryId(),
        }),
      );
    },
    close: () => client.close(),
  };
}

function* pieces(lines: Iterable<string>): Iterable<string> {
  let gathered: string[] = [];
  for (const line of lines) {
    gathered.push(line);
    if (gathered.length < LINES_AT_ONCE) continue;
    yield gathered.join('');
    gathered = [];
  }
  if (gathered.length > 0) yield gathered.join('');
}

function placeIn(url: string): { readonly place: string; readonly username: string; readonly password: string } {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new ProtocolError(
      'USAGE',
      {},
      // It may hold a password, and is not repeated.
      'the URL is no address of a server: give one such as http://127.0.0.1:8123',
    );
  }
  const parsed = new URL(url);
  const [username, password] = [decodeURIComponent(parsed.username) || 'default', decodeURIComponent(parsed.password)];
  parsed.username = '';
  parsed.password = '';
  return { place: parsed.toString(), username, password };
}

function refusalOf(place: string, error: unknown): ProtocolError {
  const said = messageOf(error).split('\n')[0] ?? '';
  const isOfServer = error instanceof Error && error.name === 'ClickHouseError';
  if (isOfServer || /^Code: /.test(said)) {
    return new ProtocolError('CLICKHOUSE_REFUSED', { url: place }, `${place} refused: ${said}`, { cause: error });
  }
  const message = `no ClickHouse server answers at ${place} (${said || 'connection lost'})`;
  return new ProtocolError('CLICKHOUSE_UNREACHABLE', { url: place }, message, { cause: error });
}

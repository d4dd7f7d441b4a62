/**
 * Starts a PostgreSQL server for the nodes of one world. The server listens on the loopback address, stores its data in
 * a temporary folder, accepts every client without a password, and may lose data if it is killed.
 */

import { execFile } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Processes } from './processes.ts';

export interface PostgresPlace {
  /** Folder with `initdb`, `postgres` and `psql`. */
  readonly bin: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface Postgres {
  readonly port: number;
  readonly user: string;
  /** Drops the database of this name, if it exists, and creates an empty one. */
  create(database: string): Promise<void>;
  close(): Promise<void>;
}

const run = promisify(execFile);
const USER = 'interop';
const START_MS_MAX = 30_000;
/**
 * Maximum number of connections to the server. The number is enough for five real nodes (of lisk-sdk), because each of
 * these nodes keeps about 75 connections open.
 */
const CONNECTIONS_MAX = 400;

/** @throws Error if `initdb` fails or the server does not accept a query within 30 seconds */
export async function startPostgres(
  place: PostgresPlace,
  folder: string,
  port: number,
  processes: Processes,
): Promise<Postgres> {
  const user = await otherUser();
  const data = join(folder, 'postgres');
  mkdirSync(data, { mode: 0o700 });
  if (user !== undefined) chownSync(data, user.uid, user.gid);
  const options = { env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', ...place.env }, cwd: '/', ...user };
  await run(join(place.bin, 'initdb'), ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--no-sync'], options);
  const settings = [
    ...['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', `max_connections=${CONNECTIONS_MAX}`],
    ...['listen_addresses=127.0.0.1', `unix_socket_directories=${data}`],
  ];
  const running = processes.start({
    name: 'postgres',
    command: join(place.bin, 'postgres'),
    args: ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    logFile: join(folder, 'postgres.log'),
    // After SIGINT, PostgreSQL disconnects its clients and stops. After SIGTERM, it would wait until the clients
    // disconnect.
    stopSignal: 'SIGINT',
    cwd: '/',
    env: { LC_ALL: 'C', ...place.env },
    ...(user === undefined ? {} : { user }),
  });
  const sql = async (statement: string): Promise<void> => {
    const to = ['-h', '127.0.0.1', '-p', String(port), '-U', USER, '-d', 'postgres', '-q', '-c', statement];
    await run(join(place.bin, 'psql'), to, { env: options.env });
  };
  const startedMs = Date.now();
  for (;;) {
    try {
      await sql('SELECT 1');
      break;
    } catch (error) {
      if (!running.isRunning() || Date.now() - startedMs > START_MS_MAX) {
        throw new Error(`PostgreSQL did not start; see ${join(folder, 'postgres.log')}`, { cause: error });
      }
      await sleep(200);
    }
  }
  return {
    port,
    user: USER,
    async create(database) {
      await sql(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
      await sql(`CREATE DATABASE ${database}`);
    },
    async close() {
      await running.stop();
    },
  };
}

/**
 * PostgreSQL refuses to run as root. If this process runs as root, the function therefore returns another user for
 * PostgreSQL. Otherwise, it returns undefined.
 */
async function otherUser(): Promise<{ readonly uid: number; readonly gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, name])));
      if (uid !== undefined && gid !== undefined) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
    } catch {
      // The user does not exist: try the next one.
    }
  }
  throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody');
}

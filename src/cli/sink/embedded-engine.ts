/** Runs the ClickHouse engine in this process, through the optional npm package chdb. */

import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';

export interface EmbeddedEngine {
  /**
   * Runs one statement.
   *
   * @param format an output format of ClickHouse, for example `CSV`
   * @returns the result of the statement in this format
   */
  run(sql: string, format: string): string;
  /** Ends the session of the engine, and removes the tables and temporary files of the session. */
  close(): void;
}

interface Session {
  query(sql: string, format: string): string;
  cleanup(): void;
}

const PACKAGE = 'chdb';

/**
 * Loads the package chdb, and opens a session of its engine. With `folder`, the function loads the package only from
 * this folder. Without `folder`, Node.js looks for chdb in the same places as for the other packages of this program,
 * and also in the folders of the environment variable `NODE_PATH` and in its global folders. The function itself never
 * searches the working folder: another user could have put a package there, and this package would run with the rights
 * of the current user. Only a relative path in `NODE_PATH` makes Node.js search a place that depends on the working
 * folder.
 *
 * @param folder folder in which the package is installed; undefined if the package is installed beside this program
 * @throws ProtocolError `ENGINE_MISSING` when the package is missing or cannot be loaded
 */
export function embeddedEngine(folder: string | undefined): EmbeddedEngine {
  const session = new (loadPackage(folder).Session)();
  return {
    run: (sql, format) => session.query(sql, format),
    close: () => session.cleanup(),
  };
}

function loadPackage(folder: string | undefined): { readonly Session: new () => Session } {
  // If `folder` is given, `require` gets the path of the package. If `require` got only the name of the package,
  // `require` would also search other folders.
  const at = folder === undefined ? PACKAGE : join(resolve(folder), 'node_modules', PACKAGE);
  try {
    return createRequire(import.meta.url)(at) as { readonly Session: new () => Session };
  } catch (error) {
    throw missing(folder, error);
  }
}

function missing(folder: string | undefined, error: unknown): ProtocolError {
  const isAbsent = (error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND';
  const where = folder === undefined ? 'beside this program' : `in ${folder}`;
  const how = isAbsent ? 'is not installed' : `cannot be loaded (${messageOf(error).split('\n')[0] ?? ''})`;
  return new ProtocolError(
    'ENGINE_MISSING',
    { folder },
    `the package chdb, which answers SQL over Parquet files, ${how} ${where}: npm install chdb (550 MB) in a folder, and name ` +
      'that folder with --engine or BLOOMERY_CHDB',
    { cause: error },
  );
}

/** ClickHouse's engine within this process, from the optional package chdb. */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ProtocolError } from '../../primitives/errors.ts';

export interface EmbeddedEngine {
  /** Runs one statement. @returns its answer in a format of ClickHouse */
  run(sql: string, format: string): string;
  /** Removes what statements made. */
  close(): void;
}

interface Session {
  query(sql: string, format: string): string;
  cleanup(): void;
}

const PACKAGE = 'chdb';

/**
 * @param folder where the package is sought when it is not beside this program
 * @throws ProtocolError `ENGINE_MISSING` when it is in neither place
 */
export function embeddedEngine(folder = process.cwd()): EmbeddedEngine {
  const session = new (loadPackage(folder).Session)();
  return {
    run: (sql, format) => session.query(sql, format),
    close: () => session.cleanup(),
  };
}

function loadPackage(folder: string): { readonly Session: new () => Session } {
  let failure: unknown;
  for (const place of [import.meta.url, join(folder, 'package.json')]) {
    try {
      return createRequire(place)(PACKAGE) as { readonly Session: new () => Session };
    } catch (error) {
      failure = error;
    }
  }
  throw new ProtocolError(
    'ENGINE_MISSING',
    {},
    'the package chdb, which answers SQL over Parquet files, is not installed: npm install chdb (550 MB), then ask again',
    { cause: failure },
  );
}

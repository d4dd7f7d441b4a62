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

/** @throws ProtocolError `ENGINE_MISSING` when the package is neither beside this program nor in the working folder */
export async function embeddedEngine(): Promise<EmbeddedEngine> {
  const session = new (loadPackage().Session)();
  return Promise.resolve({
    run: (sql, format) => session.query(sql, format),
    close: () => session.cleanup(),
  });
}

function loadPackage(): { readonly Session: new () => Session } {
  const places = [import.meta.url, join(process.cwd(), 'package.json')];
  let failure: unknown;
  for (const place of places) {
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

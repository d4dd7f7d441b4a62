/**
 * An HTTP server that simulates a ClickHouse server. When the server starts, the lease of the sink is free, and the
 * tables exist but contain no blocks.
 */

import type { ExecutionContext } from 'ava';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { SinkIdentity } from '../../src/sinks/sink.ts';

/** A statement that does not begin with SELECT. */
export interface Write {
  readonly statement: string;
  /** Inserted rows in the format TabSeparated; empty for other statements. */
  readonly lines: string;
}

/** The newest version of the table layout. Because the server reports this version, the sink runs no migrations. */
const VERSION = 4;

/**
 * @param onWrite runs before the server answers a write; if `onWrite` throws, the server refuses the write
 * @returns URL of the server
 */
export async function fakeClickHouse(
  t: ExecutionContext,
  identity: SinkIdentity,
  onWrite: (write: Write) => Promise<void> | void,
): Promise<string> {
  let token = '';
  const rowsOf = (select: string): readonly object[] => {
    if (select.includes('.sink_lease')) return token === '' ? [] : [{ token, owner: 'process 1', until: 0 }];
    if (select.includes('.sink ORDER BY version')) {
      const { network, generation, genesisBlockId, rangeBlocks } = identity;
      return [{ version: VERSION, network, generation, genesis_block_id: genesisBlockId, range_blocks: rangeBlocks }];
    }
    return [];
  };
  const server = createServer((request, response) => {
    void text(request).then(async (body) => {
      const inUrl = new URL(request.url ?? '', 'http://localhost').searchParams.get('query');
      const statement = inUrl ?? body;
      if (statement.startsWith('SELECT')) return response.end(JSON.stringify({ data: rowsOf(statement) }));
      token = /INSERT INTO \w+\.sink_lease .* SELECT '(\w+)'/.exec(statement)?.[1] ?? token;
      try {
        await onWrite({ statement, lines: inUrl === null ? '' : body });
        response.end();
      } catch (error) {
        response.writeHead(500).end(`Code: 241, e.displayText() = DB::Exception: ${String(error)}`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/**
 * The HTTP interface of a node under test, in the test's process or in reading processes (processes that answer HTTP
 * requests for the node). For example, `HTTP_PROCESSES=2 npm run events` uses two reading processes.
 */

import { createHttpServer, type HttpServer } from '../../src/http/http-server.ts';
import type { HttpOptions } from '../../src/http/options.ts';
import { ReaderPool } from '../../src/node/readers/reader-pool.ts';
import { systemClock } from '../../src/node/system.ts';
import type { LocalNodeApi } from '../../src/ports/node-api.ts';
import { SILENT } from '../../src/ports/observer.ts';
import { freePort } from './ports.ts';

/** Number of reading processes, from the environment variable `HTTP_PROCESSES`; default: 0. */
export const PROCESSES = Number(process.env['HTTP_PROCESSES'] ?? 0);

export interface FrontOptions {
  readonly api: LocalNodeApi;
  readonly processes: number;
  /** Folder of the node's store, for the reading processes; undefined without reading processes. */
  readonly directory: string | undefined;
  readonly http?: Partial<HttpOptions>;
  /** Path of the program of the reading processes; default: the shipped program. */
  readonly program?: string;
  /**
   * Memory in bytes above which the pool replaces a reading process (a process that answers HTTP requests for the
   * node); default: the limit of the node.
   */
  readonly memoryBytesMax?: number;
  /**
   * The pool of reading processes (processes that answer HTTP requests for the node) counts intervals of 250 ms. If a
   * starting reading process sends no message for this number of intervals, the pool kills the process. Default: the
   * limit of the node.
   */
  readonly startingPingsMax?: number;
}

export interface Front extends Pick<HttpServer, 'close'> {
  readonly origin: string;
}

export async function openFront({ api, processes, directory, http = {}, ...pool }: FrontOptions): Promise<Front> {
  const options = { port: processes === 0 ? 0 : await freePort(), address: '127.0.0.1', ...http };
  const server = processes === 0 ? createHttpServer(api, options) : poolOf();
  const { port } = await server.start();
  return { origin: `http://127.0.0.1:${port}`, close: () => server.close() };

  function poolOf() {
    if (directory === undefined) throw new Error('processes read a store on the disk');
    const { observer = SILENT, workShare: _share, shared: _shared, ...plain } = options;
    const settings = { directory, params: api.params, identity: api.identity, http: plain };
    return new ReaderPool({
      ...{ processes, dataDirectory: directory, settings, api, observer, clock: systemClock },
      ...pool,
    });
  }
}

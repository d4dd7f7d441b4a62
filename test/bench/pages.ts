/** Measures the response times of pages at the start, in the middle and at the end of sorted lists. */

import { load } from './load.ts';

export interface List {
  /** Path and query of the list. The query names the sort column, but not the sort direction. */
  readonly path: string;
  /** Number of entries. */
  readonly total: number;
}

export interface PageTimes {
  /** Path and query of the list, with the sort direction. */
  readonly list: string;
  /** Response times at the start, in the middle and at the end of the list, in this order. */
  readonly depths: readonly { readonly p50Ms: number; readonly p99Ms: number }[];
}

/**
 * Requests pages on one connection. In a list that is long enough, each request has a different offset, so that the
 * server cannot answer from a cache.
 */
export async function pagesByDepth(
  port: number,
  lists: readonly List[],
  durationMs: number,
): Promise<readonly PageTimes[]> {
  const times: PageTimes[] = [];
  for (const { path, total } of lists) {
    for (const direction of ['asc', 'desc']) {
      const list = `${path}:${direction}`;
      const depths: PageTimes['depths'][number][] = [];
      for (const offset of [0, Math.floor(total / 2), total - 10]) {
        const targetOf = (request: number): string => {
          const at = offset === 0 ? request : Math.max(0, offset - request);
          return `${list}&offset=${at}`;
        };
        depths.push(await load(port, targetOf, 1, durationMs));
      }
      times.push({ list, depths });
    }
  }
  return times;
}

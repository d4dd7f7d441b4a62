/**
 * Caches the bodies of HTTP answers that depend on the chain alone. The cache drops all answers when the chain changes.
 */

import { gzipSync } from 'node:zlib';
import type { NodeApi } from '../ports/node-api.ts';

interface CachedResponse {
  readonly plain: Buffer;
  /** The compressed body; undefined for a body shorter than `COMPRESSED_FROM_BYTES`. */
  gzipped(): Buffer | undefined;
}

export interface ResponseCache {
  /**
   * Stores the JSON body of an answer with status 200. Does nothing if the cache is off, if the cache already has an
   * answer for the target, if the body is larger than `BODY_BYTES_MAX`, or if the target is longer than
   * `TARGET_CHARACTERS_MAX`.
   *
   * @param target path and query of the request
   */
  store(target: string, body: Buffer): void;
  /** Returns the answer that was stored for a target since the last change of the chain; undefined if there is none. */
  find(target: string): CachedResponse | undefined;
}

/**
 * Maximum size of a cached body, in bytes. The cache stores no larger bodies, because clients seldom request a larger
 * body twice before the chain changes.
 */
const BODY_BYTES_MAX = 256 * 1024;
/**
 * Maximum memory of the cache in bytes. The cache counts the bodies, the compressed bodies, the targets of the
 * requests, and `ENTRY_BYTES` for each entry. The maximum is enough for thousands of answers of up to 8 KB.
 */
export const CACHED_BYTES_MAX = 32 * 1024 * 1024;
/** Memory, in bytes, that an entry takes in addition to its bodies and its target. */
const ENTRY_BYTES = 400;
const TARGET_CHARACTERS_MAX = 500;
/**
 * Minimum size, in bytes, of a body that the cache compresses. `express-app.ts` has the same minimum for the bodies
 * that Express compresses.
 */
const COMPRESSED_FROM_BYTES = 1024;

/** @param isOn if false, the cache stores nothing */
export function createResponseCache(api: NodeApi, isOn: boolean): ResponseCache {
  /** Entries in the order of their last use, the least recently used entry first. */
  const answers = new Map<string, Entry>();
  let cachedBytes = 0;
  let tipId: string | undefined;
  /** Drops all answers if the tip has changed since the last call. */
  const refresh = (): void => {
    const id = api.chain.tip()?.id;
    if (id === tipId) return;
    answers.clear();
    cachedBytes = 0;
    tipId = id;
  };
  const count = (entry: Entry, bytes: number): void => {
    entry.bytes += bytes;
    cachedBytes += bytes;
    for (const [target, { bytes: freed }] of answers) {
      if (cachedBytes <= CACHED_BYTES_MAX) return;
      answers.delete(target);
      cachedBytes -= freed;
    }
  };
  return {
    store(target, body) {
      if (!isOn || body.length > BODY_BYTES_MAX || target.length > TARGET_CHARACTERS_MAX) return;
      refresh();
      if (answers.has(target)) return;
      const entry: Entry = {
        bytes: 0,
        answer: cachedResponse(body, (bytes) => answers.get(target) === entry && count(entry, bytes)),
      };
      answers.set(target, entry);
      count(entry, body.length + 2 * target.length + ENTRY_BYTES);
    },
    find(target) {
      refresh();
      const entry = answers.get(target);
      if (entry === undefined) return undefined;
      answers.delete(target);
      answers.set(target, entry);
      return entry.answer;
    },
  };
}

interface Entry {
  bytes: number;
  readonly answer: CachedResponse;
}

/**
 * Makes a cached response. If the body has at least `COMPRESSED_FROM_BYTES`, the first call of the method `gzipped`
 * compresses the body, and the response keeps the compressed body.
 *
 * @param grown called once after the compression, with the size of the compressed body
 */
function cachedResponse(plain: Buffer, grown: (bytes: number) => void): CachedResponse {
  let gzipped: Buffer | undefined;
  return {
    plain,
    gzipped: () => {
      if (plain.length < COMPRESSED_FROM_BYTES) return undefined;
      if (gzipped === undefined) {
        gzipped = gzipSync(plain, { level: 9 });
        grown(gzipped.length);
      }
      return gzipped;
    },
  };
}

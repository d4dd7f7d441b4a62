/** Answers that follow from the chain alone, kept as bytes until the chain changes. */

import { gzipSync } from 'node:zlib';
import type { NodeApi } from '../ports/node-api.ts';

interface KeptAnswer {
  readonly plain: Buffer;
  /** The same compressed; undefined for a body that is too short for that. */
  packed(): Buffer | undefined;
}

export interface ResponseCache {
  /** Keeps the body of a 200 in JSON. @param target path and query as asked for */
  keep(target: string, body: Buffer): void;
  /** What was kept for a target since the chain changed last. */
  find(target: string): KeptAnswer | undefined;
}

/** Larger ones are seldom asked for twice within a block. */
const BODY_BYTES_MAX = 256 * 1024;
/** All that are kept, compressed ones included: some thousands of the usual pages. */
export const KEPT_BYTES_MAX = 32 * 1024 * 1024;
/** Of an answer besides its bytes and its target. */
const ENTRY_BYTES = 400;
const TARGET_CHARACTERS_MAX = 500;
/** As the compression of the slow path has it. */
const COMPRESSED_FROM_BYTES = 1024;

/** @param isOn false keeps nothing */
export function createResponseCache(api: NodeApi, isOn: boolean): ResponseCache {
  /** The one that was not asked for longest comes first. */
  const answers = new Map<string, Entry>();
  let keptBytes = 0;
  let tipId: string | undefined;
  /** Forgets everything when the chain has changed. */
  const refresh = (): void => {
    const id = api.chain.tip()?.id;
    if (id === tipId) return;
    answers.clear();
    keptBytes = 0;
    tipId = id;
  };
  const count = (entry: Entry, bytes: number): void => {
    entry.bytes += bytes;
    keptBytes += bytes;
    for (const [target, { bytes: freed }] of answers) {
      if (keptBytes <= KEPT_BYTES_MAX) return;
      answers.delete(target);
      keptBytes -= freed;
    }
  };
  return {
    keep(target, body) {
      if (!isOn || body.length > BODY_BYTES_MAX || target.length > TARGET_CHARACTERS_MAX) return;
      refresh();
      if (answers.has(target)) return;
      const entry: Entry = {
        bytes: 0,
        answer: keptAnswer(body, (bytes) => answers.get(target) === entry && count(entry, bytes)),
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
  readonly answer: KeptAnswer;
}

/** Compressed when that is first asked for. @param grown told of the bytes that the compressed one takes */
function keptAnswer(plain: Buffer, grown: (bytes: number) => void): KeptAnswer {
  let packed: Buffer | undefined;
  return {
    plain,
    packed: () => {
      if (plain.length < COMPRESSED_FROM_BYTES) return undefined;
      if (packed === undefined) {
        packed = gzipSync(plain, { level: 9 });
        grown(packed.length);
      }
      return packed;
    },
  };
}

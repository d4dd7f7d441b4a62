/** Answers that follow from the chain alone, kept as bytes until the chain changes. */

import { gzipSync } from 'node:zlib';
import { LruMap } from '../primitives/bounded.ts';
import type { NodeApi } from '../ports/node-api.ts';

export interface KeptAnswer {
  readonly plain: Buffer;
  /** The same compressed; undefined for a body that is too short for that. */
  packed(): Buffer | undefined;
}

export interface AnswerMemory {
  /** Keeps the body of a 200 in JSON. @param target path and query as asked for */
  keep(target: string, body: Buffer): void;
  /** What was kept for a target since the chain changed last. */
  find(target: string): KeptAnswer | undefined;
}

/** Larger ones are seldom asked for twice within a block. */
export const BODY_BYTES_MAX = 256 * 1024;
/** With the bound above, some hundred megabytes at the very worst, and a few in practice. */
export const ENTRIES_MAX = 500;
const TARGET_CHARACTERS_MAX = 500;
/** As the compression of the long way has it. */
const COMPRESSED_FROM_BYTES = 1024;

/** @param isOn false keeps nothing */
export function createAnswerMemory(api: NodeApi, isOn: boolean): AnswerMemory {
  const answers = new LruMap<string, KeptAnswer>(ENTRIES_MAX);
  let tipId: string | undefined;
  /** Forgets everything when the chain has changed. */
  const refresh = (): void => {
    const id = api.chain.tip()?.id;
    if (id === tipId) return;
    answers.clear();
    tipId = id;
  };
  return {
    keep(target, body) {
      if (!isOn || body.length > BODY_BYTES_MAX || target.length > TARGET_CHARACTERS_MAX) return;
      refresh();
      answers.set(target, keptAnswer(body));
    },
    find(target) {
      refresh();
      return answers.get(target);
    },
  };
}

/** Compressed when that is first asked for. */
function keptAnswer(plain: Buffer): KeptAnswer {
  let packed: Buffer | undefined;
  return {
    plain,
    packed: () => {
      if (plain.length < COMPRESSED_FROM_BYTES) return undefined;
      packed ??= gzipSync(plain, { level: 9 });
      return packed;
    },
  };
}

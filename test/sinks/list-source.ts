/** A `ChainSource` whose blocks come from a list, and a sink that simulates a crash at a given call. */

import type { Rules } from '../../src/protocol/rules.ts';
import type { Block } from '../../src/protocol/types.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import type { ChainChange, ChainSource } from '../../src/sinks/source.ts';

/**
 * Makes a source whose chain is the list `blocks`. For each block of `blocks` from the requested height on, the stream
 * of changes reports that the block was applied. The stream then reports `finalHeight` as final, then `caughtUp`, and
 * then the items of the parameter `changes`. Then the stream ends.
 */
export function listSource(rules: Rules, { blocks, finalHeight, changes = [] }: ListSourceParts): ChainSource {
  return {
    rules,
    networkName: 'made',
    height: () => Promise.resolve(blocks.length),
    finalHeight: () => Promise.resolve(finalHeight),
    async *blocks(fromHeight, toHeight) {
      yield* await Promise.resolve(blocks.slice(fromHeight - 1, toHeight));
    },
    async *changes(fromHeight) {
      for (const block of blocks.slice(fromHeight - 1)) yield await Promise.resolve({ kind: 'applied', block });
      yield { kind: 'final', height: finalHeight };
      yield { kind: 'caughtUp' };
      yield* changes;
    },
    close: () => Promise.resolve(),
  };
}

interface ListSourceParts {
  readonly blocks: readonly Block[];
  readonly finalHeight: number;
  readonly changes?: readonly ChainChange[];
}

export class Crash extends Error {}

/**
 * Wraps a sink and simulates a crash of its process at one call.
 *
 * @param call number of the call that throws, among the calls that write (`put`, `putTail` and `revertTail`); the first
 *   of these calls has number 1
 * @param isBefore true to throw without making the call, false to throw after the call has ended
 */
export function crashingSink(inner: Sink, call: number, isBefore: boolean): Sink {
  let calls = 0;
  const crashing =
    <A extends unknown[]>(method: (...args: A) => Promise<void>) =>
    async (...args: A): Promise<void> => {
      calls += 1;
      if (calls === call && isBefore) throw new Crash();
      await method(...args);
      if (calls === call) throw new Crash();
    };
  return {
    begin: (identity) => inner.begin(identity),
    draftRange: () => {
      const draft = inner.draftRange();
      return { add: (rows) => draft.add(rows), put: crashing((...args) => draft.put(...args)) };
    },
    putTail: crashing((...args) => inner.putTail(...args)),
    revertTail: crashing((...args) => inner.revertTail(...args)),
    end: () => inner.end(),
  };
}

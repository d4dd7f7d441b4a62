/** A source that tells what a test says, and a sink that ends in the midst of its work. */

import type { Rules } from '../../src/protocol/rules.ts';
import type { Block } from '../../src/protocol/types.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import type { ChainChange, ChainSource } from '../../src/sinks/source.ts';

/** Tells of `blocks`, then of the changes; ends when there are no more. */
export function listSource(rules: Rules, { blocks, finalHeight, changes = [] }: ListSourceParts): ChainSource {
  return {
    rules,
    networkName: 'made',
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

/** Throws instead of the call of a number, or right after it: what follows would never have happened. */
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
    putRange: crashing((...args) => inner.putRange(...args)),
    putTail: crashing((...args) => inner.putTail(...args)),
    revertTail: crashing((...args) => inner.revertTail(...args)),
    end: () => inner.end(),
  };
}

/** Taking down what was built, in the reverse order. */

import { messageOf } from '../primitives/errors.ts';

/** Steps that close something. One that fails does not keep the others from closing. */
export class Closers {
  #steps: (() => unknown)[] = [];

  /** @param step may return a promise, which the next step waits for */
  add(step: () => unknown): void {
    this.#steps.push(step);
  }

  /**
   * Takes the steps, the last one first. A second call finds nothing left to do.
   *
   * @throws AggregateError with what the failing steps threw, when all have been taken
   */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (const step of this.#steps.splice(0).reverse()) {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 0) return;
    throw new AggregateError(errors, `not everything could be closed: ${errors.map(messageOf).join('; ')}`);
  }
}

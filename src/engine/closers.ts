/** Closes the parts of a program. The part that was added last is closed first. */

import { messageOf } from '../primitives/errors.ts';

/** A list of steps, each of which closes one part. If a step fails, the other steps still run. */
export class Closers {
  #steps: (() => unknown)[] = [];

  /** @param step can return a promise; `close` waits for the promise before it runs another step */
  add(step: () => unknown): void {
    this.#steps.push(step);
  }

  /**
   * Runs the steps in reverse order. A second call of this method does not run the same steps again.
   *
   * @throws AggregateError with the errors of the failed steps, after all steps have run
   */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (const step of this.#steps.splice(0).reverse()) {
      try {
        await step();
      } catch (error) {
        // The failed step can be a call of `close` of another instance of `Closers`. In this case, `error` is an
        // AggregateError with the errors of the steps of that instance.
        if (error instanceof AggregateError) errors.push(...(error.errors as unknown[]));
        else errors.push(error);
      }
    }
    if (errors.length === 0) return;
    throw new AggregateError(errors, `not everything could be closed: ${errors.map(messageOf).join('; ')}`);
  }
}

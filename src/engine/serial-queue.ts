/** Runs jobs one after the other, in the order of arrival. All changes of the chain run in one serial queue. */

export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` when all earlier work has ended, with or without an error. */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Resolves when all work that is queued at the time of the call has ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

/** Prints progress lines of a long run on stderr. */

/** Time between two progress lines. */
const PERIOD_MS = 10_000;

/** Prints the number of cases at the start. Then prints at most one progress line in ten seconds. */
export class Progress {
  readonly #name: string;
  #printedMs: number;

  constructor(name: string, cases: number) {
    this.#name = name;
    this.#printedMs = performance.now();
    console.error(`${name}: ${cases} cases`);
  }

  report(done: number, cases: number): void {
    if (performance.now() - this.#printedMs < PERIOD_MS) return;
    this.#printedMs = performance.now();
    console.error(`${this.#name}: ${done} of ${cases} cases`);
  }
}

/** Prints a line every ten seconds while work of unknown duration runs. */
export async function withHeartbeat<T>(name: string, work: Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const timer = setInterval(
    () => console.error(`${name}: for ${Math.round((performance.now() - startedMs) / 1000)} s`),
    PERIOD_MS,
  );
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/** Lines on stderr that show that a long run goes on. */

/** Time between two lines of one piece of work. */
const PERIOD_MS = 10_000;

/** Writes a line where the last one is ten seconds old. */
export class Progress {
  readonly #name: string;
  #toldMs: number;

  constructor(name: string, cases: number) {
    this.#name = name;
    this.#toldMs = performance.now();
    console.error(`${name}: ${cases} cases`);
  }

  told(done: number, cases: number): void {
    if (performance.now() - this.#toldMs < PERIOD_MS) return;
    this.#toldMs = performance.now();
    console.error(`${this.#name}: ${done} of ${cases} cases`);
  }
}

/** Says every ten seconds that work goes on whose end is not known. */
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

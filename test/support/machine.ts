/** Whether this machine has processor time to spare: where it has not, how long something took says nothing of the node. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, loadavg } from 'node:os';
import { performance } from 'node:perf_hooks';

/** Beyond it, times tell of the other work of the machine. */
const LOAD_PER_PROCESSOR_MAX = 1.5;
/** For an empty process from its start to its end: several times what a machine of its own takes. */
const EMPTY_PROCESS_MS_MAX = 300;
const TURN_MS = 100;
/** A gap between two turns of this process that says that the machine itself stood still. */
const PAUSE_MS_MAX = 1500;
/** A trial costs some hundredths of a second, so it is made seldom. */
const LOOK_INTERVAL_MS = 2000;

/** Processes that wanted to run within the last minute, for each processor; 0 where the system does not tell. */
export function loadPerProcessor(): number {
  return (loadavg()[0] ?? 0) / availableParallelism();
}

/** Judged by what the system tells of the last minute. */
function isMachineFree(): boolean {
  return loadPerProcessor() <= LOAD_PER_PROCESSOR_MAX;
}

/** How quickly a process starts in the scheduling class of this one: some systems tell of no load. */
async function isTrialQuick(): Promise<boolean> {
  const startedMs = performance.now();
  await once(spawn(process.execPath, ['-e', ''], { stdio: 'ignore' }), 'exit');
  return performance.now() - startedMs < EMPTY_PROCESS_MS_MAX;
}

/**
 * Looks at the machine again and again from its making on: what took long under load is not judged by a machine that has come
 * to rest since.
 */
export class MachineWatch {
  readonly #timer: NodeJS.Timeout;
  #isQuick = true;
  #isLooking = false;
  #lastTurnMs = performance.now();
  #lastLookMs = Number.NEGATIVE_INFINITY;
  readonly #countsLoad: boolean;

  /**
   * @param options `countsLoad: false` where trials alone shall judge: the load of the system counts work of the idle class too,
   * which gives way to all other
   */
  constructor(options: { readonly countsLoad: boolean } = { countsLoad: true }) {
    this.#countsLoad = options.countsLoad;
    this.#timer = setInterval(() => this.#turn(), TURN_MS).unref();
  }

  /** False once the machine was seen busy, or stood still for seconds. */
  get wasQuickSoFar(): boolean {
    return this.#isQuick;
  }

  /** Looks once more, and no more after that. */
  async wasQuick(): Promise<boolean> {
    clearInterval(this.#timer);
    return this.#isQuick && (await this.#isQuickNow());
  }

  #turn(): void {
    const nowMs = performance.now();
    if (nowMs - this.#lastTurnMs > PAUSE_MS_MAX) this.#isQuick = false;
    this.#lastTurnMs = nowMs;
    if (!this.#isQuick || this.#isLooking || nowMs - this.#lastLookMs < LOOK_INTERVAL_MS) return;
    this.#isLooking = true;
    this.#lastLookMs = nowMs;
    void this.#isQuickNow().then((isQuick) => {
      this.#isLooking = false;
      this.#isQuick &&= isQuick;
    });
  }

  async #isQuickNow(): Promise<boolean> {
    return (!this.#countsLoad || isMachineFree()) && (await isTrialQuick());
  }
}

/**
 * Checks whether this machine has spare processor time. On a busy machine, a measured time says nothing about the node.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, loadavg } from 'node:os';
import { performance } from 'node:perf_hooks';

/**
 * Highest load per processor at which measured times are meaningful. At a higher load, they show mainly the other work
 * of the machine.
 */
const LOAD_PER_PROCESSOR_MAX = 1.5;
/**
 * Time limit for an empty process (a process whose program is empty), from its start to its end. An idle machine needs
 * only a fraction of this time.
 */
const EMPTY_PROCESS_MS_MAX = 300;
const TURN_MS = 100;
/** Longest normal gap between two timer ticks of this process. A longer gap counts as a pause of the machine. */
const PAUSE_MS_MAX = 1500;
/** Pause between two checks. Each check starts an empty process, which costs some hundredths of a second. */
const LOOK_INTERVAL_MS = 2000;

/** Runnable processes per processor, averaged over the last minute; 0 if the system does not report a load. */
export function loadPerProcessor(): number {
  return (loadavg()[0] ?? 0) / availableParallelism();
}

function isMachineFree(): boolean {
  return loadPerProcessor() <= LOAD_PER_PROCESSOR_MAX;
}

/**
 * Checks whether an empty process ends within the time limit. The empty process has the scheduling class of the test
 * process. The check also works on systems that report no load.
 */
async function isTrialQuick(): Promise<boolean> {
  const startedMs = performance.now();
  await once(spawn(process.execPath, ['-e', ''], { stdio: 'ignore' }), 'exit');
  return performance.now() - startedMs < EMPTY_PROCESS_MS_MAX;
}

/**
 * Checks the machine repeatedly from construction on. A check at the end of a test is not enough, because perhaps the
 * machine was busy only during the test.
 */
export class MachineWatch {
  readonly #timer: NodeJS.Timeout;
  #isQuick = true;
  #isLooking = false;
  #lastTurnMs = performance.now();
  #lastLookMs = Number.NEGATIVE_INFINITY;
  readonly #countsLoad: boolean;

  /**
   * @param options with `countsLoad: false`, the watch ignores the load average. The load average also counts processes
   *   of the idle class, which do not slow down other work.
   */
  constructor(options: { readonly countsLoad: boolean } = { countsLoad: true }) {
    this.#countsLoad = options.countsLoad;
    this.#timer = setInterval(() => this.#turn(), TURN_MS).unref();
  }

  /** False after a check found the machine busy, or after more than `PAUSE_MS_MAX` between two timer ticks. */
  get wasQuickSoFar(): boolean {
    return this.#isQuick;
  }

  /**
   * Ends the repeated checks, and checks the machine a last time. Resolves with false if the last check finds the
   * machine busy, or if `wasQuickSoFar` is already false.
   */
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

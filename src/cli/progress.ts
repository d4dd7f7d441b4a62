/**
 * Shows the progress of a long command. On a terminal, the module overwrites one line again and again. To any other
 * output, the module writes new lines. The minimum time between two of these new lines is 10 seconds if the command
 * handles one block after another (`Progress`), and 5 seconds if the command has other steps (`StepProgress`). The
 * progress goes to the standard error output, because results go to the standard output.
 */

import { isatty } from 'node:tty';
import { systemClock } from '../node/system.ts';
import type { Clock } from '../ports/clock.ts';
import { durationText } from '../primitives/duration.ts';
import { writeStderr } from './output.ts';

/** Progress of a command that handles one block after another. */
export interface Progress {
  /**
   * @param height height of the last finished block
   * @param fraction finished part of the work, from 0 to 1; undefined when this part is unknown
   */
  show(height: number, fraction: number | undefined): void;
  /** Removes the progress line from a terminal. */
  end(): void;
}

/** Progress of a command whose steps are not blocks. */
export interface StepProgress {
  /** @param fraction finished part of the work or of the step, from 0 to 1; undefined when this part is unknown */
  show(step: string, fraction?: number): void;
  /** Removes the progress line from a terminal. */
  end(): void;
}

const TERMINAL_INTERVAL_MS = 100;
const BLOCKS_LINE_INTERVAL_MS = 10_000;
const STEP_LINE_INTERVAL_MS = 5_000;
/**
 * Time in milliseconds from the creation of a `StepProgress` until a terminal first shows progress. A command that ends
 * earlier shows only its result.
 */
const STEP_FIRST_SHOWN_MS = 500;
const BAR_CELLS = 24;

/** Output stream for the progress. */
interface ProgressOutput {
  readonly isTTY: boolean;
  write(text: string): unknown;
}

const STANDARD_ERROR: ProgressOutput = {
  get isTTY() {
    return isatty(2);
  },
  write: writeStderr,
};

interface LineOptions {
  readonly output?: ProgressOutput;
  readonly clock?: Pick<Clock, 'nowMs'>;
}

export interface ProgressOptions extends LineOptions {
  /** Name of the work in the progress text, for example `importing`. */
  readonly what: string;
  /** Height of the block before the first block that the command handles. */
  readonly fromHeight: number;
  /** True with `--json`. If true, the command shows no progress. */
  readonly isQuiet?: boolean;
}

export function createProgress({ what, fromHeight, isQuiet = false, ...options }: ProgressOptions): Progress {
  const line = createLine({ ...options, lineIntervalMs: BLOCKS_LINE_INTERVAL_MS, firstShownMs: 0 });
  return {
    show(height, fraction) {
      if (isQuiet) return;
      line.show((seconds, isTTY) => {
        const text = progressText({ what, height, blocks: height - fromHeight, seconds, fraction });
        return isTTY ? `${bar(fraction)} ${text}` : text;
      });
    },
    end: () => line.end(),
  };
}

export interface StepProgressOptions extends LineOptions {
  /** True with `--json`. If true, the command shows no progress. */
  readonly isQuiet: boolean;
}

export function createStepProgress({ isQuiet, ...options }: StepProgressOptions): StepProgress {
  const line = createLine({
    ...options,
    lineIntervalMs: STEP_LINE_INTERVAL_MS,
    firstShownMs: STEP_FIRST_SHOWN_MS,
  });
  return {
    show(step, fraction) {
      if (isQuiet) return;
      const percent = fraction === undefined ? '' : `: ${percentOf(fraction)} %`;
      line.show((seconds) => `${step}${percent}, ${Math.round(seconds)} s`);
    },
    end: () => line.end(),
  };
}

/**
 * Writes a progress line at most once per interval: 100 ms on a terminal, `lineIntervalMs` on any other output. On a
 * terminal, `end` clears the line.
 */
function createLine({
  output = STANDARD_ERROR,
  clock = systemClock,
  lineIntervalMs,
  firstShownMs,
}: LineOptions & {
  readonly lineIntervalMs: number;
  /**
   * Earliest time of the first line on a terminal, in milliseconds after the call of `createLine`. On any other output,
   * the first line comes after `lineIntervalMs` at the earliest.
   */
  readonly firstShownMs: number;
}) {
  const startedMs = clock.nowMs();
  const intervalMs = output.isTTY ? TERMINAL_INTERVAL_MS : lineIntervalMs;
  let nextMs = startedMs + (output.isTTY ? firstShownMs : intervalMs);
  let isOpen = false;
  return {
    show(textAt: (seconds: number, isTTY: boolean) => string): void {
      const nowMs = clock.nowMs();
      if (nowMs < nextMs) return;
      nextMs = nowMs + intervalMs;
      const text = textAt((nowMs - startedMs) / 1000, output.isTTY);
      output.write(output.isTTY ? `\r${text}\u001B[K` : `${text}\n`);
      isOpen = output.isTTY;
    },
    end(): void {
      if (isOpen) output.write('\r\u001B[K');
      isOpen = false;
    },
  };
}

export interface ProgressFacts {
  readonly what: string;
  readonly height: number;
  /** Number of blocks finished in `seconds`. */
  readonly blocks: number;
  readonly seconds: number;
  readonly fraction: number | undefined;
}

/**
 * Returns one line of text with the last finished height and the speed in blocks per second. If `fraction` is known and
 * above 0, the line also contains the percentage and the remaining time.
 */
export function progressText({ what, height, blocks, seconds, fraction }: ProgressFacts): string {
  const rate = seconds > 0 ? Math.round(blocks / seconds) : 0;
  const parts = [`${what}: height ${height}`, `${rate} blocks/s`];
  if (fraction !== undefined && fraction > 0) {
    parts.unshift(`${percentOf(fraction)} %`);
    parts.push(`${durationText((seconds / fraction) * Math.max(1 - fraction, 0))} left`);
  }
  return parts.join(', ');
}

function percentOf(fraction: number): number {
  return Math.floor(Math.min(Math.max(fraction, 0), 1) * 100);
}

function bar(fraction: number | undefined): string {
  if (fraction === undefined) return '';
  const filled = Math.round(Math.min(Math.max(fraction, 0), 1) * BAR_CELLS);
  return `[${'#'.repeat(filled)}${'-'.repeat(BAR_CELLS - filled)}]`;
}

/**
 * Shows the progress of a command whose steps are not blocks, on standard error output like `progress.ts`: one line
 * that is redrawn on a terminal, otherwise a line every few seconds.
 */

import { isatty } from 'node:tty';
import { systemClock } from '../node/system.ts';
import type { Clock } from '../ports/clock.ts';
import { noteText } from './output.ts';
import type { ProgressOutput } from './progress.ts';

export interface StepProgress {
  /**
   * @param fraction finished part of the step, from 0 to 1; undefined when unknown
   */
  show(step: string, fraction?: number): void;
  /** Ends the line. */
  end(): void;
}

const TERMINAL_INTERVAL_MS = 100;
const LINE_INTERVAL_MS = 5_000;
/** A shorter action shows only its result. */
const FIRST_SHOWN_MS = 500;

const STANDARD_ERROR: ProgressOutput = {
  get isTTY() {
    return isatty(2);
  },
  write: noteText,
};

export interface StepProgressOptions {
  /** True with `--json`: no progress is shown. */
  readonly isQuiet: boolean;
  readonly output?: ProgressOutput;
  readonly clock?: Pick<Clock, 'nowMs'>;
}

export function createStepProgress(options: StepProgressOptions): StepProgress {
  const { isQuiet, output = STANDARD_ERROR, clock = systemClock } = options;
  const startedMs = clock.nowMs();
  const intervalMs = output.isTTY ? TERMINAL_INTERVAL_MS : LINE_INTERVAL_MS;
  let shownMs = startedMs + (output.isTTY ? FIRST_SHOWN_MS - intervalMs : 0);
  let isLineOpen = false;
  return {
    show(step, fraction) {
      const nowMs = clock.nowMs();
      if (isQuiet || nowMs - shownMs < intervalMs) return;
      shownMs = nowMs;
      const percent = fraction === undefined ? '' : `: ${Math.floor(Math.min(Math.max(fraction, 0), 1) * 100)} %`;
      const text = `${step}${percent}, ${Math.round((nowMs - startedMs) / 1000)} s`;
      output.write(output.isTTY ? `\r${text}\u001B[K` : `${text}\n`);
      isLineOpen = output.isTTY;
    },
    end() {
      if (isLineOpen) output.write('\r\u001B[K');
      isLineOpen = false;
    },
  };
}

/**
 * Shows the progress of a long command on standard error output: a bar on a terminal, otherwise a line from time to
 * time. Standard output is for results.
 */

import { isatty } from 'node:tty';
import { systemClock } from '../node/system.ts';
import type { Clock } from '../ports/clock.ts';
import { noteText } from './output.ts';

export interface Progress {
  /**
   * @param height height of the last finished block
   * @param fraction finished part of the whole, from 0 to 1; undefined when unknown
   */
  show(height: number, fraction: number | undefined): void;
  /** Ends the line of the bar. */
  end(): void;
}

const BAR_INTERVAL_MS = 100;
const LINE_INTERVAL_MS = 10_000;
const BAR_CELLS = 24;

/** Destination of the progress. */
export interface ProgressOutput {
  readonly isTTY: boolean;
  write(text: string): unknown;
}

const STANDARD_ERROR: ProgressOutput = {
  get isTTY() {
    return isatty(2);
  },
  write: noteText,
};

export interface ProgressOptions {
  /** Action of the command, for example `importing`. */
  readonly what: string;
  /** Height of the block before the first one. */
  readonly fromHeight: number;
  readonly output?: ProgressOutput;
  readonly clock?: Pick<Clock, 'nowMs'>;
}

export function createProgress(options: ProgressOptions): Progress {
  const { what, fromHeight, output = STANDARD_ERROR, clock = systemClock } = options;
  const startedMs = clock.nowMs();
  const intervalMs = output.isTTY ? BAR_INTERVAL_MS : LINE_INTERVAL_MS;
  let shownMs = output.isTTY ? 0 : startedMs;
  let isBarOpen = false;
  return {
    show(height, fraction) {
      const nowMs = clock.nowMs();
      if (nowMs - shownMs < intervalMs) return;
      shownMs = nowMs;
      const seconds = (nowMs - startedMs) / 1000;
      const text = progressText({ what, height, blocks: height - fromHeight, seconds, fraction });
      output.write(output.isTTY ? `\r${bar(fraction)} ${text}\u001B[K` : `${text}\n`);
      isBarOpen = output.isTTY;
    },
    end() {
      if (isBarOpen) output.write('\r\u001B[K');
      isBarOpen = false;
    },
  };
}

export interface ProgressFacts {
  readonly what: string;
  readonly height: number;
  /** Blocks finished in `seconds`. */
  readonly blocks: number;
  readonly seconds: number;
  readonly fraction: number | undefined;
}

/** One line: finished blocks, speed and remaining time. */
export function progressText({ what, height, blocks, seconds, fraction }: ProgressFacts): string {
  const rate = seconds > 0 ? Math.round(blocks / seconds) : 0;
  const parts = [`${what}: height ${height}`, `${rate} blocks/s`];
  if (fraction !== undefined && fraction > 0) {
    parts.unshift(`${Math.floor(Math.min(fraction, 1) * 100)} %`);
    parts.push(`${durationText((seconds / fraction) * Math.max(1 - fraction, 0))} left`);
  }
  return parts.join(', ');
}

/** Examples: `1 h 05 min`, `3 min 20 s`, `12 s`. */
export function durationText(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (whole >= 3600) return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
  if (whole >= 60) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${whole} s`;
}

function bar(fraction: number | undefined): string {
  if (fraction === undefined) return '';
  const filled = Math.round(Math.min(Math.max(fraction, 0), 1) * BAR_CELLS);
  return `[${'#'.repeat(filled)}${'-'.repeat(BAR_CELLS - filled)}]`;
}

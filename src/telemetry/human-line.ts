/** Formats a log line for people: `12:04:31.120 INFO  chain       block applied  height=12 blockId=…`. */

import type { Printable } from './printable.ts';

export interface LogRecord {
  /** ISO 8601, UTC. */
  readonly time: string;
  readonly level: string;
  readonly module?: string;
  readonly code: string;
  readonly message: string;
  readonly data?: Readonly<Record<string, Printable>>;
}

export interface HumanLineOptions {
  /** True to colour the level with ANSI codes. */
  readonly colour?: boolean;
}

const MODULE_WIDTH = 11;
const COLOURS: Readonly<Record<string, string>> = { error: '31', warn: '33', info: '32', debug: '36', trace: '90' };

/**
 * Formats one log record as one line, without a line feed at the end. Text from peers or clients cannot add lines or
 * move the cursor, because the function escapes control characters.
 */
export function humanLine(record: LogRecord, options: HumanLineOptions = {}): string {
  const level = record.level.toUpperCase().padEnd(5);
  const colour = options.colour === true ? COLOURS[record.level] : undefined;
  const parts = [
    record.time.slice(11, 23),
    colour === undefined ? level : `\u001b[${colour}m${level}\u001b[0m`,
    visible(record.module ?? '').padEnd(MODULE_WIDTH),
    visible(record.message),
  ];
  const data = Object.entries(record.data ?? {}).map(([key, value]) => `${visible(key)}=${valueText(value)}`);
  // Only warnings and errors show their code, because operators look up these codes. Lines of other levels are easier
  // to read without a code.
  if (record.level === 'warn' || record.level === 'error') data.push(`code=${visible(record.code)}`);
  return data.length === 0 ? parts.join(' ') : `${parts.join(' ')}  ${data.join(' ')}`;
}

function valueText(value: Printable): string {
  if (typeof value !== 'string') return visible(JSON.stringify(value));
  return /^[^\s"'=\\[\]{}]+$/.test(value) ? visible(value) : visible(JSON.stringify(value));
}

/**
 * Escapes control characters, line separators and characters that change the direction of text. With these characters,
 * text from peers or clients could forge log lines or control a terminal.
 */
function visible(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

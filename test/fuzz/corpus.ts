/**
 * The fuzz corpus: inputs that are kept between runs. Each line of `corpus/<target>.ndjson` contains an input and the
 * reason for keeping it. Inputs that once showed a fault stay forever. Every run tries the corpus before new inputs.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageDirectory } from '../../src/config/package.ts';

interface Kept {
  readonly why: string;
  /** The input, if it is valid UTF-8. */
  readonly text?: string;
  readonly base64?: string;
}

/** Prefix that `why` (the reason for keeping an input) has if the input once showed a fault. */
export const FOUND = 'found: ';

export function corpusOf(target: string): readonly Buffer[] {
  return linesOf(target).map((line) => {
    const { text, base64 } = JSON.parse(line) as Kept;
    return text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text);
  });
}

/** Replaces the inputs in the corpus of a target by `kept`. Inputs that once showed a fault stay in the corpus. */
export function keep(target: string, kept: ReadonlyMap<string, Buffer>): void {
  const findings = linesOf(target).filter((line) => (JSON.parse(line) as Kept).why.startsWith(FOUND));
  const lines = [...findings, ...[...kept].map(([why, input]) => corpusLine(why, input))];
  writeFileSync(fileOf(target), lines.map((line) => `${line}\n`).join(''));
}

function linesOf(target: string): readonly string[] {
  const file = fileOf(target);
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

export function corpusLine(why: string, input: Buffer): string {
  const text = input.toString('utf8');
  const isText = Buffer.from(text).equals(input);
  return JSON.stringify({ why, ...(isText ? { text } : { base64: input.toString('base64') }) } satisfies Kept);
}

function fileOf(target: string): string {
  return join(packageDirectory(), 'test', 'fuzz', 'corpus', `${target}.ndjson`);
}

/**
 * Reads the steps of a guide: its shell blocks in order, and its comments `<!-- stop -->`, at which a node must be
 * stopped.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageDirectory } from '../../src/config/package.ts';

export type Step =
  | { readonly kind: 'commands'; readonly section: string; readonly text: string }
  /** A command that runs until it is stopped. A user of the guide runs it in a separate terminal. */
  | { readonly kind: 'running'; readonly section: string; readonly text: string }
  /** Stops the last started step of kind `running`. */
  | { readonly kind: 'stop'; readonly section: string };

export function stepsOf(page: string): readonly Step[] {
  const text = readFileSync(join(packageDirectory(), 'docs', 'guides', page), 'utf8');
  const steps: Step[] = [];
  let section = '';
  for (const match of text.matchAll(/^## ([^\n]*)$|^<!-- (stop) -->$|^```sh\n(.*?)\n```$/gms)) {
    const [, heading, stop, commands] = match;
    if (heading !== undefined) section = heading;
    else if (stop !== undefined) steps.push({ kind: 'stop', section });
    else if (commands !== undefined) {
      const runs = /^bloomery (devnet --|start )/.test(commands);
      steps.push({ kind: runs ? 'running' : 'commands', section, text: commands });
    }
  }
  return steps;
}

/** Returns the arguments of each `bloomery` command that a regular expression finds in shell text. */
export function commandsIn(text: string): readonly (readonly string[])[] {
  return [...text.matchAll(/(?:^|[({|]\s*)bloomery ([^|)};\n<>]*)/gm)].map(([, args = '']) =>
    args
      .trim()
      .split(/\s+/)
      .map((arg) => arg.replace(/^["']|["']$/g, '')),
  );
}

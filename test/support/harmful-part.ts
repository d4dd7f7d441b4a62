/**
 * Loaded into a node before its program (`node --import`): hurts it as a defect would. Nothing that ships knows of it.
 * `HARM_FILE` is a file that says how to hurt the node once it is there, and `HARM_IN` the end of the data folder of the node
 * that is meant.
 */

import { readFileSync, rmSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const { HARM_FILE: file, HARM_IN: place } = process.env;
const LOOK_INTERVAL_MS = 100;
/** Eight megabytes of V8's heap. */
const PIECE = 1_000_000;
const BUFFER_BYTES = 20_000_000;

/** A node of a devnet runs another program than `start`, which its data folder tells. */
const isMeant =
  place === undefined ? process.argv.includes('start') : process.argv.some((word) => word.endsWith(place));
if (isMainThread && isMeant && file !== undefined) {
  setInterval(() => {
    const harm = readIfThere(file);
    // The file is empty between its creation and its first byte.
    if (harm === undefined || harm === '') return;
    // Not again in the next life.
    rmSync(file);
    hurt(harm);
  }, LOOK_INTERVAL_MS).unref();
}

function hurt(harm: string): void {
  const kept: unknown[] = [];
  if (harm === 'leak') setInterval(() => kept.push(Buffer.alloc(BUFFER_BYTES, 1)), 20);
  if (harm === 'fill') for (;;) kept.push(new Array<number>(PIECE).fill(kept.length + 0.5));
  if (harm === 'block') for (;;);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

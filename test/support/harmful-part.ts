/**
 * A module that a node loads before its program (`node --import`), and that harms the node as a defect would. No
 * shipped code refers to the module. The environment variable `HARM_FILE` is the path of a file with the kind of harm.
 * The harm starts when the file has content. The environment variable `HARM_IN` selects the node to harm: the path of
 * this node's data folder ends with the value of `HARM_IN`.
 */

import { readFileSync, rmSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const { HARM_FILE: file, HARM_IN: place } = process.env;
const LOOK_INTERVAL_MS = 100;
/** Number of array elements that use eight megabytes of V8's heap. */
const PIECE = 1_000_000;
const BUFFER_BYTES = 20_000_000;

/**
 * Without `HARM_IN`, the argument `start` identifies the node. A node that `bloomery devnet` starts has no such
 * argument, so the test must set `HARM_IN`.
 */
const isMeant =
  place === undefined ? process.argv.includes('start') : process.argv.some((word) => word.endsWith(place));
if (isMainThread && isMeant && file !== undefined) {
  setInterval(() => {
    const harm = readIfThere(file);
    // The file is empty between its creation and its first byte.
    if (harm === undefined || harm === '') return;
    // Remove the file, so that the next start of the node is not harmed again.
    rmSync(file);
    inflict(harm);
  }, LOOK_INTERVAL_MS).unref();
}

function inflict(harm: string): void {
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

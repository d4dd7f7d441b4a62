/** A reading process (a process that answers HTTP requests for a node) whose memory grows after SIGUSR2. */

import { runReader } from '../../src/node/readers/reader-process.ts';
import { createRules } from '../../src/protocol/generations.ts';
import { FAKE_CODEC } from './fake-codec.ts';

/**
 * Number of bytes by which the memory grows. The number exceeds the memory limit that the test sets for the process
 * (`memoryBytesMax`).
 */
const GROWTH_BYTES = 250_000_000;
const grown: Buffer[] = [];

/**
 * The memory grows in steps of this number of bytes, so that the reader can answer pings between two steps. On a busy
 * machine, the whole growth takes seconds.
 */
const STEP_BYTES = 5_000_000;

process.on('SIGUSR2', grow);
runReader((params) => ({ ...createRules(params), codec: FAKE_CODEC }));

function grow(): void {
  grown.push(Buffer.alloc(STEP_BYTES, 1));
  if (grown.length * STEP_BYTES < GROWTH_BYTES) setImmediate(grow);
}

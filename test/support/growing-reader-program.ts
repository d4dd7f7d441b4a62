/** A reading process whose memory grows when the process gets SIGUSR2. */

import { runReader } from '../../src/node/readers/reader-process.ts';
import { createRules } from '../../src/protocol/generations.ts';
import { FAKE_CODEC } from './fake-codec.ts';

/** Memory that the reader adds, more than the memory limit of the test. */
const GROWTH_BYTES = 250_000_000;
const grown: Buffer[] = [];

process.on('SIGUSR2', () => grown.push(Buffer.alloc(GROWTH_BYTES, 1)));
runReader((params) => ({ ...createRules(params), codec: FAKE_CODEC }));

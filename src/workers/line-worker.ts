/** Reads lines of a chain file (a text file with one block in each line) in a worker thread of `line-reader.ts`. */

import { workerData } from 'node:worker_threads';
import { selectEd25519 } from '../crypto/ed25519.ts';
import { createRules } from '../protocol/generations.ts';
import type { ChainParams } from '../protocol/params.ts';
import { serveJobs } from './job-program.ts';
import { readPackedLines } from './packed-lines.ts';

const { params, knownHeight } = workerData as { readonly params: ChainParams; readonly knownHeight: number };
const rules = createRules(params);
const ed25519 = selectEd25519();

serveJobs((lines) => readPackedLines(lines, rules, ed25519, knownHeight));

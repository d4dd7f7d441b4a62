/** The program of a verifying thread: it takes packed checks and answers with one byte for each check. */

import { workerData } from 'node:worker_threads';
import { selectEd25519, type Ed25519Backend } from '../crypto/ed25519.ts';
import { serveJobs } from './job-program.ts';
import { unpackChecks } from './packed-checks.ts';

const { backend } = workerData as { readonly backend: Ed25519Backend };
const ed25519 = selectEd25519(backend);

serveJobs((packed) => Uint8Array.from(unpackChecks(packed), (check) => (ed25519.verify(check) ? 1 : 0)));

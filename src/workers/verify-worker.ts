/**
 * Runs in a worker thread, and makes the signature checks of each job (see `packChecks`). The answer has one byte for
 * each check: 1 for a correct signature, 0 for a wrong signature.
 */

import { workerData } from 'node:worker_threads';
import { selectEd25519, type Ed25519Backend } from '../crypto/ed25519.ts';
import { serveJobs } from './job-program.ts';
import { unpackChecks } from './packed-checks.ts';

const { backend } = workerData as { readonly backend: Ed25519Backend };
const ed25519 = selectEd25519(backend);

serveJobs((packed) => Uint8Array.from(unpackChecks(packed), (check) => (ed25519.verify(check) ? 1 : 0)));

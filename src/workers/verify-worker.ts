/** The program of a verifying thread: takes packed checks, posts back one byte for each. */

import { parentPort, workerData } from 'node:worker_threads';
import { selectEd25519, type Ed25519Backend } from '../crypto/ed25519.ts';
import { unpackChecks, type VerifyAnswer, type VerifyJob } from './packed-checks.ts';

const { backend } = workerData as { readonly backend: Ed25519Backend };
const ed25519 = selectEd25519(backend);

parentPort?.on('message', ({ id, packed }: VerifyJob) => {
  const answers = Uint8Array.from(unpackChecks(packed), (check) => (ed25519.verify(check) ? 1 : 0));
  const answer: VerifyAnswer = { id, answers };
  parentPort?.postMessage(answer, [answers.buffer]);
});

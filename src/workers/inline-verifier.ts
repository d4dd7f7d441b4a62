/** A verifier without threads: for small networks, tests and simulations, whose nodes may share one. */

import type { Ed25519 } from '../crypto/ed25519.ts';
import type { Verifier } from '../ports/verifier.ts';
import type { SignatureCheck } from '../protocol/types.ts';
import { AnswerMemory, checkKey } from './answer-memory.ts';

/**
 * Answers everything on the calling thread and remembers it.
 *
 * @param cacheEntriesMax answers remembered, least recently used forgotten first
 */
export function createInlineVerifier(ed25519: Ed25519, cacheEntriesMax: number): Verifier {
  const memory = new AnswerMemory(cacheEntriesMax);
  const verify = (check: SignatureCheck): boolean => verifyWith(memory, ed25519, check);
  return {
    backend: ed25519.backend,
    verify,
    verifyAll: (checks) => Promise.resolve(checks.map(verify)),
    close: () => Promise.resolve(),
  };
}

/** One check, from memory or computed and then remembered. */
export function verifyWith(memory: AnswerMemory, ed25519: Ed25519, check: SignatureCheck): boolean {
  const asked = memory.recallObject(check);
  if (asked !== undefined) return asked;
  const key = checkKey(check);
  if (key === undefined) return false;
  const answer = memory.recall(key) ?? ed25519.verify(check);
  memory.keep(check, key, answer);
  return answer;
}

/** The verifier of a node: single checks on the calling thread, many at once on worker threads. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { selectEd25519, type Ed25519Backend } from '../crypto/ed25519.ts';
import type { Observer } from '../ports/observer.ts';
import type { Verifier } from '../ports/verifier.ts';
import type { SignatureCheck } from '../protocol/types.ts';
import { SignatureCache, checkKey, hasRightLengths } from './signature-cache.ts';
import { MeteredChecks, verifyWith } from './inline-verifier.ts';
import { JobThreads, programBeside } from './job-threads.ts';
import { packChecks } from './packed-checks.ts';

export { createInlineVerifier } from './inline-verifier.ts';

export interface VerifierPoolOptions {
  /** Worker threads, started when the first large batch comes; 0 for none. */
  readonly threads: number;
  /** Preferred back end; the fastest that loads by default. */
  readonly backend?: Ed25519Backend;
  /** Answers remembered, least recently used forgotten first; some 250 bytes each. */
  readonly cacheEntriesMax: number;
  /** Is told once when a thread is lost. */
  readonly observer?: Observer;
  /** Program of the threads, when it is not the usual one. */
  readonly threadProgram?: URL;
}

/**
 * As many checks as the calling thread answers in some milliseconds. More than that at once are worth the way to another
 * thread, and would keep the calling one from its other work.
 */
const INLINE_CHECKS_MAX: Readonly<Record<Ed25519Backend, number>> = { sodium: 60, noble: 4 };

/** Checks in one job. Small enough that threads end together, large enough that posting it costs little. */
const JOB_CHECKS_MAX = 128;

/**
 * Checks at once up to which answers are sought and kept by content: those of a block, whose transactions came one by one
 * before. The thousands of a download were never seen, and will be asked for as the same objects.
 */
const KEYED_CHECKS_MAX = 200;

/** Checks waiting on one thread. Further checks run on the caller's own thread, which slows the callers. */
export const THREAD_CHECKS_MAX = 20_000;

/**
 * Opens the pool. A lost thread costs speed only: what it had is answered on the calling thread, and so is everything once
 * no thread is left.
 *
 * @throws ProtocolError `ED25519_BACKEND_WRONG` when the back end fails the published edge cases
 */
export function createVerifierPool(options: VerifierPoolOptions): Verifier {
  const { threads, cacheEntriesMax, observer } = options;
  const ed25519 = selectEd25519(options.backend);
  const { backend } = ed25519;
  const cache = new SignatureCache(cacheEntriesMax);
  const inlineMax = INLINE_CHECKS_MAX[backend];
  const pool = new JobThreads({
    threads,
    program: options.threadProgram ?? programBeside(import.meta.url, 'verify-worker'),
    workerData: { backend },
    waitingMax: THREAD_CHECKS_MAX,
    ...(observer === undefined ? {} : { observer }),
  });

  const metered = new MeteredChecks(ed25519);
  const verify = (check: SignatureCheck): boolean => verifyWith(cache, metered, check);

  async function answerInline(checks: readonly SignatureCheck[]): Promise<boolean[]> {
    const answers: boolean[] = [];
    for (const [index, check] of checks.entries()) {
      if (index > 0 && index % inlineMax === 0) await yieldToEventLoop();
      answers.push(verify(check));
    }
    return answers;
  }

  async function answerJob(checks: readonly SignatureCheck[]): Promise<readonly boolean[]> {
    const answers = await pool.ask(packChecks(checks), checks.length);
    // An answer of another length answers other questions.
    return answers?.length === checks.length ? Array.from(answers, (answer) => answer === 1) : answerInline(checks);
  }

  async function answerParallel(checks: readonly SignatureCheck[]): Promise<readonly boolean[]> {
    const jobChecks = Math.min(JOB_CHECKS_MAX, Math.ceil(checks.length / threads));
    const jobs: Promise<readonly boolean[]>[] = [];
    for (let from = 0; from < checks.length; from += jobChecks)
      jobs.push(answerJob(checks.slice(from, from + jobChecks)));
    return (await Promise.all(jobs)).flat();
  }

  /** True when the answer to this object is known from now on; wrong lengths need none. */
  function isAnswered(check: SignatureCheck, isBulk: boolean): boolean {
    if (cache.recallObject(check) !== undefined || !hasRightLengths(check)) return true;
    const key = isBulk ? undefined : checkKey(check);
    const known = key === undefined ? undefined : cache.recall(key);
    if (known !== undefined) cache.keep(check, key, known);
    return known !== undefined;
  }

  async function verifyAll(checks: readonly SignatureCheck[]): Promise<readonly boolean[]> {
    const isBulk = checks.length > KEYED_CHECKS_MAX;
    const open = checks.filter((check) => !isAnswered(check, isBulk));
    const isParallel = open.length > inlineMax && !pool.isClosed;
    const found = await (isParallel ? answerParallel : answerInline)(open);
    for (const [index, check] of open.entries()) {
      cache.keep(check, isBulk ? undefined : checkKey(check), found[index] === true);
    }
    return checks.map((check) => cache.recallObject(check) === true);
  }

  return {
    backend,
    get spentMs() {
      return metered.spentMs;
    },
    verify,
    verifyAll,
    close: () => pool.close(),
  };
}

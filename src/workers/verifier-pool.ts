/**
 * The verifier of a node. The verifier makes single checks on the calling thread, and many checks at once on worker
 * threads.
 */

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
  /** Number of worker threads, which start when the first large batch comes; 0 for none. */
  readonly threads: number;
  /** Preferred back end; the fastest that loads by default. */
  readonly backend?: Ed25519Backend;
  /**
   * Number of results remembered; the least recently used ones are forgotten first. Each result takes about 250 bytes.
   */
  readonly cacheEntriesMax: number;
  /** Gets one message when a thread is lost. */
  readonly observer?: Observer;
  /** Program of the threads; default `verify-worker`. */
  readonly threadProgram?: URL;
}

/**
 * Number of checks that the calling thread makes in some milliseconds. Larger numbers of checks go to other threads.
 * Handing over many checks is worth its cost, and the calling thread stays free for other work.
 */
const INLINE_CHECKS_MAX: Readonly<Record<Ed25519Backend, number>> = { sodium: 60, noble: 4 };

/**
 * Number of checks in one job. A job is small, so that all threads end at about the same time, and large enough that
 * posting it costs little.
 */
const JOB_CHECKS_MAX = 128;

/**
 * Results of up to this number of checks at once are looked up and kept by content. Small batches of checks belong to a
 * block whose transactions arrived earlier, one by one. A download brings thousands of new checks. The results of
 * downloaded checks are kept by object, because later uses of these checks are the same objects.
 */
const KEYED_CHECKS_MAX = 200;

/**
 * Number of checks that may wait on one thread. Further checks run on the caller's own thread, which slows the callers
 * down.
 */
export const THREAD_CHECKS_MAX = 20_000;

/**
 * Opens the pool. A lost thread costs only speed: its checks are made on the calling thread. When no thread is left,
 * the calling thread makes all checks.
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
    // An answer with another length does not belong to these checks, so it is not used.
    return answers?.length === checks.length ? Array.from(answers, (answer) => answer === 1) : answerInline(checks);
  }

  async function answerParallel(checks: readonly SignatureCheck[]): Promise<readonly boolean[]> {
    const jobChecks = Math.min(JOB_CHECKS_MAX, Math.ceil(checks.length / threads));
    const jobs: Promise<readonly boolean[]>[] = [];
    for (let from = 0; from < checks.length; from += jobChecks)
      jobs.push(answerJob(checks.slice(from, from + jobChecks)));
    return (await Promise.all(jobs)).flat();
  }

  /** True when the result for this object is known after this call. A check with wrong lengths needs no result. */
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

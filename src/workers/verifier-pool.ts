/**
 * Creates the verifier of a node. The verifier makes small batches of signature checks on the calling thread, and large
 * batches on its worker threads. Without worker threads, the verifier makes all checks on the calling thread.
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
  /**
   * Number of worker threads. The threads start with the first large batch. With 0, the verifier makes all checks on
   * the calling thread.
   */
  readonly threads: number;
  /** The preferred backend, which is an implementation of Ed25519. The default is the fastest backend that loads. */
  readonly backend?: Ed25519Backend;
  /**
   * Maximum number of results that the cache stores by content (public key, signature and message). The cache drops
   * results that were not used recently. Each result takes at most about 260 bytes.
   */
  readonly cacheEntriesMax: number;
  /**
   * Receives a log line when a thread ends unexpectedly. The verifier writes such a line only once, even if several
   * threads end unexpectedly.
   */
  readonly observer?: Observer;
  /** URL of the worker script. The default is the URL of `verify-worker`. */
  readonly threadProgram?: URL;
}

/**
 * If a batch has at most this number of checks, the calling thread makes the checks itself. Checks whose result is
 * already known do not count. According to `CHECK_MS`, a batch of this size takes about 4 ms with `sodium` and about 5
 * ms with `noble`. Worker threads make the checks of larger batches, so that the calling thread stays free for other
 * work.
 */
const INLINE_CHECKS_MAX: Readonly<Record<Ed25519Backend, number>> = { sodium: 60, noble: 4 };

/**
 * Maximum number of checks in one job. Jobs are so small that all threads finish a batch at about the same time. Jobs
 * are so large that posting a job costs little in comparison with its checks.
 */
const JOB_CHECKS_MAX = 128;

/**
 * In a batch with at most this number of checks, the results of all checks are cached by content (`checkKey`). A small
 * batch usually belongs to one block. Each transaction of the block usually arrived earlier as another object with the
 * same bytes. The cache can therefore find the earlier result only by content. A larger batch usually belongs to a
 * download of many blocks, with thousands of new checks. If worker threads make these checks, the results are cached
 * only by object, because the later validation of the blocks uses the same check objects.
 */
const KEYED_CHECKS_MAX = 200;

/**
 * A worker thread with this number of waiting checks gets no further job. If no thread takes further jobs, the calling
 * thread makes the checks. These checks slow down the code that requests the checks.
 */
export const THREAD_CHECKS_MAX = 20_000;

/**
 * Creates the verifier. If a worker thread ends unexpectedly, the calling thread makes the checks that the worker
 * thread has not answered. If no worker thread is left, the calling thread makes all checks.
 *
 * @throws ProtocolError `ED25519_BACKEND_WRONG` when the backend answers an edge case of `ed25519-vectors.ts` wrongly
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
    // The answer is undefined if no thread accepted the job, or if the thread ended. An answer whose length differs
    // from the number of checks cannot be right. In these cases, the calling thread makes the checks.
    return answers?.length === checks.length ? Array.from(answers, (answer) => answer === 1) : answerInline(checks);
  }

  async function answerParallel(checks: readonly SignatureCheck[]): Promise<readonly boolean[]> {
    const jobChecks = Math.min(JOB_CHECKS_MAX, Math.ceil(checks.length / threads));
    const jobs: Promise<readonly boolean[]>[] = [];
    for (let from = 0; from < checks.length; from += jobChecks)
      jobs.push(answerJob(checks.slice(from, from + jobChecks)));
    return (await Promise.all(jobs)).flat();
  }

  /**
   * Returns true if the node need not make a check. There are two such cases. In the first case, the cache has the
   * result of the check. In the second case, the public key or the signature has a wrong length, so the check always
   * fails. The function first searches the cache for a result of the same object `check`. If this search finds no
   * result and `isBulk` is false, the function searches the cache for a result of any check with the same content. If
   * the second search finds a result, the function also stores the result for the object `check`.
   */
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

/**
 * The steps through which each HTTP request passes:
 *
 * 1. `receive` counts the request. If a trusted proxy forwards the request of a stranger (a client that is not
 *    trusted), the request waits until the fair scheduler (`FairScheduler`) gives the stranger a turn. This scheduler
 *    limits the main thread's time for all strangers together, and lets their addresses take turns.
 * 2. `#admitClient` checks the access and the request rate of the client, and the head of the request
 *    (`request-checks.ts`).
 * 3. `#waitForHeight` delays a read request that contains a minimum height. The request continues when the node has the
 *    block of this height. If the wait takes too long, or if too many requests wait, the node answers with status 503.
 * 4. `#dispatch` tries the fast path: a function that answers frequent requests without Express (`fast-path.ts`). A
 *    request that this function does not answer takes the slow path: `admitTarget` checks the path and the headers of
 *    the body, and the Express application (`express-app.ts`) answers.
 *
 * Each step either answers the request or calls the next step.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientAddresses } from './access.ts';
import type { Admission } from './admission/admission.ts';
import type { Allowance } from './admission/allowance.ts';
import { clientKey } from './admission/client-address.ts';
import { createCorsHeaders } from './cors-headers.ts';
import type { HttpDialect } from './dialect.ts';
import type { FastPath } from './fast-path.ts';
import type { HttpOptions } from './options.ts';
import { internalError, invalidRequest, parameterError, Problem, problemOf } from './problems.ts';
import { originForm } from './query.ts';
import { type HeightWaiters, MIN_HEIGHT_PARAMETER, RETRY_AFTER_S, wantedHeight } from './read-consistency.ts';
import type { Expectation, RequestChecks } from './request-checks.ts';

export interface RequestPipelineDependencies {
  readonly settings: HttpOptions;
  readonly dialect: HttpDialect;
  readonly admission: Admission;
  /** Returns whether a client with this address is trusted. */
  readonly isTrusted: (address: string) => boolean;
  readonly checks: RequestChecks;
  readonly waiters: HeightWaiters;
  readonly tryFastPath: FastPath;
  /** Answers a request on the slow path, that is, through the Express application (`express-app.ts`). */
  readonly answer: (request: IncomingMessage, response: ServerResponse, allowance: Allowance) => void;
}

export class RequestPipeline {
  readonly #dependencies: RequestPipelineDependencies;
  readonly #corsHeaders: ReturnType<typeof createCorsHeaders>;
  #requestCount = 0;
  #isDraining = false;

  constructor(dependencies: RequestPipelineDependencies) {
    this.#dependencies = dependencies;
    this.#corsHeaders = createCorsHeaders(dependencies.settings);
  }

  /** Number of requests whose head the server has read, including refused requests. */
  get requestCount(): number {
    return this.#requestCount;
  }

  /** From now on, each connection ends after the answer to its next request. */
  drain(): void {
    this.#isDraining = true;
  }

  receive(request: IncomingMessage, response: ServerResponse, expectation?: Expectation): void {
    const { settings, admission } = this.#dependencies;
    this.#requestCount += 1;
    settings.beforeRequest?.();
    if (this.#isDraining) response.shouldKeepAlive = false;
    request.url = originForm(request.url ?? '/');
    const connection = admission.of(request.socket);
    connection?.begin(request, response);
    const client = this.#strangerBehindProxy(request);
    if (client !== undefined && connection !== undefined) {
      admission.scheduler.take(client, () => {
        connection.contain(() => this.#admitClient(request, response, expectation));
      });
    } else this.#admitClient(request, response, expectation);
  }

  /**
   * Finds the stranger (the untrusted client) whose request a trusted proxy forwards. The connection of a trusted proxy
   * does not wait for the fair scheduler (`FairScheduler`), which lets the addresses of strangers take turns. But if
   * the proxy forwards the request of a stranger, this request waits until the scheduler gives the stranger a turn.
   *
   * @returns key of the client in the scheduler; undefined for a request that no trusted proxy forwards, and for a
   *   trusted client
   */
  #strangerBehindProxy(request: IncomingMessage): string | undefined {
    const { settings, admission, isTrusted } = this.#dependencies;
    if (!settings.trustProxy || admission.of(request.socket)?.isTrusted !== true) return undefined;
    const [client = ''] = clientAddresses(request, true);
    return isTrusted(client) ? undefined : clientKey(client);
  }

  #admitClient(request: IncomingMessage, response: ServerResponse, expectation?: Expectation): void {
    const { checks, dialect } = this.#dependencies;
    const next = (allowance: Allowance): void => this.#waitForHeight(request, response, allowance, expectation);
    const admitted = checks.admitClient(request, response, expectation);
    if (!(admitted instanceof Promise)) {
      if (admitted !== undefined && !response.destroyed) next(admitted);
      return;
    }
    admitted.then(
      (allowance) =>
        this.#continueInTurn(request, () => {
          if (allowance !== undefined && !response.destroyed) next(allowance);
        }),
      (error: unknown) => {
        if (response.destroyed) return;
        // The counting process (which counts the requests of all processes) did not answer in time, or too many limit
        // checks wait for its answers. Therefore this process does not know whether the client is allowed to send this
        // request.
        this.#answerProblem(response, problemOf(error, dialect.generation) ?? internalError());
      },
    );
  }

  /**
   * Continues a request after the counting process (which counts the requests of all processes) has answered the
   * rate-limit check. If the request comes from a stranger (an untrusted client), the rest of the work is a new task of
   * the fair scheduler (`FairScheduler`). This scheduler runs the tasks of strangers: one task of each waiting address
   * in turn.
   */
  #continueInTurn(request: IncomingMessage, nextStep: () => void): void {
    const { admission } = this.#dependencies;
    const connection = admission.of(request.socket);
    const contained = (): void => (connection === undefined ? nextStep() : connection.contain(nextStep));
    const proxied = this.#strangerBehindProxy(request);
    if (proxied !== undefined) admission.scheduler.take(proxied, contained);
    else if (connection === undefined || connection.isTrusted) contained();
    else admission.scheduler.take(connection.key, contained);
  }

  #waitForHeight(
    request: IncomingMessage,
    response: ServerResponse,
    allowance: Allowance,
    expectation?: Expectation,
  ): void {
    const { dialect, waiters } = this.#dependencies;
    const next = (): void => this.#dispatch(request, response, allowance, expectation);
    if (request.method !== 'GET' && request.method !== 'HEAD') return next();
    const { height, target } = wantedHeight(request, dialect);
    if (height === undefined) return next();
    request.url = target;
    if (Number.isNaN(height)) return void this.#answerProblem(response, MIN_HEIGHT_INVALID);
    const isReached = waiters.wait(height);
    if (isReached === true) return next();
    void Promise.resolve(isReached).then((reached) => {
      // The client has possibly closed the connection during the wait.
      if (response.destroyed) return;
      if (reached) return next();
      this.#answerProblem(response, behind(height));
    });
  }

  #dispatch(request: IncomingMessage, response: ServerResponse, allowance: Allowance, expectation?: Expectation): void {
    const { checks, admission, tryFastPath, answer } = this.#dependencies;
    const takeSlowPath = (): void => {
      const target = checks.admitTarget(request, response);
      if (target === undefined) return;
      const answerNow = (): void => answer(request, response, allowance);
      if (!target.takesBody) return answerNow();
      // If the request has the header `Expect: 100-continue`, the client waits for the answer `100 Continue` before it
      // sends the body.
      if (expectation === 'continue') response.writeContinue();
      admission.of(request.socket)?.acceptBody(answerNow);
    };
    if (!tryFastPath(request, response, allowance, takeSlowPath)) takeSlowPath();
  }

  #answerProblem(response: ServerResponse, { status, body }: Problem): void {
    const bytes = Buffer.from(JSON.stringify(body), 'utf8');
    const headers = ['Content-Type', 'application/json', 'Content-Length', String(bytes.length)];
    if (status === 503) headers.push('Retry-After', String(RETRY_AFTER_S));
    response.writeHead(status, [...headers, ...this.#corsHeaders(response.req)]);
    response.end(bytes);
  }
}

const MIN_HEIGHT_INVALID = invalidRequest([
  parameterError('query', MIN_HEIGHT_PARAMETER, [], 'It must be a height: an integer from 1'),
]);

function behind(height: number): Problem {
  return new Problem(503, { message: `This node has not reached height ${height} yet` });
}

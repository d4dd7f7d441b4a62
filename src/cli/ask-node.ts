/** Questions to a node's HTTP interface, and what a wrong address, no answer or a refusal amounts to. */

import { ProtocolError, messageOf } from '../primitives/errors.ts';

export interface NodeAsker {
  /** Address without `/api`. */
  readonly base: string;
  /**
   * @param path below `/api/`
   * @throws ProtocolError `NODE_UNREACHABLE` or `NODE_ANSWER_UNEXPECTED`
   */
  ask<T>(path: string): Promise<T>;
  /**
   * Hands something in.
   *
   * @throws ProtocolError `NODE_UNREACHABLE`, `NODE_REFUSED` with the reasons that the node gives, or
   *   `NODE_ANSWER_UNEXPECTED`
   */
  send<T>(method: 'POST' | 'PUT', path: string, body: unknown): Promise<T>;
}

interface Answer<T> {
  readonly data?: T;
  readonly message?: string;
  readonly errors?: readonly { readonly message?: string }[];
}

const TIMEOUT_MS = 5000;
/** Unlocking a passphrase takes a second or two of the node's time. */
const SEND_TIMEOUT_MS = 30_000;

/**
 * @param url base address, with or without `/api`
 * @param timeoutMs time that an answer to a question may take
 * @throws ProtocolError `USAGE` when it is no http(s) address
 */
export function nodeAsker(url: string, timeoutMs = TIMEOUT_MS): NodeAsker {
  const base = baseOf(url);

  async function exchange<T>(
    path: string,
    init: RequestInit,
    allowedMs: number,
  ): Promise<{ response: Response; answer?: Answer<T> }> {
    try {
      return await within(allowedMs, async (signal) => {
        const response = await fetch(`${base}/api/${path}`, { ...init, signal });
        const answer = (await response.json().catch(() => undefined)) as Answer<T> | undefined;
        return { response, ...(answer === undefined ? {} : { answer }) };
      });
    } catch (error) {
      throw new ProtocolError(
        'NODE_UNREACHABLE',
        { url: base },
        `no node answers at ${base} (${reasonOf(error)}): start one or name another with --node`,
        { cause: error },
      );
    }
  }

  function unexpected(path: string, response: Response, answer?: Answer<unknown>): ProtocolError {
    return new ProtocolError(
      'NODE_ANSWER_UNEXPECTED',
      { url: base, path, status: response.status },
      `${base}/api/${path} answered: ${answer?.message ?? `status ${response.status}`}; is it a node that lets this ` +
        'machine ask?',
    );
  }

  return {
    base,
    async ask<T>(path: string) {
      const { response, answer } = await exchange<T>(path, {}, timeoutMs);
      if (!response.ok || answer?.data === undefined) throw unexpected(path, response, answer);
      return answer.data;
    },
    async send<T>(method: 'POST' | 'PUT', path: string, body: unknown) {
      const headers = { 'content-type': 'application/json' };
      const init = { method, headers, body: JSON.stringify(body) };
      const { response, answer } = await exchange<T>(path, init, Math.max(timeoutMs, SEND_TIMEOUT_MS));
      if (response.ok && answer?.data !== undefined) return answer.data;
      const isRefusal = [400, 403, 404, 409, 422].includes(response.status) && answer?.message !== undefined;
      if (!isRefusal) throw unexpected(path, response, answer);
      const reasons = (answer.errors ?? []).map((error) => error.message ?? '').filter((reason) => reason !== '');
      const reason = reasons.length === 0 ? answer.message : reasons.join('; ');
      throw new ProtocolError(
        'NODE_REFUSED',
        { url: base, path, status: response.status },
        `${base} refused: ${reason}`,
      );
    },
  };
}

/**
 * The result of an exchange, or an error once its time is over. The signal alone is not relied on: an exchange that was under
 * way while its process was suspended has been seen to end neither way.
 */
async function within<T>(allowedMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer in ${allowedMs / 1000} s`));
      controller.abort();
    }, allowedMs);
  });
  try {
    return await Promise.race([work(controller.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

function baseOf(url: string): string {
  if (!/^https?:\/\/[^/\s]+/.test(url) || !URL.canParse(url)) {
    throw new ProtocolError(
      'USAGE',
      { url },
      `\`${url}\` is no address of a node: give one such as http://127.0.0.1:4000`,
    );
  }
  return url.replace(/\/+$/, '').replace(/\/api$/, '');
}

/** What `fetch` hides behind "fetch failed". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof AggregateError) return messageOf(cause.errors[0]);
  return messageOf(cause ?? error);
}

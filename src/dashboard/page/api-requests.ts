/** Sends requests to a node's HTTP interface. */

/** Facts that the node sends about a list, in addition to the entries of the list. */
export interface ListMeta {
  /** Number of entries on all pages of the list. */
  readonly count?: number;
  /** Cursor of the next page; null on the last page. */
  readonly next?: string | null;
}

export interface Answer<Data, Meta = ListMeta> {
  readonly meta: Meta;
  readonly data: Data;
}

/**
 * Error of a failed request: the node refused the request, sent an answer without `data` or `meta`, or sent no complete
 * answer. `status` is undefined only if no complete answer arrived.
 */
export class AskFailed extends Error {
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

const TIMEOUT_MS = 8000;

/**
 * @param path path without the prefix `/api`. With the option `http.strictDialect`, answers at paths below `/api` lack
 *   members that the dashboard uses; answers at paths without the prefix are complete
 * @param origin origin of another node; default: this node
 * @throws AskFailed
 */
export async function ask<Data, Meta = ListMeta>(path: string, origin = ''): Promise<Answer<Data, Meta>> {
  return answerTo<Data, Meta>(`${origin}/${path}`, {});
}

/**
 * Sends this node a request with a body.
 *
 * @param path as for `ask`
 * @throws AskFailed
 */
export async function sendRequest<Data>(
  method: 'PUT' | 'POST',
  path: string,
  body: unknown,
  timeoutMs = TIMEOUT_MS,
): Promise<Answer<Data>> {
  const request = { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return answerTo(`/${path}`, request, timeoutMs);
}

async function answerTo<Data, Meta>(
  url: string,
  request: RequestInit,
  timeoutMs = TIMEOUT_MS,
): Promise<Answer<Data, Meta>> {
  let response: Response;
  try {
    response = await fetch(url, { ...request, signal: AbortSignal.timeout(timeoutMs) });
  } catch {
    throw new AskFailed('The node does not answer.');
  }
  const answer = (await response.json().catch((error: unknown) => {
    if (error instanceof SyntaxError) return {};
    // The body of the answer did not arrive completely.
    throw new AskFailed('The node does not answer.');
  })) as Partial<Answer<Data, Meta>> & Refusal;
  if (!response.ok || answer.data === undefined || answer.meta === undefined)
    throw new AskFailed(reasonIn(answer) ?? `The node answered with status ${response.status}.`, response.status);
  return { meta: answer.meta, data: answer.data };
}

interface Refusal {
  readonly message?: string;
  /**
   * The entries are texts if the node denies access (status 403). In all other refusals, the entries are objects with a
   * message.
   */
  readonly errors?: readonly (string | { readonly message?: string })[];
}

/**
 * Returns the reason of a refusal. If the first entry of `errors` is an object with a message, this message is the
 * reason. Otherwise, the reason is `message` of the refusal.
 */
function reasonIn({ message, errors }: Refusal): string | undefined {
  const [first] = errors ?? [];
  return typeof first === 'object' ? (first.message ?? message) : message;
}

/** Like `ask`, but returns only `data` of the answer, or undefined if the node denies access (status 403). */
export async function askIfAllowed<Data>(path: string): Promise<Data | undefined> {
  try {
    return (await ask<Data>(path)).data;
  } catch (error) {
    if (error instanceof AskFailed && error.status === 403) return undefined;
    throw error;
  }
}

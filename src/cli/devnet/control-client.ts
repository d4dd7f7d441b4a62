/** Sends a request to the control port of a devnet's supervisor. */

import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import { notRunning, readControlFile } from './control-file.ts';
import { DEVNET_HOST } from './plan.ts';

/**
 * Time limit of an answer, in milliseconds. The time limit is long, because one request can mine thousands of blocks.
 */
const ANSWER_MS_MAX = 600_000;

/**
 * @param directory folder of the devnet
 * @returns the result of the operation
 * @throws ProtocolError `DEVNET_NOT_RUNNING` if the folder has no valid control file, or if the connection is refused
 *   or reset; `DEVNET_SILENT` if the request fails in another way, for example because no answer comes in time;
 *   `DEVNET_ANSWER_UNEXPECTED` if the answer is malformed. If the supervisor answers with an error, the ProtocolError
 *   has the code and the message of this error
 */
export async function askDevnet(directory: string, operation: string, parameters: object = {}): Promise<unknown> {
  const { port, token } = readControlFile(directory);
  let response: Response;
  try {
    response = await fetch(`http://${DEVNET_HOST}:${port}/${operation}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(parameters),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
  } catch (error) {
    if (isRefused(error)) throw notRunning(directory);
    throw new ProtocolError('DEVNET_SILENT', { directory }, `the devnet in ${directory} does not answer`, {
      cause: error,
    });
  }
  const body = await bodyOf(response);
  if (response.ok) return body;
  const { code, message } = (body ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  if (typeof code === 'string' && typeof message === 'string') throw new ProtocolError(code, {}, message);
  throw unexpected(directory, `status ${response.status}`);

  async function bodyOf(answer: Response): Promise<unknown> {
    try {
      return await answer.json();
    } catch (error) {
      throw unexpected(directory, messageOf(error));
    }
  }
}

function unexpected(directory: string, reason: string): ProtocolError {
  return new ProtocolError(
    'DEVNET_ANSWER_UNEXPECTED',
    { directory },
    `the program at the control port of ${directory} is not a devnet of this version (${reason})`,
  );
}

function isRefused(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
  return cause?.code === 'ECONNREFUSED' || cause?.code === 'ECONNRESET';
}

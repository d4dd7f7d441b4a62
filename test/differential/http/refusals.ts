/**
 * Refusals of a real node that do not depend on its chain. `refusals.test.ts` compares our node with these refusals.
 * Several requests can cause the same kind of refusal. For each kind, `Refusals` keeps the request with the shortest
 * target (path and query together). `write` writes a selection of the recorded refusals to a file.
 */

import { writeFileSync } from 'node:fs';
import type { HttpAnswer } from './answers.ts';
import type { HttpRequest } from './queries.ts';

export interface RecordedRefusal {
  readonly request: HttpRequest;
  readonly status: number;
  readonly contentType: string;
  /** Undefined if the body is not JSON. */
  readonly body?: unknown;
  /** Methods that the path supports. */
  readonly allow?: string;
}

interface Fault {
  readonly code?: string;
  readonly name?: string;
  readonly errors?: readonly { readonly code: string }[];
}

/**
 * The file contains at most this many refusals with status 400 for each method and path. This limit does not apply to
 * refusals whose list `errors` has exactly one item.
 */
const SEVERAL_MAX = 2;
/** For each of the statuses 404 and 405, the file contains at most this many refusals. */
const OTHERS_MAX = 12;

export class Refusals {
  readonly #kept = new Map<string, RecordedRefusal>();

  record(request: HttpRequest, { status, contentType, allow, body }: HttpAnswer): void {
    if (![400, 404, 405].includes(status)) return;
    const { errors, message } = (typeof body === 'object' && body !== null ? body : {}) as {
      errors?: readonly Fault[];
      message?: string;
    };
    // Do not record refusals that depend on the existence of an account.
    if (status === 404 && message !== undefined) return;
    if (errors?.some(({ code, name }) => code === 'INVALID_PARAM' && name === 'address' && errors.length === 1)) return;
    const route = (request.target.split('?')[0] ?? '').replaceAll(/[0-9]+L/g, '#');
    const kind = [status, request.method, route, ...(errors ?? []).map(kindOf)].join(' ');
    const known = this.#kept.get(kind);
    if (known !== undefined && known.request.target.length <= request.target.length) return;
    this.#kept.set(kind, {
      request,
      status,
      contentType: status === 405 ? '' : contentType,
      ...(typeof body === 'object' ? { body } : {}),
      ...(allow === '' ? {} : { allow }),
    });
  }

  write(file: string): void {
    const sorted = [...this.#kept].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, refusal]) => refusal);
    this.#writeSome(file, sorted);
  }

  /**
   * Writes all refusals with exactly one item in `errors`, and only a few others. A few refusals with several faults
   * are enough to show the order of the faults.
   */
  #writeSome(file: string, all: readonly RecordedRefusal[]): void {
    const taken = new Map<string, number>();
    const sorted = all.filter(({ request, status, body }) => {
      const { errors = [] } = (body ?? {}) as { errors?: readonly Fault[] };
      if (errors.length === 1) return true;
      const group =
        status === 400 ? `${request.method} ${request.target.split('?')[0]?.toLowerCase()}` : String(status);
      const count = (taken.get(group) ?? 0) + 1;
      taken.set(group, count);
      return count <= (status === 400 ? SEVERAL_MAX : OTHERS_MAX);
    });
    writeFileSync(file, `[\n${sorted.map((refusal) => JSON.stringify(refusal)).join(',\n')}\n]\n`);
  }
}

function kindOf({ code, name, errors }: Fault): string {
  return `${name}:${errors?.map((inner) => inner.code).join('+') ?? code}`;
}

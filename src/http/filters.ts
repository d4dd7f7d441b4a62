/**
 * Converts checked parameters to filters of queries to the store. Some valid values cannot occur in the store, for
 * example an empty key, an id beyond 64 bits, or a height beyond 32 bits. If a filter has such a value, the filters are
 * `unanswerable`, and the answer is an empty page, without a query to the store. The only exceptions are the upper
 * bounds (`toS`, `toAmount`). An upper bound above all possible values excludes nothing, so these functions replace it
 * by the largest possible value.
 */

import type { Page, PageRequest } from '../ports/queries.ts';
import { isU64Decimal } from '../primitives/bytes.ts';
import { AMOUNT_MAX } from '../primitives/amount.ts';
import type { CheckedRequest } from './route.ts';

const HEIGHT_MAX = 0xffff_ffff;
const TIMESTAMP_MAX_S = 0x7fff_ffff;
const TYPE_MAX = 0xff;

/**
 * Reads the filters from the parameters of a request, and records whether one of the filters has a value that cannot
 * match any item.
 */
export class FilterReader {
  readonly #request: CheckedRequest;
  #unanswerable = false;

  constructor(request: CheckedRequest) {
    this.#request = request;
  }

  get unanswerable(): boolean {
    return this.#unanswerable;
  }

  text(name: string): string | undefined {
    return this.#request.text(name);
  }

  /** Returns a public key in lower case, because the store has keys in lower case. */
  publicKey(name: string): string | undefined {
    return this.#ifPossible(this.#request.text(name)?.toLowerCase(), (key) => key !== '');
  }

  id(name: string): string | undefined {
    return this.#ifPossible(this.#request.text(name), isU64Decimal);
  }

  height(name: string): number | undefined {
    return this.#ifPossible(this.#request.number(name), (height) => height <= HEIGHT_MAX);
  }

  type(name: string): number | undefined {
    return this.#ifPossible(this.#request.number(name), (type) => type <= TYPE_MAX);
  }

  /** Returns the lower bound of a time, in whole seconds since the epoch of the network. */
  fromS(name: string): number | undefined {
    return this.#ifPossible(this.#request.number(name), (timeS) => timeS <= TIMESTAMP_MAX_S);
  }

  /** Returns the upper bound of a time, in whole seconds since the epoch of the network. */
  toS(name: string): number | undefined {
    const timeS = this.#request.number(name);
    return timeS === undefined ? undefined : Math.min(timeS, TIMESTAMP_MAX_S);
  }

  /** Returns the lower bound of an amount or a fee, in beddows. */
  fromAmount(name: string): bigint | undefined {
    return this.#ifPossible(this.#request.integer(name), (amount) => amount <= AMOUNT_MAX);
  }

  /** Returns the upper bound of an amount or a fee, in beddows. */
  toAmount(name: string): bigint | undefined {
    const amount = this.#request.integer(name);
    return amount !== undefined && amount > AMOUNT_MAX ? AMOUNT_MAX : amount;
  }

  #ifPossible<T>(value: T | undefined, isPossible: (value: T) => boolean): T | undefined {
    if (value === undefined || isPossible(value)) return value;
    this.#unanswerable = true;
    return undefined;
  }
}

/** Queries the store. If a filter cannot match any item, returns an empty page without asking the store. */
export function pageBy<Query extends PageRequest, Answer extends Page<unknown> | Promise<Page<unknown>>>(
  filters: FilterReader,
  query: Query,
  ask: (query: Query) => Answer,
): Answer | Page<never> {
  return filters.unanswerable ? { items: [], total: 0 } : ask(query);
}

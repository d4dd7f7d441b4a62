/**
 * The outcomes of two implementations (this node and the reference) for one input, and the kind of difference between
 * the outcomes.
 */

import { BlockRejected } from '../../src/protocol/verdict.ts';

/** Outcome of one implementation for an input. */
export type Outcome =
  | { readonly accepted: true; readonly result: unknown }
  /** @param why first reason for the refusal, in the words of the implementation */
  | { readonly accepted: false; readonly why: string };

export interface Comparison {
  readonly input: string;
  readonly ours: Outcome;
  readonly reference: Outcome;
  /**
   * Name of the difference, or undefined if there is no difference. A target is a kind of input (`target.ts`). Only
   * targets that compare the outcomes with their own code set this member.
   */
  readonly difference?: string | undefined;
}

/** Runs one implementation. An error counts as a refusal. */
export async function outcomeOf(work: () => unknown): Promise<Outcome> {
  try {
    return { accepted: true, result: await work() };
  } catch (error) {
    return { accepted: false, why: reasonOf(error) };
  }
}

/** A refusal with its reason. */
export class Refused extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'Refused';
  }
}

function reasonOf(error: unknown): string {
  if (Array.isArray(error)) return reasonOf(error[0]);
  if (error instanceof BlockRejected) return error.transactionErrors[0]?.message ?? error.message;
  const { dataPath, keyword, message } = (error ?? {}) as Record<string, unknown>;
  // Only errors of the schema validator have a keyword, and their messages lack the path of the wrong member. The
  // messages of transaction errors contain this path.
  if (keyword !== undefined) return `'${String(dataPath)}' ${String(message)}`;
  return error instanceof Error ? error.message : String((error as { message?: unknown } | null)?.message ?? error);
}

/**
 * Name of a difference. The name is the same for inputs that differ only in numbers, ids and public keys. Undefined if
 * both implementations accept the input with the same result, or if both refuse the input. If the target (the kind of
 * input) compared the outcomes with its own code, the function returns the result of that comparison.
 */
export function differenceOf(comparison: Comparison): string | undefined {
  if ('difference' in comparison) return comparison.difference;
  const { ours, reference } = comparison;
  if (ours.accepted && reference.accepted) {
    const path = firstDifference(ours.result, reference.result, '');
    return path === undefined ? undefined : `both accept, another result at ${kindOf(path)}`;
  }
  if (ours.accepted) return `accepted here, refused there: ${kindOf(reference.accepted ? '' : reference.why)}`;
  if (reference.accepted) return `refused here, accepted there: ${kindOf(ours.why)}`;
  return undefined;
}

/**
 * Name of the difference between the first reasons of two refusals. Undefined if at least one implementation accepts
 * the input, or if the target (the kind of input) compared the outcomes with its own code. Also undefined if the two
 * reasons differ only in numbers, ids and public keys.
 */
export function otherReason(comparison: Comparison): string | undefined {
  const { ours, reference } = comparison;
  if ('difference' in comparison) return undefined;
  if (ours.accepted || reference.accepted) return undefined;
  const [own, theirs] = [kindOf(ours.why), kindOf(reference.why)];
  return own === theirs ? undefined : `both refuse, here: ${own}; there: ${theirs}`;
}

const KIND_CHARACTERS_MAX = 160;

function kindOf(text: string): string {
  return text
    .replace(/[0-9a-fA-F]{8,}L?|[0-9]+L?/g, '#')
    .replace(/\s+/g, ' ')
    .slice(0, KIND_CHARACTERS_MAX);
}

function firstDifference(a: unknown, b: unknown, path: string): string | undefined {
  if (Object.is(a, b)) return undefined;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return path || '.';
  if (Array.isArray(a) !== Array.isArray(b)) return path || '.';
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  for (const name of names) {
    const [own, theirs] = [Reflect.get(a, name), Reflect.get(b, name)] as [unknown, unknown];
    const found = firstDifference(own, theirs, `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Errors that carry a code and data. Such errors refuse data from outside; a failed `assert` is a bug of our own. */

export type ErrorData = Readonly<Record<string, unknown>>;

/**
 * An error with a stable code and the data that explains it. Where a peer or client reads the error, it also has the
 * published text.
 */
export class ProtocolError extends Error {
  readonly code: string;
  readonly data: ErrorData;

  constructor(code: string, data: ErrorData = {}, message?: string, options?: ErrorOptions) {
    super(message ?? describe(code, data), options);
    this.name = 'ProtocolError';
    this.code = code;
    this.data = data;
  }
}

/** A broken invariant of our own code. No code catches it on purpose: the node stops before it writes. */
export class AssertionFailed extends Error {
  constructor(claim: string) {
    super(`assertion failed: ${claim}`);
    this.name = 'AssertionFailed';
  }
}

/** Throws when a condition is false that our own code must make true. */
export function assert(condition: unknown, claim: string): asserts condition {
  if (!condition) throw new AssertionFailed(claim);
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of a ProtocolError; undefined for any other value. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof ProtocolError ? error.code : undefined;
}

function describe(code: string, data: ErrorData): string {
  const entries = Object.entries(data);
  if (entries.length === 0) return code;
  return `${code} (${entries.map(([key, value]) => `${key}: ${String(value)}`).join(', ')})`;
}

/** Errors that carry a code and data. Foreign data is refused with them; a failed `assert` is a bug of ours. */

export type ErrorData = Readonly<Record<string, unknown>>;

/** An error with a stable code, the data that explains it and, where a peer or client reads it, the published text. */
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

/** A broken promise of our own code. Never caught on purpose: the node stops before it writes. */
export class AssertionFailed extends Error {
  constructor(claim: string) {
    super(`assertion failed: ${claim}`);
    this.name = 'AssertionFailed';
  }
}

/** States what must be true here if our own code is right. */
export function assert(condition: unknown, claim: string): asserts condition {
  if (!condition) throw new AssertionFailed(claim);
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of a ProtocolError, undefined of anything else. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof ProtocolError ? error.code : undefined;
}

function describe(code: string, data: ErrorData): string {
  const entries = Object.entries(data);
  if (entries.length === 0) return code;
  return `${code} (${entries.map(([key, value]) => `${key}: ${String(value)}`).join(', ')})`;
}

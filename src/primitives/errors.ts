/**
 * Defines errors with a code and data. A `ProtocolError` contains the reason why the program refuses data from outside,
 * or why an operation failed. A failed `assert` shows a defect of this program.
 */

export type ErrorData = Readonly<Record<string, unknown>>;

/**
 * An error with a stable code, and with data that explain the error. Without the argument `message`, the message
 * consists of the code and the data. For many faults, the caller passes the message that lisk-sdk uses, because peers
 * and clients know this message.
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

/** Returns the error for a port on which a different program already listens. */
export function portInUse(port: number, host?: string): ProtocolError {
  const text = `port ${port} is in use: stop the program that has it or choose another port`;
  return new ProtocolError('PORT_IN_USE', host === undefined ? { port } : { port, host }, text);
}

/**
 * Reports that an invariant of this program does not hold. If the error is thrown inside a transaction of the store,
 * the transaction is rolled back. The node logs the error. If no caller catches the error, the node stops.
 */
export class AssertionFailed extends Error {
  constructor(invariant: string) {
    super(`assertion failed: ${invariant}`);
    this.name = 'AssertionFailed';
  }
}

/** Throws `AssertionFailed` if the condition is false. The condition is false only if this program has a defect. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new AssertionFailed(invariant);
}

/** Returns the message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the code of a `ProtocolError`; undefined for any other value. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof ProtocolError ? error.code : undefined;
}

function describe(code: string, data: ErrorData): string {
  const entries = Object.entries(data);
  if (entries.length === 0) return code;
  return `${code} (${entries.map(([key, value]) => `${key}: ${String(value)}`).join(', ')})`;
}

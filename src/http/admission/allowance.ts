/** The decision of the rate limit about a request. */
export interface Allowance {
  /** Requests that the client may make in a window; 0 for no limit. */
  readonly max: number;
  readonly remaining: number;
  readonly isRefused: boolean;
  readonly delayMs: number;
  /** Milliseconds until the window ends; undefined without a limit. */
  readonly resetMs: number | undefined;
}

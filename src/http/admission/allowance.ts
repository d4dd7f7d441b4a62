/** What the rate limit says of a request. */
export interface Allowance {
  /** Requests that the client may make in a window; 0 for any number. */
  readonly max: number;
  readonly remaining: number;
  readonly isRefused: boolean;
  readonly delayMs: number;
  /** Until the window ends; undefined without a limit. */
  readonly resetMs: number | undefined;
}

/**
 * The decision of the rate limit about an HTTP request. The rate limit counts the requests of a client in windows of
 * time.
 */
export interface Allowance {
  /** Number of requests that the client is allowed to make in a window; 0 for no limit. */
  readonly max: number;
  /**
   * Number of further requests that the client is allowed to make in the current window. The value is also 0 if the
   * client has no limit.
   */
  readonly remaining: number;
  readonly isRefused: boolean;
  /** Time in milliseconds for which the node delays the request. */
  readonly delayMs: number;
  /** Milliseconds until the window ends; undefined if the request was not counted. */
  readonly resetMs: number | undefined;
}

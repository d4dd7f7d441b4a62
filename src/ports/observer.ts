/**
 * Defines the observer, which receives the log lines and the metrics of a module. Each log line has a stable code, for
 * which users can search.
 */

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';
export type LogFields = Readonly<Record<string, unknown>>;

export interface Observer {
  /** Returns an observer for the log lines and the metrics of the module `name`. */
  module(name: string): Observer;
  /**
   * @param code a stable code in upper-case letters that identifies the kind of the log line, for example
   *   `BLOCK_APPLIED`
   * @param message a short text that is the same in all log lines with this code. Variable data belongs in `fields`.
   *   `fields` must never contain private keys or passphrases
   */
  log(level: LogLevel, code: string, message: string, fields?: LogFields): void;
  /**
   * Adds `by` to a counter; `by` is 1 by default. If the counted values have a unit, the name of the metric contains
   * the unit.
   */
  count(metric: string, by?: number, labels?: Readonly<Record<string, string>>): void;
  /** Sets the gauge `metric` to `value`. */
  gauge(metric: string, value: number, labels?: Readonly<Record<string, string>>): void;
  /** Adds the observed `value` to the histogram `metric`. */
  observe(metric: string, value: number, labels?: Readonly<Record<string, string>>): void;
}

/** An observer that does nothing, for code whose log lines and metrics nobody needs, for example tests and tools. */
export const SILENT: Observer = {
  module: () => SILENT,
  log: () => undefined,
  count: () => undefined,
  gauge: () => undefined,
  observe: () => undefined,
};

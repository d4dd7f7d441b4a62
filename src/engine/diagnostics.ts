/**
 * Stores the latest diagnostics of the node, for queries. A diagnostic explains an event to the operator: what
 * happened, and why. Such events are, for example, a refused block, a dropped peer, a reorg, a missed slot of the
 * node's delegates, or an accepted transaction that the node dropped. Each module (`Observer.module`) logs its refusals
 * and faults. This class takes the diagnostics from the log, so a module does not have to report the same event to this
 * class.
 */

import type { Clock } from '../ports/clock.ts';
import type { Diagnostic } from '../ports/node-api.ts';
import type { LogFields, LogLevel, Observer } from '../ports/observer.ts';

/**
 * Maximum number of stored diagnostics of one module. Each module has a separate limit, so a thousand diagnostics about
 * peers do not displace the reason for a missed slot. If a module has more diagnostics, the class removes the module's
 * oldest diagnostic with the most frequent code. The reason is that peers can cause any number of diagnostics with some
 * codes.
 */
export const ENTRIES_PER_MODULE_MAX = 200;
/**
 * Maximum number of characters in a text field of a diagnostic. The length is limited because a reason can quote long
 * text that a peer sent.
 */
const TEXT_CHARACTERS_MAX = 300;

/** For each module with diagnostics, a function that decides which log lines of the module are diagnostics. */
const RELEVANT: Readonly<Record<string, (level: LogLevel, code: string) => boolean>> = {
  chain: (level, code) => level !== 'debug' && code !== 'BLOCK_APPLIED',
  sync: (level, code) => level !== 'debug' && code !== 'SYNC_PROGRESS',
  peers: (level, code) => level === 'warn' || level === 'error' || PEER_CODES.has(code),
  forge: (level, code) => level === 'warn' || level === 'error' || code === 'CLOCK_REACHED_TIP',
  pool: (level, code) => level === 'warn' || level === 'error' || code === 'TRANSACTION_JOURNAL_RECOVERED',
  notify: () => true,
};
/** Number of modules with diagnostics. */
export const DIAGNOSED_MODULES = Object.keys(RELEVANT).length;
const PEER_CODES: ReadonlySet<string> = new Set(['PEER_PENALISED', 'PEER_DISCONNECTED', 'PEER_CLOCK_OFF']);

export class Diagnostics {
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** The diagnostics of each module, oldest first. */
  readonly #byModule = new Map<string, Diagnostic[]>();
  readonly #listeners: ((diagnostic: Diagnostic) => void)[] = [];
  #count = 0;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /**
   * Returns an observer that passes all calls on to `observer`. If a log line is a diagnostic (`RELEVANT`), the
   * returned observer also stores the line in this object.
   */
  listenIn(observer: Observer): Observer {
    return this.#listenIn(observer, undefined);
  }

  /**
   * Calls the listener with each new diagnostic. A listener must not throw, and must not write to the log. A log line
   * of the listener could be a new diagnostic, and this diagnostic would call the listener again.
   */
  listen(listener: (diagnostic: Diagnostic) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Returns the latest diagnostics, newest first.
   *
   * @param limit maximum number of diagnostics; at least 1
   */
  latest(limit: number): readonly Diagnostic[] {
    return [...this.#byModule.values()]
      .flat()
      .sort((a, b) => b.number - a.number)
      .slice(0, limit);
  }

  #listenIn(observer: Observer, module: string | undefined): Observer {
    return {
      module: (name) => this.#listenIn(observer.module(name), name),
      log: (level, code, message, fields) => {
        if (module !== undefined && RELEVANT[module]?.(level, code) === true) {
          this.#keep(module, code, message, fields);
          observer.count('diagnostics_total', 1, { code });
        }
        if (module === 'forge' && code === 'BLOCK_FORGED') this.#retract(fields?.['slot']);
        observer.log(level, code, message, fields);
      },
      count: (metric, by, labels) => observer.count(metric, by, labels),
      gauge: (metric, value, labels) => observer.gauge(metric, value, labels),
      observe: (metric, value, labels) => observer.observe(metric, value, labels),
    };
  }

  /**
   * Called when a delegate of this node has forged in a slot. Removes the diagnostics of the module `forge` about this
   * slot. The events in these diagnostics only delayed the block, so they need no explanation.
   */
  #retract(slot: unknown): void {
    const entries = this.#byModule.get('forge') ?? [];
    if (typeof slot !== 'number') return;
    this.#byModule.set(
      'forge',
      entries.filter(({ fields }) => fields['slot'] !== slot),
    );
  }

  #keep(module: string, code: string, message: string, fields: LogFields = {}): void {
    const entries = this.#byModule.get(module) ?? [];
    this.#byModule.set(module, entries);
    this.#count += 1;
    const timeMs = this.#clock.nowMs();
    const diagnostic = { number: this.#count, timeMs, module, code, message, fields: plainFields(fields) };
    entries.push(diagnostic);
    if (entries.length > ENTRIES_PER_MODULE_MAX) entries.splice(oldestOfMostFrequent(entries), 1);
    for (const listener of this.#listeners) listener(diagnostic);
  }
}

/** Returns the index of the oldest diagnostic with the most frequent code. */
function oldestOfMostFrequent(entries: readonly Diagnostic[]): number {
  const counts = new Map<string, number>();
  for (const { code } of entries) counts.set(code, (counts.get(code) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return entries.findIndex(({ code }) => counts.get(code) === most);
}

/**
 * Turns log fields into numbers, booleans and short texts, so that a diagnostic stays small. Omits undefined fields.
 */
export function plainFields(fields: LogFields): Diagnostic['fields'] {
  const entries = Object.entries(fields).flatMap(([name, value]): [string, string | number | boolean][] => {
    if (typeof value === 'number' || typeof value === 'boolean') return [[name, value]];
    return value === undefined ? [] : [[name, String(value).slice(0, TEXT_CHARACTERS_MAX)]];
  });
  return Object.fromEntries(entries);
}

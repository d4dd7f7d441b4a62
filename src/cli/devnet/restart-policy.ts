/**
 * Decides whether and when the supervisor (the process of `bloomery devnet`) starts an ended node again. If the node
 * ends again and again, the delay before each restart grows, and the supervisor finally gives up.
 */

import { EXIT } from '../error-lines.ts';
import type { ProcessEnd } from './node-process.ts';

export const RESTART_MODES = ['always', 'never'] as const;
export type RestartMode = (typeof RESTART_MODES)[number];

export type RestartDecision =
  | { readonly kind: 'restart'; readonly delayMs: number }
  /** `reason` is the end of a sentence that begins with "not started again:". */
  | { readonly kind: 'giveUp'; readonly reason: string };

/**
 * Delay before the first restart of a node, in milliseconds. If the node ends again before it counts as stable
 * (`STABLE_MS`), the delay before the next restart is twice as long.
 */
export const RESTART_DELAY_MS = 1000;
/**
 * Running time in milliseconds after which a node counts as stable. If a stable node ends, the count of ends in a row
 * begins again at 1.
 */
export const STABLE_MS = 60_000;
/**
 * Number of ends in a row after which the supervisor does not restart a node. The first of these ends can be the end of
 * a stable node. Before each further end, the node ran for less than `STABLE_MS`.
 */
export const ENDS_IN_A_ROW_MAX = 5;

export class RestartPolicy {
  readonly #mode: RestartMode;
  #endsInARow = 0;

  constructor(mode: RestartMode) {
    this.#mode = mode;
  }

  /**
   * Counts the end of a node, and decides whether and when the supervisor starts the node again.
   *
   * @param ranMs running time of the node until its end, in milliseconds
   */
  ended({ exitCode }: Pick<ProcessEnd, 'exitCode'>, ranMs: number): RestartDecision {
    if (this.#mode === 'never') return { kind: 'giveUp', reason: 'restarts are disabled' };
    // The exit code `EXIT.usage` means that the node refused its flags, configuration or network folder. A restart
    // would change none of these.
    if (exitCode === EXIT.usage) return { kind: 'giveUp', reason: 'its configuration is refused' };
    this.#endsInARow = ranMs >= STABLE_MS ? 1 : this.#endsInARow + 1;
    if (this.#endsInARow >= ENDS_IN_A_ROW_MAX) {
      const reason = `it ended ${ENDS_IN_A_ROW_MAX} times in a row, and never ran for ${STABLE_MS / 1000} s in between`;
      return { kind: 'giveUp', reason };
    }
    return { kind: 'restart', delayMs: RESTART_DELAY_MS * 2 ** (this.#endsInARow - 1) };
  }
}

/** Finds peers that connected or disconnected since the last look, up to a maximum in each look. */

import type { PeerEntry } from '../../ports/node-api.ts';

/** Changes that one look reports; when more peers come and go, later looks report the rest. */
export const CHANGES_PER_LOOK_MAX = 100;

export class PeerChanges {
  /** Connected peers, as they were last reported. */
  readonly #told = new Map<string, PeerEntry>();

  /** Takes the present state as reported. */
  begin(entries: readonly PeerEntry[]): void {
    this.#told.clear();
    for (const [key, entry] of connectedOf(entries)) this.#told.set(key, entry);
  }

  /**
   * @returns the changes; further changes are returned by the next look
   */
  look(entries: readonly PeerEntry[]): readonly PeerEntry[] {
    const now = connectedOf(entries);
    const changes: PeerEntry[] = [];
    for (const [key, entry] of now) {
      if (changes.length >= CHANGES_PER_LOOK_MAX) return changes;
      if (this.#told.has(key)) continue;
      this.#told.set(key, entry);
      changes.push(entry);
    }
    for (const [key, entry] of this.#told) {
      if (changes.length >= CHANGES_PER_LOOK_MAX) return changes;
      if (now.has(key)) continue;
      this.#told.delete(key);
      changes.push({ ...entry, state: 'disconnected' });
    }
    return changes;
  }
}

function connectedOf(entries: readonly PeerEntry[]): ReadonlyMap<string, PeerEntry> {
  const connected = entries.filter(({ state }) => state === 'connected');
  return new Map(connected.map((entry) => [`${entry.info.ip}:${entry.info.wsPort}`, entry]));
}

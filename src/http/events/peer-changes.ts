/** Finds peers that connected or disconnected since the last check, up to a maximum for each check. */

import type { PeerEntry } from '../../ports/node-api.ts';

/** Maximum number of changes that one check reports. When more peers change, later checks report the rest. */
export const CHANGES_PER_LOOK_MAX = 100;

export class PeerChanges {
  /** Peers that are connected according to the initial state and the changes that were reported since then. */
  readonly #reported = new Map<string, PeerEntry>();

  /** Begins with the present state, which later checks do not report as a change. */
  begin(entries: readonly PeerEntry[]): void {
    this.#reported.clear();
    for (const [key, entry] of connectedOf(entries)) this.#reported.set(key, entry);
  }

  /** @returns the changes; the next check returns changes beyond the maximum */
  look(entries: readonly PeerEntry[]): readonly PeerEntry[] {
    const now = connectedOf(entries);
    const changes: PeerEntry[] = [];
    for (const [key, entry] of now) {
      if (changes.length >= CHANGES_PER_LOOK_MAX) return changes;
      if (this.#reported.has(key)) continue;
      this.#reported.set(key, entry);
      changes.push(entry);
    }
    for (const [key, entry] of this.#reported) {
      if (changes.length >= CHANGES_PER_LOOK_MAX) return changes;
      if (now.has(key)) continue;
      this.#reported.delete(key);
      changes.push({ ...entry, state: 'disconnected' });
    }
    return changes;
  }
}

function connectedOf(entries: readonly PeerEntry[]): ReadonlyMap<string, PeerEntry> {
  const connected = entries.filter(({ state }) => state === 'connected');
  return new Map(connected.map((entry) => [`${entry.info.ip}:${entry.info.wsPort}`, entry]));
}

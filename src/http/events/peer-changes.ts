/**
 * Finds peers that have connected or disconnected since the last check, up to `CHANGES_PER_LOOK_MAX` for each check.
 */

import type { PeerEntry } from '../../ports/node-api.ts';

/**
 * Maximum number of changes that one check reports. If there are more changes, later checks report the rest.
 */
export const CHANGES_PER_LOOK_MAX = 100;

export class PeerChanges {
  /**
   * The connected peers, by address and port. The first check fills the map, and each reported change updates the map.
   * Undefined before the first check.
   */
  #reported: Map<string, PeerEntry> | undefined;

  /**
   * Forgets the reported peers. The next call of `look` therefore stores which peers are connected, and returns no
   * changes.
   */
  forget(): void {
    this.#reported = undefined;
  }

  /**
   * @returns at most `CHANGES_PER_LOOK_MAX` changes; later checks return the rest. The first check returns no changes.
   */
  look(entries: readonly PeerEntry[]): readonly PeerEntry[] {
    const now = connectedOf(entries);
    if (this.#reported === undefined) {
      this.#reported = new Map(now);
      return [];
    }
    const reported = this.#reported;
    const changes: PeerEntry[] = [];
    for (const [key, entry] of now) {
      if (changes.length >= CHANGES_PER_LOOK_MAX) return changes;
      if (reported.has(key)) continue;
      reported.set(key, entry);
      changes.push(entry);
    }
    for (const [key, entry] of reported) {
      if (changes.length >= CHANGES_PER_LOOK_MAX) return changes;
      if (now.has(key)) continue;
      reported.delete(key);
      changes.push({ ...entry, state: 'disconnected' });
    }
    return changes;
  }
}

function connectedOf(entries: readonly PeerEntry[]): ReadonlyMap<string, PeerEntry> {
  const connected = entries.filter(({ state }) => state === 'connected');
  return new Map(connected.map((entry) => [`${entry.info.ip}:${entry.info.wsPort}`, entry]));
}

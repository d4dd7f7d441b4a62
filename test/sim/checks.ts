/** What must be true of a world after every event. A broken promise throws `PromiseBroken` with what was seen. */

import { ACTIVE_DELEGATES } from '../../src/protocol/params.ts';
import type { SimNode, World } from './world.ts';

export class PromiseBroken extends Error {
  constructor(promise: string, seen: Readonly<Record<string, unknown>>) {
    super(`${promise}: ${JSON.stringify(seen)}`);
    this.name = 'PromiseBroken';
  }
}

/** Watches a world. Looks closely only at nodes whose tip or finality moved since the last look. */
export class Watch {
  readonly #world: World;
  readonly #seenTip = new Map<number, string>();
  readonly #seenFinalized = new Map<number, number>();
  /** Block finalized at a height, by whom first. */
  readonly #finalizedIds = new Map<number, { readonly id: string; readonly node: number }>();
  /** State digest of a tip, by whom first. */
  readonly #digests = new Map<string, { readonly digest: string; readonly node: number }>();
  readonly #journalLengths = new Map<string, number>();
  /** Looks at digests only for every so many blocks: hashing all state is the dearest check. */
  readonly #digestEvery: number;

  constructor(world: World, options: { readonly digestEvery?: number } = {}) {
    this.#world = world;
    this.#digestEvery = options.digestEvery ?? 1;
  }

  /** To be called after every event. */
  look(): void {
    for (const node of this.#world.nodes) {
      if (!node.isRunning || !node.isHonest) continue;
      const { id, height } = node.tip;
      if (this.#seenTip.get(node.index) === id) continue;
      this.#seenTip.set(node.index, id);
      this.#checkFinality(node);
      if (height % this.#digestEvery === 0) this.#checkState(node);
      this.#checkJournal(node);
    }
  }

  /** No two honest nodes finalize different blocks at one height, and finality never goes back. */
  #checkFinality(node: SimNode): void {
    const finalized = this.#world.rules.finalizedHeight(node.store);
    const before = this.#seenFinalized.get(node.index) ?? 0;
    if (finalized < before) {
      throw new PromiseBroken('finalized height never goes back', { node: node.index, before, finalized });
    }
    this.#seenFinalized.set(node.index, finalized);
    for (let height = Math.max(1, before); height <= finalized; height += 1) {
      const id = node.store.header(height)?.id ?? 'none';
      const known = this.#finalizedIds.get(height);
      if (known === undefined) this.#finalizedIds.set(height, { id, node: node.index });
      else if (known.id !== id) {
        throw new PromiseBroken('a finalized block is the same everywhere', { height, known, node: node.index, id });
      }
    }
  }

  /** Equal tips mean equal digests; balances sum up to genesis plus rewards paid. */
  #checkState(node: SimNode): void {
    const { id, height } = node.tip;
    const digest = node.store.stateDigest();
    const known = this.#digests.get(id);
    if (known === undefined) this.#digests.set(id, { digest, node: node.index });
    else if (known.digest !== digest) {
      throw new PromiseBroken('equal tips mean equal states', { height, id, known, node: node.index, digest });
    }
  }

  /** No honest delegate signs contradicting headers. */
  #checkJournal(node: SimNode): void {
    for (const [publicKey, headers] of node.journal.entries) {
      const key = `${node.index}/${publicKey}`;
      const looked = this.#journalLengths.get(key) ?? 0;
      for (let at = Math.max(1, looked); at < headers.length; at += 1) {
        const header = headers[at]!;
        for (const earlier of headers.slice(0, at)) {
          const reason = this.#world.rules.contradiction(earlier, header);
          if (reason !== undefined) {
            throw new PromiseBroken('no honest delegate contradicts itself', { publicKey, earlier, header, reason });
          }
        }
      }
      this.#journalLengths.set(key, headers.length);
    }
  }
}

/**
 * Balances sum up to what finished rounds have paid in rewards, less the fees of the running round, which nobody has yet.
 * Reads every account and header: for quiet moments.
 */
export function checkSupply(node: SimNode): void {
  const { height } = node.tip;
  const paidHeight = height - (height % ACTIVE_DELEGATES);
  let expected = 0n;
  for (let at = 2; at <= height; at += 1) {
    const header = node.store.header(at);
    if (header === undefined) throw new PromiseBroken('the chain has no gaps', { node: node.index, height: at });
    expected += at <= paidHeight ? header.reward : -header.totalFee;
  }
  const total = node.balancesTotal();
  if (total !== expected) {
    throw new PromiseBroken('supply is genesis plus rewards', {
      node: node.index,
      height,
      total: String(total),
      expected: String(expected),
    });
  }
}

/** True when all running honest nodes hold the same block at their highest common height and are within a block. */
export function haveMet(world: World, slack = 1): boolean {
  const running = world.nodes.filter((node) => node.isRunning && node.isHonest);
  const lowest = Math.min(...running.map((node) => node.tip.height));
  const highest = Math.max(...running.map((node) => node.tip.height));
  if (highest - lowest > slack) return false;
  return new Set(running.map((node) => node.store.header(lowest)?.id)).size === 1;
}

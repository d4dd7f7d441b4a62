/**
 * Checks after every event of a simulated world whether the nodes keep their guarantees. If a guarantee is violated,
 * the check throws `PromiseBroken` with the observed values.
 */

import { createHash } from 'node:crypto';

import { isLastOfRound } from '../../src/protocol/rounds.ts';
import { type TableName, TABLES } from '../../src/store/tables/layout.ts';
import type { SimNode } from './node.ts';
import type { World } from './world.ts';

export class PromiseBroken extends Error {
  constructor(promise: string, seen: Readonly<Record<string, unknown>>) {
    super(
      `${promise}: ${JSON.stringify(seen, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))}`,
    );
    this.name = 'PromiseBroken';
  }
}

/**
 * `checkWeights` reads every account that votes for delegates, which takes long. It therefore runs only for tips whose
 * height is a multiple of this number.
 */
const WEIGH_EVERY_BLOCKS = 10;

/**
 * Sums over a chain up to a block. `paid` is the sum of the rewards of all complete rounds. `openRewards` and
 * `openFees` are the rewards and fees of the current round, which belong to no account yet.
 */
interface Owed {
  readonly paid: bigint;
  readonly openRewards: bigint;
  readonly openFees: bigint;
}

/**
 * Checks the nodes of a world after every event. It checks a node only if the tip or the number of signed headers of
 * the node has changed since the last check.
 */
export class Watch {
  readonly #world: World;
  /**
   * For each node, the id of its tip at the last check. `#finalized` contains for each node its finalized height at the
   * last check, and `#signed` contains the number of headers that the node had signed.
   */
  readonly #tips = new Map<number, string>();
  readonly #finalized = new Map<number, number>();
  readonly #signed = new Map<number, number>();
  /** For each height, the id of the finalized block, and the node for which this block was final first. */
  readonly #finalizedIds = new Map<number, { readonly id: string; readonly node: number }>();
  /** For each tip, the digest of the state, and the node that had this tip first. */
  readonly #digests = new Map<string, { readonly digest: bigint; readonly node: number }>();
  readonly #owed = new Map<string, Owed>();
  /** Ids of the tips for which `checkWeights` has run. */
  readonly #weighed = new Set<string>();

  constructor(world: World) {
    this.#world = world;
    const { genesis } = world.network;
    this.#owed.set(genesis.id, { paid: 0n, openRewards: 0n, openFees: 0n });
  }

  /** The simulator calls this method after every event. */
  look(): void {
    const { error } = this.#world;
    if (error !== undefined) throw new PromiseBroken('no fault of others makes a node fail', { ...error });
    const { wronged } = this.#world;
    if (wronged !== undefined) throw new PromiseBroken('no honest node is charged with an offence', { ...wronged });
    for (const node of this.#world.nodes) {
      if (!node.isHonest || !node.isRunning) continue;
      const { id } = node.tip;
      if (this.#tips.get(node.index) !== id) {
        this.#tips.set(node.index, id);
        this.#checkFinality(node);
        this.#checkState(node);
      }
      if (node.journal.signed.length !== this.#signed.get(node.index)) this.#checkJournal(node);
    }
  }

  /**
   * Checks two guarantees. The finalized height of a node never decreases. At each height, the same block is final for
   * all honest nodes.
   */
  #checkFinality(node: SimNode): void {
    const finalized = node.engine.chain.finalizedHeight;
    const before = this.#finalized.get(node.index) ?? 0;
    if (finalized < before) {
      throw new PromiseBroken('finalized height never goes back', { node: node.index, before, finalized });
    }
    this.#finalized.set(node.index, finalized);
    for (let height = Math.max(1, before); height <= finalized; height += 1) {
      const id = node.store.header(height)?.id ?? 'none';
      const known = this.#finalizedIds.get(height);
      if (known === undefined) this.#finalizedIds.set(height, { id, node: node.index });
      else if (known.id !== id) {
        throw new PromiseBroken('a finalized block is the same everywhere', { height, known, node: node.index, id });
      }
    }
  }

  /**
   * Checks that nodes with the same tip have the same state. Also checks that the sum of all balances agrees with the
   * rewards and fees in the blocks of the chain.
   */
  #checkState(node: SimNode): void {
    const { id, height } = node.tip;
    const { digest, supply } = node.disk;
    const known = this.#digests.get(id);
    if (known === undefined) this.#digests.set(id, { digest, node: node.index });
    else if (known.digest !== digest) {
      throw new PromiseBroken('equal tips mean equal states', { height, id, known, node: node.index, digest });
    }
    const { paid, openFees } = this.#owedAt(node, height);
    if (supply !== paid - openFees) {
      throw new PromiseBroken('supply is genesis plus rewards', { node: node.index, height, supply, paid, openFees });
    }
    if (height % WEIGH_EVERY_BLOCKS === 0 && !this.#weighed.has(id)) {
      this.#weighed.add(id);
      // In generation 2, the vote weights change only at the end of a round, so they may differ from the balances
      // within a round.
      if (this.#world.params.generation === 3) checkWeights(node);
    }
  }

  #owedAt(node: SimNode, tipHeight: number): Owed {
    let height = tipHeight;
    const headerAt = (at: number) => {
      const header = node.store.header(at);
      if (header === undefined) throw new PromiseBroken('the chain has no gaps', { node: node.index, height: at });
      return header;
    };
    let owed = this.#owed.get(headerAt(height).id);
    while (owed === undefined) {
      height -= 1;
      owed = this.#owed.get(headerAt(height).id);
    }
    for (height += 1; height <= tipHeight; height += 1) {
      const { id, reward, totalFee, previousBlockId } = headerAt(height);
      if (previousBlockId !== headerAt(height - 1).id) {
        throw new PromiseBroken('every block follows its parent', { node: node.index, height });
      }
      const openRewards: bigint = owed.openRewards + reward;
      owed = isLastOfRound(height, this.#world.params)
        ? { paid: owed.paid + openRewards, openRewards: 0n, openFees: 0n }
        : { paid: owed.paid, openRewards, openFees: owed.openFees + totalFee };
      this.#owed.set(id, owed);
    }
    return owed;
  }

  /** Checks that no honest node signs two headers of the same delegate that contradict each other. */
  #checkJournal(node: SimNode): void {
    const { signed } = node.journal;
    for (let at = this.#signed.get(node.index) ?? 0; at < signed.length; at += 1) {
      const { publicKey, header } = signed[at]!;
      for (let other = 0; other < at; other += 1) {
        const earlier = signed[other]!;
        if (earlier.publicKey !== publicKey) continue;
        const reason = this.#world.rules.contradiction(earlier.header, header);
        if (reason !== undefined) {
          const seen = { node: node.index, publicKey, earlier: earlier.header, header, reason };
          throw new PromiseBroken('no honest delegate contradicts itself', seen);
        }
      }
    }
    this.#signed.set(node.index, signed.length);
  }
}

/**
 * Compares all headers that the same delegate has signed, on one node or on different nodes. `Watch` compares only
 * those of the same node. Returns the reason of each contradiction between two of them.
 */
export function contradictions(world: World): readonly string[] {
  const all = world.nodes.flatMap(({ journal }) => journal.signed);
  return all.flatMap((one, index) =>
    all
      .slice(index + 1)
      .filter(({ publicKey }) => publicKey === one.publicKey)
      .flatMap(({ header }) => world.rules.contradiction(one.header, header) ?? []),
  );
}

/** Checks that the weight of each delegate is the sum of the balances of its voters. */
function checkWeights(node: SimNode): void {
  const weights = new Map<string, bigint>();
  for (const { key } of node.store.tables.entries(TABLES.votes.all)) {
    const account = node.store.account(key.toString('utf8', 1));
    for (const publicKey of account?.votes ?? []) {
      weights.set(publicKey, (weights.get(publicKey) ?? 0n) + account!.balance);
    }
  }
  for (const { publicKey, voteWeight } of node.store.delegates()) {
    const owned = weights.get(publicKey) ?? 0n;
    if (voteWeight !== owned) {
      const seen = { node: node.index, height: node.tip.height, publicKey, voteWeight, owned };
      throw new PromiseBroken('a delegate weighs what its voters own', seen);
    }
  }
}

/**
 * Tables whose content depends only on the chain. Nodes with the same chain must have equal entries in these tables,
 * even if the nodes have reverted different blocks before.
 */
const CHAIN_TABLES = (Object.keys(TABLES) as TableName[]).filter((name) => TABLES[name].role !== 'local');

/**
 * Checks that nodes with the same tip have equal blocks, states and indexes. The check reads all tables, which takes
 * long, so a simulation should call it rarely.
 */
export function checkTables(nodes: readonly SimNode[]): void {
  const known = new Map<string, { readonly digest: string; readonly node: number }>();
  for (const node of nodes) {
    for (const table of CHAIN_TABLES) {
      const hash = createHash('sha256');
      for (const { key, value } of node.store.tables.entries(TABLES[table].all)) {
        hash.update(`${key.length} ${value.length} `).update(key).update(value);
      }
      const name = `${table} ${node.tip.id}`;
      const [digest, other] = [hash.digest('hex'), known.get(name)];
      if (other === undefined) known.set(name, { digest, node: node.index });
      else if (other.digest !== digest) {
        throw new PromiseBroken('equal tips mean equal tables', { table, node: node.index, other: other.node });
      }
    }
  }
}

/**
 * Returns the number of blocks by which the highest tip of the nodes is above the last block that all nodes have in
 * common.
 */
export function disagreement(nodes: readonly SimNode[]): number {
  const heights = nodes.map((node) => node.tip.height);
  let common = Math.min(...heights);
  while (new Set(nodes.map((node) => node.store.header(common)?.id)).size > 1) common -= 1;
  return Math.max(...heights) - common;
}

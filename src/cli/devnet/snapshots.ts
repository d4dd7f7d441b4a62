/**
 * Makes and restores snapshots of a whole devnet. For each node, a snapshot contains the chain, the signing journal
 * (the headers that the node's delegates have signed) and the transaction journal (the transactions and signatures that
 * the node has accepted from clients). A snapshot also contains the pools of the running nodes, the setting of the
 * chain clock, and the mining mode.
 */

import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clockSettingOf } from '../../node/movable-clock.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { makeFolder } from '../../store/disk/folder.ts';
import { usageError } from '../error-lines.ts';
import type { AgentState } from './messages.ts';
import { MINING_MODES } from './mining.ts';
import { copyState, restoreState, readPool } from './node-state.ts';
import type { SupervisedNode } from './supervised-node.ts';
import type { TimeState } from './devnet-clock.ts';
import type { Timekeeper } from './timekeeper.ts';

export interface SnapshotParts {
  /** Folder of the devnet. */
  readonly directory: string;
  readonly networkName: string;
  /**
   * True if the devnet is a fork of another chain. In a forked devnet, a node cannot download the chain block by block
   * from other nodes. For a node that is not in a snapshot, `revert` therefore copies the chain of another node.
   */
  readonly isFork: boolean;
  readonly timekeeper: Timekeeper;
  readonly nodes: () => readonly SupervisedNode[];
}

/** Facts that users see about a snapshot. */
export interface SnapshotFacts {
  readonly name: string;
  /** Greatest height among the running nodes when the snapshot was made. */
  readonly height: number;
  readonly blockId: string;
  /** Digest of the state after the block `blockId`. */
  readonly digest: string;
  /** Time of the chain clock when the snapshot was made, ISO 8601. */
  readonly time: string;
}

interface SnapshotRecord extends SnapshotFacts, TimeState {
  /** Numbers of the nodes in the snapshot. */
  readonly nodes: readonly number[];
}

const SNAPSHOTS_FOLDER = 'snapshots';
/**
 * Access rights of the folder of a snapshot. Other users must not read the chains, signed headers and transactions in
 * this folder, even if they can read the folder of the devnet.
 */
const OWNER_ALONE = 0o700;
const RECORD_FILE = 'snapshot.json';
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
/**
 * Maximum number of snapshots. A limit is necessary, because each snapshot can take as much space as the chains of all
 * nodes.
 */
const SNAPSHOTS_MAX = 100;

export class Snapshots {
  readonly #parts: SnapshotParts;

  constructor(parts: SnapshotParts) {
    this.#parts = parts;
  }

  /** Returns the snapshots whose file `snapshot.json` can be read, oldest first by the time of the chain clock. */
  list(): readonly SnapshotFacts[] {
    const folder = join(this.#parts.directory, SNAPSHOTS_FOLDER);
    const names = existsSync(folder) ? readdirSync(folder).filter((name) => NAME.test(name)) : [];
    return names
      .flatMap((name) => this.#read(name) ?? [])
      .sort((a, b) => a.time.localeCompare(b.time) || a.name.localeCompare(b.name))
      .map(factsOf);
  }

  /**
   * Saves the state of the devnet in a snapshot with the given name, and replaces an earlier snapshot with the same
   * name.
   *
   * @throws ProtocolError `USAGE` for an invalid name; `SNAPSHOTS_FULL` for a new name when there are `SNAPSHOTS_MAX`
   *   snapshots; `DEVNET_NODE_PAUSED` in the same cases as `#stoppedNodes`; errors of `Timekeeper.whileFrozen` and of
   *   the nodes
   */
  create(name: string): Promise<SnapshotFacts> {
    checkSnapshotName(name);
    const { timekeeper, directory } = this.#parts;
    if (this.#read(name) === undefined && this.list().length >= SNAPSHOTS_MAX) {
      const message = `there are ${SNAPSHOTS_MAX} snapshots: give one of their names, or remove some from ${directory}/snapshots`;
      throw new ProtocolError('SNAPSHOTS_FULL', {}, message);
    }
    const time: TimeState = { setting: timekeeper.setting, mode: timekeeper.mode };
    return timekeeper.whileFrozen(async () => {
      const nodes = this.#stoppedNodes();
      const draft = this.#folderOf(`.draft-${name}`);
      rmSync(draft, { recursive: true, force: true });
      makeFolder(draft);
      chmodSync(draft, OWNER_ALONE);
      const states = await Promise.all(
        nodes.map(async (node): Promise<AgentState | undefined> => {
          const target = join(draft, nameOf(node));
          if (node.process?.link === undefined) {
            copyState(this.#dataOf(node), target);
            return undefined;
          }
          return node.process.link.ask({ op: 'snapshot', directory: target });
        }),
      );
      const [best] = states.flatMap((state) => state ?? []).sort((a, b) => b.tip.height - a.tip.height);
      const record: SnapshotRecord = {
        name,
        height: best?.tip.height ?? 0,
        blockId: best?.tip.id ?? '',
        digest: best?.digest ?? '',
        time: new Date(timekeeper.nowMs()).toISOString(),
        ...time,
        nodes: nodes.map(({ node }) => node.index),
      };
      writeFileSync(join(draft, RECORD_FILE), `${JSON.stringify(record)}\n`);
      const folder = this.#folderOf(name);
      rmSync(folder, { recursive: true, force: true });
      renameSync(draft, folder);
      return { result: factsOf(record) };
    });
  }

  /**
   * Restores a snapshot on all nodes. If the snapshot does not contain a node, this node begins with the genesis block,
   * and downloads the blocks from the other nodes. In a forked devnet, the node instead begins with a copy of another
   * node's chain from the snapshot.
   *
   * @throws ProtocolError `USAGE` for an invalid name; `SNAPSHOT_UNKNOWN` if there is no snapshot with this name;
   *   `DEVNET_NODE_PAUSED` in the same cases as `#stoppedNodes`; `SNAPSHOT_DIFFERS` when no running node has the state
   *   of the snapshot, or when a node has the tip of the snapshot but a different state; errors of
   *   `Timekeeper.whileFrozen` and of the nodes
   */
  revert(name: string): Promise<SnapshotFacts> {
    checkSnapshotName(name);
    const record = this.#read(name);
    if (record === undefined) {
      const known = this.list().map((each) => each.name);
      throw unknownSnapshot(name, known);
    }
    return this.#parts.timekeeper.whileFrozen(async () => {
      const nodes = this.#stoppedNodes();
      const running = nodes.flatMap((node) => {
        const link = node.process?.link;
        return link === undefined ? [] : [{ link, kept: join(this.#folderOf(name), nameOf(node)) }];
      });
      let states: readonly AgentState[];
      try {
        // All nodes close before the first node is restored. Otherwise, a restored node could download the newer chain
        // from a running node that is not restored yet.
        await Promise.all(running.map(({ link }) => link.ask({ op: 'close' })));
        for (const node of nodes) this.#restore(record, node);
        states = await Promise.all(
          running.map(({ link, kept }) => link.ask({ op: 'open', transactions: readPool(kept) })),
        );
      } catch (error) {
        // After an error, the nodes in some of the running processes are possibly still closed. Therefore, all running
        // processes are restarted.
        await Promise.all(nodes.filter(({ process }) => process !== undefined).map((node) => node.restart()));
        throw error;
      }
      const wrong = states.find((state) => state.tip.id === record.blockId && state.digest !== record.digest);
      if (wrong !== undefined || !states.some((state) => state.digest === record.digest)) {
        throw new ProtocolError('SNAPSHOT_DIFFERS', { name }, `no node returned to the state of the snapshot ${name}`);
      }
      const { setting, mode } = record;
      return { result: factsOf(record), restored: { setting, mode } };
    });
  }

  /**
   * Returns all nodes, if the caller can now copy or replace the files of each node. Each node must be in one of two
   * states. In the first state, the process of the node answers, so the caller can ask this process to copy the node's
   * files or to close them. In the second state, the process of the node has ended, and the supervisor does not restart
   * the process.
   *
   * @throws ProtocolError `DEVNET_NODE_PAUSED` for a node that is paused, does not answer, or waits for its restart,
   *   because the present process or the next process of this node can write to the files
   */
  #stoppedNodes(): readonly SupervisedNode[] {
    const nodes = this.#parts.nodes();
    const busy = nodes.find(({ process, stateName, isEnding }) =>
      stateName === 'running'
        ? process?.link?.isUsable !== true
        : isEnding || stateName === 'paused' || stateName === 'ended',
    );
    if (busy === undefined) return nodes;
    const { index } = busy.node;
    const message = `node ${index} neither answers nor is down: wait for it, or resume or kill it first`;
    throw new ProtocolError('DEVNET_NODE_PAUSED', { index }, message);
  }

  #restore({ name, nodes }: SnapshotRecord, node: SupervisedNode): void {
    const folder = this.#folderOf(name);
    restoreState(join(folder, nameOf(node)), this.#dataOf(node));
    const [source] = nodes;
    if (!this.#parts.isFork || nodes.includes(node.node.index) || source === undefined) return;
    restoreState(join(folder, nameOfIndex(source)), this.#dataOf(node), { withJournal: false });
  }

  #folderOf(name: string): string {
    return join(this.#parts.directory, SNAPSHOTS_FOLDER, name);
  }

  #dataOf({ node }: SupervisedNode): string {
    return join(node.directory, this.#parts.networkName);
  }

  #read(name: string): SnapshotRecord | undefined {
    try {
      const record = JSON.parse(readFileSync(join(this.#folderOf(name), RECORD_FILE), 'utf8')) as SnapshotRecord;
      const setting = clockSettingOf(record.setting);
      const mode = MINING_MODES.find((each) => each === record.mode);
      return setting === undefined || mode === undefined ? undefined : { ...record, name, setting, mode };
    } catch {
      return undefined;
    }
  }
}

export function isSnapshotName(name: string): boolean {
  return NAME.test(name);
}

/**
 * @param known names of the existing snapshots
 */
export function unknownSnapshot(name: string, known: readonly string[]): ProtocolError {
  const others = known.length === 0 ? 'none was made yet' : `there are ${known.join(', ')}`;
  return new ProtocolError('SNAPSHOT_UNKNOWN', { name }, `there is no snapshot ${name}: ${others}`);
}

/**
 * @throws ProtocolError `USAGE` for an invalid name
 */
export function checkSnapshotName(name: string): void {
  if (isSnapshotName(name)) return;
  throw usageError(
    'the name of a snapshot has 1 to 64 letters, digits, `-`, `_` and `.`, and begins with a letter or digit',
  );
}

function nameOf({ node }: SupervisedNode): string {
  return nameOfIndex(node.index);
}

function nameOfIndex(index: number): string {
  return `node-${index}`;
}

function factsOf({ name, height, blockId, digest, time }: SnapshotFacts): SnapshotFacts {
  return { name, height, blockId, digest, time };
}

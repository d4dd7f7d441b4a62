/**
 * Stores the rows of a chain in a ClickHouse database. The final tables, such as `blocks_final`, contain the rows of
 * complete ranges. (A range is a fixed number of consecutive heights whose blocks the sink treats as final.) The tables
 * of the tail, such as `blocks_tail`, contain the rows of the blocks above these ranges. Rows become visible to readers
 * only when the sink inserts their marker (`schema.ts`), so an unfinished write leaves only invisible rows. The next
 * `begin` removes such rows from the final tables. In the tables of the tail, such rows stay until the sink drops the
 * partition that contains them.
 */

import type { Clock } from '../../ports/clock.ts';
import { assert, codeOf, messageOf } from '../../primitives/errors.ts';
import type { BlockId } from '../../protocol/types.ts';
import type { LeaseHolder } from '../lease.ts';
import type { BlockPlace, HeightSpan, RangeDraft, Sink, SinkBlock, SinkIdentity, SinkPlace } from '../sink.ts';
import { SINK_TABLE_NAMES, type SinkTable } from '../tables.ts';
import { checkCluster, checkClusterName, dropUnmarkedOnCluster, rangeIdOf } from './cluster.ts';
import { DaySums } from './day-sums.ts';
import { ClickHouseLease } from './lease.ts';
import { linesOf, namesOf, RangeLines } from './lines.ts';
import {
  ATTEMPTS,
  FENCED_SUFFIX,
  FINAL_SUFFIX,
  heldTokens,
  LEASE_COLUMN,
  RANGE_ID_COLUMN,
  TAIL_SUFFIX,
} from './schema.ts';
import type { ClickHouseServer } from './server.ts';
import { createFirstTables, migrate, refuseOtherChain } from './migrate.ts';

/**
 * Pause in milliseconds between two checks. A check finds out whether a mutation (a change of stored rows) has ended,
 * or whether the replicas have all rows.
 */
const POLL_MS = 100;

interface PlaceRow {
  readonly height: number;
  readonly id: string;
}

export class ClickHouseSink implements Sink {
  readonly #server: ClickHouseServer;
  readonly #clock: Clock;
  readonly #lease: ClickHouseLease;
  readonly #cluster: string | undefined;
  readonly #daySums: DaySums;
  /**
   * Number of ids that `#attemptId` has returned. Each attempt to write sums (`day-sums.ts`) has an id. On a cluster,
   * each attempt to write a range has an id, too.
   */
  #attempts = 0;
  #rangeBlocks = 0;
  #finalHeight = 0;
  #tail: readonly BlockPlace[] = [];

  /**
   * @param cluster name of the cluster over which the final tables (the tables with the rows of complete ranges) are
   *   spread; undefined for tables on one server
   * @param daySumHeights value that `DaySums` uses instead of `HEIGHTS_AT_ONCE` (`day-sums.ts`); undefined for the
   *   default
   */
  constructor(server: ClickHouseServer, clock: Clock, holder: LeaseHolder, cluster?: string, daySumHeights?: number) {
    if (cluster !== undefined) checkClusterName(cluster);
    this.#server = server;
    this.#cluster = cluster;
    this.#clock = clock;
    this.#lease = new ClickHouseLease(server, clock, holder);
    this.#daySums = new DaySums(
      {
        server,
        cluster,
        beginAttempt: async () => {
          const id = this.#attemptId();
          await this.#storeAttempt(id, 0);
          return id;
        },
        pause: () => this.#pause(),
        keepLease: () => this.#lease.keep(),
        proveLease: () => this.#lease.prove(),
        mark: (table, columns, line) => this.#insert(table, columns, [line]),
      },
      daySumHeights,
    );
  }

  async begin(identity: SinkIdentity): Promise<SinkPlace> {
    if (this.#cluster !== undefined) await checkCluster(this.#server, this.#cluster);
    await createFirstTables(this.#server);
    await refuseOtherChain(this.#server, this.#cluster, identity);
    await this.#lease.take();
    try {
      return await this.#open(identity);
    } catch (error) {
      await this.#lease.release();
      throw error;
    }
  }

  async #open(identity: SinkIdentity): Promise<SinkPlace> {
    const { database } = this.#server;
    this.#rangeBlocks = identity.rangeBlocks;
    const [server, cluster] = [this.#server, this.#cluster];
    await migrate({ server, cluster, keepLease: () => this.#lease.keep() }, identity);
    const [final] = await this.#server.rows<PlaceRow>(
      `SELECT to_height AS height, toString(last_block_id) AS id FROM ${database}.sink_ranges ORDER BY to_height DESC LIMIT 1`,
    );
    this.#finalHeight = final?.height ?? 0;
    await this.#dropUnmarked();
    await this.#dropOldTail();
    await this.#losing(this.#daySums.begin(this.#finalHeight));
    const standing = await this.#server.rows<PlaceRow>(
      `SELECT height, toString(block_id) AS id FROM ${database}.sink_tail WHERE height > ${this.#finalHeight} ` +
        'GROUP BY height, block_id HAVING sum(sign) > 0 ORDER BY height',
    );
    this.#tail = standing.map(({ height, id }) => ({ height, blockId: id }));
    return {
      final: final && { height: final.height, blockId: final.id },
      tail: this.#tail,
    };
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(POLL_MS, resolve));
  }

  draftRange(): RangeDraft {
    const id = this.#cluster === undefined ? undefined : this.#attemptId();
    const lines = new RangeLines(id ?? this.#lease.token);
    let isPut = false;
    return {
      add: (rows) => lines.add(rows),
      put: async (span, lastBlockId) => {
        // On a cluster, the rows of the draft already contain the id of one attempt to store the rows. A second attempt
        // would need rows with another id.
        assert(!isPut, 'a draft is stored once');
        isPut = true;
        await this.#putRange(span, lastBlockId, lines, id);
      },
    };
  }

  /** @param id the attempt id that `lines` contains on a cluster; undefined on one server */
  async #putRange(
    { fromHeight, toHeight }: HeightSpan,
    lastBlockId: BlockId,
    lines: RangeLines,
    id: string | undefined,
  ): Promise<void> {
    await this.#lease.keep();
    if (toHeight > this.#finalHeight) {
      assert(fromHeight === this.#finalHeight + 1, 'ranges are stored in order');
      if (id !== undefined) await this.#losing(this.#storeAttempt(id, lines.changes));
      await this.#losing(this.#insertRange(lines, id !== undefined));
      const rangeId = id === undefined ? [] : [id];
      const written = Math.floor(this.#clock.nowMs() / 1000);
      const values = [fromHeight, toHeight, lastBlockId, written, ...rangeId];
      const columns = ['from_height', 'to_height', 'last_block_id', 'written', ...rangeId.map(() => RANGE_ID_COLUMN)];
      await this.#insert('sink_ranges', columns, [`${values.join('\t')}\n`]);
      this.#finalHeight = toHeight;
    }
    this.#tail = this.#tail.filter(({ height }) => height > this.#finalHeight);
    await this.#dropOldTail();
    await this.#losing(this.#daySums.rangeAdded(this.#finalHeight, lines.lastTimeS));
  }

  /**
   * Waits for the end of a write. If the write fails, and the server then reports that this process has lost the lease,
   * the function throws `SINK_LEASE_LOST`. After any other failure of the write, the function throws the error of the
   * write.
   */
  async #losing<T>(write: Promise<T>): Promise<T> {
    return write.catch(async (error: unknown) => {
      throw await this.#lease.reasonOf(error);
    });
  }

  /** Creates the id of a new attempt to write rows. */
  #attemptId(): string {
    this.#attempts += 1;
    return rangeIdOf(this.#lease.token, this.#attempts);
  }

  /** @param changes number of balance changes in the range */
  async #storeAttempt(id: string, changes: number): Promise<void> {
    await this.#server.insert(ATTEMPTS, [RANGE_ID_COLUMN, 'changes'], [`${id}\t${changes}\n`]);
  }

  /**
   * Inserts the rows of a range, but not the marker of the range. The inserts into all tables run at the same time, so
   * that the server can sort the rows of one table and receive the rows of another table at the same time.
   */
  async #insertRange(lines: RangeLines, isOnCluster: boolean): Promise<void> {
    const inserts = SINK_TABLE_NAMES.flatMap((table) => {
      const chunks = lines.of(table);
      if (chunks.length === 0) return [];
      const name = `${table}${FINAL_SUFFIX}`;
      return isOnCluster
        ? this.#server.insert(name, [RANGE_ID_COLUMN, ...namesOf(table)], chunks, { isWaitingForShards: true })
        : this.#insertFenced(name, namesOf(table), chunks);
    });
    await allEnded(inserts);
  }

  async putTail(blocks: readonly SinkBlock[]): Promise<void> {
    await this.#lease.keep();
    const top = this.#tail.at(-1)?.height ?? this.#finalHeight;
    const added = blocks.filter(({ height }) => height > top);
    if (added.length === 0) return;
    const inserts = SINK_TABLE_NAMES.flatMap((table) => {
      const filled = added.filter(({ rows }) => rows[table].length > 0);
      if (filled.length === 0) return [];
      return [this.#server.insert(`${table}${TAIL_SUFFIX}`, ['block_id', ...namesOf(table)], tailLines(table, filled))];
    });
    await this.#losing(allEnded(inserts));
    await this.#mark(added, 1);
    this.#tail = [...this.#tail, ...added.map(({ height, blockId }) => ({ height, blockId }))];
  }

  async revertTail(toHeight: number): Promise<void> {
    await this.#lease.keep();
    // In the table `sink_tail`, each partition contains the markers of the blocks of one range. If the rows of one
    // insert belong to several partitions, the server fills these partitions one after another, in ascending order. The
    // server refuses an insert into more than 100 partitions. Therefore each insert contains only the markers that
    // revert the blocks of one range. The first insert is for the highest range, and each later insert is for the next
    // lower range. Because of this order, the tail never has a gap: neither between two inserts, nor after a crash.
    // Queries would see such a gap.
    for (;;) {
      const top = this.#tail.at(-1)?.height ?? 0;
      if (top <= toHeight) return;
      const below = Math.max(toHeight, Math.floor((top - 1) / this.#rangeBlocks) * this.#rangeBlocks);
      const isReverted = ({ height }: BlockPlace): boolean => height > below;
      await this.#mark(this.#tail.filter(isReverted), -1);
      this.#tail = this.#tail.filter((block) => !isReverted(block));
    }
  }

  async end(): Promise<void> {
    // This request ends the lease now. If the request fails, the lease ends when its time is over, because this process
    // no longer renews the lease.
    await this.#lease.release().catch(() => undefined);
    await this.#server.close();
  }

  /**
   * Inserts rows through a fence (`schema.ts`). The given lines do not contain the token of the lease. This method adds
   * the token to each line.
   */
  #insert(table: string, columns: readonly string[], lines: readonly string[]): Promise<void> {
    const chunks = lines.map((line) => `${this.#lease.token}\t${line}`);
    return this.#insertFenced(table, columns, chunks);
  }

  /**
   * Inserts rows through a fence. The server accepts the rows only if this process holds the lease.
   *
   * @param chunks complete lines with the token of the lease as their first value
   */
  async #insertFenced(table: string, columns: readonly string[], chunks: Iterable<string | Uint8Array>): Promise<void> {
    try {
      await this.#server.insert(`${table}${FENCED_SUFFIX}`, [LEASE_COLUMN, ...columns], chunks);
    } catch (error) {
      if (codeOf(error) === 'CLICKHOUSE_REFUSED' && messageOf(error).includes(FENCE_REFUSAL))
        throw this.#lease.lost(error);
      throw error;
    }
  }

  async #mark(blocks: readonly BlockPlace[], sign: 1 | -1): Promise<void> {
    const lines = blocks.map(({ height, blockId }) => `${height}\t${blockId}\t${sign}\n`);
    await this.#insert('sink_tail', ['height', 'block_id', 'sign'], lines);
  }

  /** Removes from the final tables the rows that no marker makes visible. */
  async #dropUnmarked(): Promise<void> {
    if (this.#cluster !== undefined)
      return dropUnmarkedOnCluster(this.#server, this.#cluster, this.#finalHeight, () => this.#lease.prove());
    const { database } = this.#server;
    for (const table of SINK_TABLE_NAMES) {
      const name = `${table}${FINAL_SUFFIX}`;
      const above = `height > ${this.#finalHeight}`;
      const [found] = await this.#server.rows(`SELECT height FROM ${database}.${name} WHERE ${above} LIMIT 1`);
      if (found === undefined) continue;
      // The statement itself contains the condition that this process holds the lease. If another process has taken the
      // lease before the statement arrives, the statement removes none of the other process's rows.
      const isHeld = `'${this.#lease.token}' IN (${heldTokens(database)})`;
      await this.#server.change(`ALTER TABLE ${database}.${name} DELETE WHERE ${above} AND ${isHeld}`);
      const open = `SELECT mutation_id FROM system.mutations WHERE database = '${database}' AND table = '${name}' AND NOT is_done`;
      while ((await this.#server.rows(open)).length > 0) {
        await this.#pause();
        await this.#lease.keep();
      }
    }
  }

  /**
   * Removes from the tail the blocks of all complete ranges, except the newest complete range. Each partition of the
   * tail has the blocks of one range, so the sink drops whole partitions. The blocks of the newest complete range stay,
   * because running queries can still need these blocks: if a query read the markers just before the sink inserted the
   * marker of that range, the query reads these blocks from the tail.
   */
  async #dropOldTail(): Promise<void> {
    const { database } = this.#server;
    const tables = [...SINK_TABLE_NAMES.map((table) => `${table}${TAIL_SUFFIX}`), 'sink_tail'];
    const old = await this.#server.rows<{ readonly table: string; readonly partition: string }>(
      `SELECT DISTINCT table, partition FROM system.parts WHERE active AND database = '${database}' ` +
        `AND table IN (${tables.map((table) => `'${table}'`).join(', ')}) ` +
        `AND toUInt32(partition) + 1 < ${Math.floor(this.#finalHeight / this.#rangeBlocks)}`,
    );
    for (const { table, partition } of old)
      await this.#server.run(`ALTER TABLE ${database}.${table} DROP PARTITION ${partition}`);
  }
}

/**
 * Name of the SQL function with which a fence refuses rows. When a fence refuses rows, the error message of the server
 * contains this name.
 */
const FENCE_REFUSAL = 'throwIf';

/**
 * Makes the lines of a block only when the caller sends them. The lines of all given blocks together would take much
 * memory.
 */
function* tailLines(table: SinkTable, blocks: readonly SinkBlock[]): Iterable<string> {
  for (const { blockId, rows } of blocks) yield linesOf(table, rows[table], blockId);
}

/**
 * Waits for the end of all inserts. If an insert fails, the function throws the error of this insert only after all
 * other inserts have ended.
 */
async function allEnded(inserts: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(inserts);
  await Promise.all(inserts);
}

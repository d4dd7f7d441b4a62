/**
 * Stores the sums of the balance changes for each day and address. The server computes the sums of a day when all
 * blocks of the day are in complete ranges. The sink makes an attempt to compute and store these sums. If the attempt
 * fails, the run of the sink ends with an error, and `begin` of the next run makes a new attempt. Each row of the sums
 * contains the id of its attempt. The row becomes visible when the sink inserts the marker of the attempt. The sums of
 * a failed attempt never get a marker, so the sink can remove these sums at any time.
 */

import { changesPerDay } from '../question-views.ts';
import { hasRowsAbove, replicaBehind, unmarkedAttempts } from './cluster.ts';
import {
  DAY_MARKERS,
  DAYS_SHARD,
  DAYS_TABLE,
  FINAL_SUFFIX,
  markedRanges,
  onCluster,
  RANGE_ID_COLUMN,
} from './schema.ts';
import type { ClickHouseServer } from './server.ts';

/**
 * Maximum number of heights in the days whose sums one statement computes. A statement always computes the sums of
 * whole days. If the next day alone has more heights, the statement computes the sums of this one day. The maximum
 * limits the memory that the server needs.
 */
const HEIGHTS_AT_ONCE = 50_000;
const DAY_S = 86_400;
/** Maximum number of pauses while the sink waits for a replica that lacks rows. */
const REPLICA_LOOKS_MAX = 600;

const DAY_OF_BLOCK = "toDate(time, 'UTC')";

/** The members of a ClickHouse sink that `DaySums` uses. */
export interface DaySumsSink {
  readonly server: ClickHouseServer;
  readonly cluster: string | undefined;
  /** Creates the id of a new attempt to write sums, stores the id in the table `sink_attempts`, and returns the id. */
  beginAttempt(): Promise<string>;
  /** Waits for a short time. `DaySums` calls this function between two checks whether the replicas have all rows. */
  pause(): Promise<void>;
  /**
   * Renews the lease if the last renewal was longer ago than the usual time between two renewals
   * (`ClickHouseLease.keep`).
   *
   * @throws ProtocolError `SINK_LEASE_LOST`
   */
  keepLease(): Promise<void>;
  /**
   * Renews the lease, even if the last renewal was a short time ago. If the renewal succeeds, it proves that this
   * process has held the lease without interruption since it took the lease. If the renewal fails, the function throws
   * the same error as `keepLease`.
   */
  proveLease(): Promise<void>;
  /**
   * Inserts the marker of an attempt.
   *
   * @throws ProtocolError `SINK_LEASE_LOST`
   */
  mark(table: string, columns: readonly string[], line: string): Promise<void>;
}

export class DaySums {
  readonly #sink: DaySumsSink;
  /** Highest height whose balance changes are in sums that have a marker; 0 if no sums have a marker. */
  #height = 0;
  /**
   * The day (in days since 1970-01-01) of the newest final block when `rangeAdded` last looked for missing sums; 0
   * before the first such search.
   */
  #day = 0;

  readonly #heightsAtOnce: number;

  /** @param heightsAtOnce number that the class uses instead of `HEIGHTS_AT_ONCE` */
  constructor(sink: DaySumsSink, heightsAtOnce = HEIGHTS_AT_ONCE) {
    this.#sink = sink;
    this.#heightsAtOnce = heightsAtOnce;
  }

  /**
   * Removes the sums of attempts without a marker. Then computes the missing sums of all days whose blocks are all in
   * complete ranges. For example, sums are missing in a database that an earlier version of Bloomery wrote.
   *
   * @param finalHeight last height of the complete ranges
   */
  async begin(finalHeight: number): Promise<void> {
    const { server } = this.#sink;
    const [marked] = await server.rows<{ readonly height: number }>(
      `SELECT max(to_height) AS height FROM ${server.database}.${DAY_MARKERS}`,
    );
    this.#height = marked?.height ?? 0;
    await this.#dropUnmarked();
    await this.#addDays(finalHeight);
  }

  /**
   * Computes the missing sums of all days whose blocks are all in complete ranges. The function searches for missing
   * sums at most once for each day of the chain. If the block at `finalHeight` belongs to the day of the last search,
   * the function does nothing.
   *
   * @param finalHeight last height of the complete ranges
   * @param timeS Unix time of the block at `finalHeight`, in seconds
   */
  async rangeAdded(finalHeight: number, timeS: number): Promise<void> {
    const day = Math.floor(timeS / DAY_S);
    if (day === this.#day) return;
    await this.#addDays(finalHeight);
    this.#day = day;
  }

  async #addDays(finalHeight: number): Promise<void> {
    for (;;) {
      await this.#sink.keepLease();
      await this.#waitForReplicas();
      const toHeight = await this.#endOfDays(finalHeight);
      if (toHeight <= this.#height) return;
      await this.#add(toHeight);
      this.#height = toHeight;
    }
  }

  /**
   * Waits until queries find all rows of the ranges above `#height`. If a replica still lacked some of these rows, the
   * server could compute wrong sums from this replica.
   */
  async #waitForReplicas(): Promise<void> {
    const { cluster } = this.#sink;
    if (cluster === undefined) return;
    for (let look = 0; !(await hasRowsAbove(this.#sink.server, this.#height)); look += 1) {
      if (look === REPLICA_LOOKS_MAX) throw replicaBehind(cluster);
      await this.#sink.pause();
      await this.#sink.keepLease();
    }
  }

  /**
   * Returns the last height of the days whose sums `#add` computes next. Returns 0 if there is no further day whose
   * blocks are all in complete ranges. The block after this height always belongs to another day.
   */
  async #endOfDays(finalHeight: number): Promise<number> {
    const lastHeight = Math.min(finalHeight, this.#height + this.#heightsAtOnce);
    const day = await this.#dayAt(lastHeight);
    if (day === undefined) return 0;
    const end = await this.#lastHeightOn(`< toDate('${day}')`, lastHeight);
    if (end !== 0 || lastHeight === finalHeight) return end;
    // All blocks above the stored sums, up to `lastHeight`, belong to one day. It is possible that the last block of
    // this day is above `lastHeight`.
    if (day === (await this.#dayAt(finalHeight))) return 0;
    return this.#lastHeightOn(`= toDate('${day}')`, finalHeight);
  }

  /**
   * Returns the day of the block at a height as text, for example `2020-01-31`. Returns undefined if there is no block
   * at this height, for example at height 0.
   */
  async #dayAt(height: number): Promise<string | undefined> {
    const [found] = await this.#sink.server.rows<{ readonly day: string }>(
      `SELECT toString(${DAY_OF_BLOCK}) AS day FROM ${this.#blocks()} AND height = ${height}`,
    );
    return found?.day;
  }

  /**
   * @param condition operator and right side of a comparison whose left side is the day of a block, for example `<
   *   toDate('2020-01-31')`
   */
  async #lastHeightOn(condition: string, lastHeight: number): Promise<number> {
    const [found] = await this.#sink.server.rows<{ readonly end: number }>(
      `SELECT max(height) AS end FROM ${this.#blocks()} AND height > ${this.#height} AND height <= ${lastHeight} ` +
        `AND ${DAY_OF_BLOCK} ${condition}`,
    );
    return found?.end ?? 0;
  }

  /**
   * Returns the SQL text that follows FROM: the name of the table of final blocks, and the beginning of the WHERE
   * clause.
   */
  #blocks(): string {
    const { server, cluster } = this.#sink;
    return `${server.database}.blocks${FINAL_SUFFIX} WHERE 1${markedRanges(server.database, cluster)}`;
  }

  async #add(toHeight: number): Promise<void> {
    const { server, cluster } = this.#sink;
    const { database } = server;
    const id = await this.#sink.beginAttempt();
    const rows =
      `(SELECT time, address, amount, cause FROM ${database}.balance_changes${FINAL_SUFFIX} ` +
      `WHERE height > ${this.#height} AND height <= ${toHeight}${markedRanges(database, cluster)})`;
    await server.change(
      `INSERT INTO ${database}.${DAYS_TABLE} (${RANGE_ID_COLUMN}, to_height, day, address, amount, transfers) ` +
        `SELECT toUInt64(${id}), toUInt32(${toHeight}), day, address, amount, transfers FROM (${changesPerDay(rows)})`,
      { isWaitingForShards: true },
    );
    // It is possible that the INSERT statement read another replica than the replica that `#addDays` had checked
    // before. This function therefore checks the replicas again before it inserts the marker.
    await this.#waitForReplicas();
    await this.#sink.mark(DAY_MARKERS, ['to_height', RANGE_ID_COLUMN], `${toHeight}\t${id}\n`);
  }

  async #dropUnmarked(): Promise<void> {
    const { server, cluster } = this.#sink;
    const { database } = server;
    const ids = await unmarkedAttempts(server, cluster);
    if (ids.length === 0) return;
    const ofAttempts = `${RANGE_ID_COLUMN} IN (${ids.join(', ')})`;
    const stored = await server.rows(`SELECT day FROM ${database}.${DAYS_TABLE} WHERE ${ofAttempts} LIMIT 1`);
    if (stored.length === 0) return;
    // It is possible that this process lost the lease before it read the ids of the attempts. In this case, one of
    // these attempts could belong to the next holder of the lease. Without a check of the lease, the statement `ALTER
    // TABLE` would remove the sums of the next holder.
    await this.#sink.proveLease();
    const table = cluster === undefined ? DAYS_TABLE : `${DAYS_SHARD}${onCluster(cluster)}`;
    await server.change(`ALTER TABLE ${database}.${table} DELETE WHERE ${ofAttempts}`, { isQueued: true });
  }
}

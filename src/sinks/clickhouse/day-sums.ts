/**
 * Keeps the sums of the balance changes for each day and address. The server computes the sums of a day when all blocks
 * of the day are in complete ranges. The sums carry the id of the attempt to compute them, and the marker of the
 * attempt makes them visible. Sums without a marker are never visible, so they can be removed at any time.
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
 * One statement computes the sums of the days that end within this number of heights, and at least of one day. The
 * number bounds the memory of the server.
 */
const HEIGHTS_AT_ONCE = 50_000;
const DAY_S = 86_400;
/** Number of times that the sink looks for the rows of a replica, with a pause after each. */
const REPLICA_LOOKS_MAX = 600;

const DAY_OF_BLOCK = "toDate(time, 'UTC')";

/** The parts of a sink that the sums need. */
export interface DaySumsSink {
  readonly server: ClickHouseServer;
  readonly cluster: string | undefined;
  /** Stores and returns the id of a new attempt to write rows. */
  beginAttempt(): Promise<string>;
  /** Waits for a moment. */
  pause(): Promise<void>;
  /** @throws ProtocolError `SINK_LEASE_LOST` */
  keepLease(): Promise<void>;
  /** Like `keepLease`, and shows that the process has had the lease since it was taken. */
  proveLease(): Promise<void>;
  /** Inserts the marker of an attempt, unless the process has lost its lease. */
  mark(table: string, columns: readonly string[], line: string): Promise<void>;
}

export class DaySums {
  readonly #sink: DaySumsSink;
  /** Height of the last block in the marked sums. */
  #height = 0;
  /** Day since 1970 of the last block in the complete ranges, when the sums were last computed. */
  #day = 0;

  readonly #heightsAtOnce: number;

  /** @param heightsAtOnce number of heights whose days one statement sums up */
  constructor(sink: DaySumsSink, heightsAtOnce = HEIGHTS_AT_ONCE) {
    this.#sink = sink;
    this.#heightsAtOnce = heightsAtOnce;
  }

  /**
   * Removes sums of attempts without a marker, and computes sums that are missing, for example in a database of an
   * earlier version.
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
   * Computes the sums of the days that ended.
   *
   * @param finalHeight last height of the complete ranges
   * @param timeS Unix time of the block at this height, in seconds
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

  /** A replica without a part of the rows would give sums of a part of the changes. */
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
   * Last height of the next days whose blocks are all in complete ranges; 0 when there is no such day. The block after
   * this height is always a block of another day.
   */
  async #endOfDays(finalHeight: number): Promise<number> {
    const lastHeight = Math.min(finalHeight, this.#height + this.#heightsAtOnce);
    const day = await this.#dayAt(lastHeight);
    if (day === undefined) return 0;
    const end = await this.#lastHeightOn(`< toDate('${day}')`, lastHeight);
    if (end !== 0 || lastHeight === finalHeight) return end;
    // All blocks up to `lastHeight` belong to one day, and the day goes on. It may end at a later height.
    if (day === (await this.#dayAt(finalHeight))) return 0;
    return this.#lastHeightOn(`= toDate('${day}')`, finalHeight);
  }

  /** Day of a block, as text; undefined for height 0. */
  async #dayAt(height: number): Promise<string | undefined> {
    const [found] = await this.#sink.server.rows<{ readonly day: string }>(
      `SELECT toString(${DAY_OF_BLOCK}) AS day FROM ${this.#blocks()} AND height = ${height}`,
    );
    return found?.day;
  }

  /** @param condition comparison of the day of a block with another day */
  async #lastHeightOn(condition: string, lastHeight: number): Promise<number> {
    const [found] = await this.#sink.server.rows<{ readonly end: number }>(
      `SELECT max(height) AS end FROM ${this.#blocks()} AND height > ${this.#height} AND height <= ${lastHeight} ` +
        `AND ${DAY_OF_BLOCK} ${condition}`,
    );
    return found?.end ?? 0;
  }

  /** Blocks in complete ranges, with the beginning of a condition. */
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
    // The statement may have read another replica than the check before it.
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
    // Without the lease, an attempt of the next holder could be among them.
    await this.#sink.proveLease();
    const table = cluster === undefined ? DAYS_TABLE : `${DAYS_SHARD}${onCluster(cluster)}`;
    await server.change(`ALTER TABLE ${database}.${table} DELETE WHERE ${ofAttempts}`, { isQueued: true });
  }
}

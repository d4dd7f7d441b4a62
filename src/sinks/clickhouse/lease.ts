/**
 * Takes, renews and ends the lease on a ClickHouse database. Each renewal inserts a row into the table `sink_lease`,
 * with the token of the process, and the time at which the lease ends. The clock of the ClickHouse server determines
 * this time. If several rows have the same token, only the row with the highest `turn` is valid. A fence is a table
 * that accepts only rows with the token of the lease's holder (`schema.ts`). Markers make rows visible, and the sink
 * inserts all markers through fences. On a single server, the sink also inserts the rows of final blocks through
 * fences. On a cluster, the sink inserts the rows of final blocks without a fence. An insert through a fence checks the
 * lease and inserts the rows in one statement. If the lease of the process has ended, for example because the process
 * was paused, the server therefore refuses the insert.
 */

import type { Clock, Timer } from '../../ports/clock.ts';
import { codeOf } from '../../primitives/errors.ts';
import { LEASE_S, leaseLost, RENEW_MS, sinkInUse, type LeaseHolder } from '../lease.ts';
import { heldTokens, SHARD_SUFFIX } from './schema.ts';
import type { ClickHouseServer } from './server.ts';

/** Pause in milliseconds between two checks whether the statements of an earlier holder have ended on the server. */
const POLL_MS = 100;

interface HolderRow {
  readonly token: string;
  readonly owner: string;
  /** Unix time in seconds at which the lease ends. */
  readonly until: number;
}

export class ClickHouseLease {
  readonly #server: ClickHouseServer;
  readonly #clock: Clock;
  readonly #holder: LeaseHolder;
  readonly #leaseS: number;
  readonly #renewMs: number;
  /** Value of the column `turn` in the newest row of this process in `sink_lease`. Each new row has the next number. */
  #turn = 0;
  #state: 'none' | 'held' | 'lost' = 'none';
  #renewedMs = 0;
  #timer: Timer | undefined;
  /** A promise that settles when the last renewal has ended. Each renewal waits for the end of the previous renewal. */
  #renewal: Promise<void> = Promise.resolve();

  constructor(server: ClickHouseServer, clock: Clock, holder: LeaseHolder) {
    this.#server = server;
    this.#clock = clock;
    this.#holder = holder;
    this.#leaseS = holder.leaseS ?? LEASE_S;
    this.#renewMs = Math.min(RENEW_MS, (this.#leaseS * 1000) / 3);
  }

  get token(): string {
    return this.#holder.token;
  }

  /**
   * Takes the lease if no other process holds the lease. The function looks for other holders, and inserts the row of
   * this process. Then the function waits until the statements of an earlier holder have ended (`#endInserts`), and
   * looks for other holders again. If several processes start at the same time, at most one process succeeds. It is
   * possible that all of these processes fail.
   *
   * @throws ProtocolError `SINK_IN_USE`; `SINK_LEASE_LOST` if the lease ends during the wait
   */
  async take(): Promise<void> {
    await this.#refuseOthers();
    await this.#write(this.#leaseS, '');
    this.#state = 'held';
    try {
      // It is possible that the earlier holder began to renew its lease just before the end of the lease. Such a
      // renewal is valid, so the function looks for other holders again after all statements of the earlier holder have
      // ended.
      await this.#endInserts();
      await this.#refuseOthers();
      await this.keep();
    } catch (error) {
      await this.release();
      throw error;
    }
    this.#renewLater();
  }

  /**
   * Renews the lease if at least `#renewMs` have passed since the last renewal.
   *
   * @throws ProtocolError `SINK_LEASE_LOST` if a renewal or a failed write has shown that the lease has ended
   */
  async keep(): Promise<void> {
    const sinceMs = this.#clock.nowMs() - this.#renewedMs;
    // If the clock was set back, the time since the last renewal is unknown, so the code renews the lease.
    if (sinceMs < 0 || sinceMs >= this.#renewMs) await this.#renew();
    if (this.#state !== 'held') throw this.lost();
  }

  /**
   * Renews the lease now. A lease that has ended cannot be renewed. Therefore a successful renewal proves that this
   * process has held the lease without interruption since `take`.
   *
   * @throws ProtocolError `SINK_LEASE_LOST`
   */
  async prove(): Promise<void> {
    await this.#renew();
    if (this.#state !== 'held') throw this.lost();
  }

  /** Marks the lease as lost, and returns the error for the loss. */
  lost(cause?: unknown): Error {
    this.#state = 'lost';
    return leaseLost(this.#name(), cause);
  }

  /**
   * Returns the error that the sink reports for a failed write. If this process has lost the lease, the function
   * returns `SINK_LEASE_LOST`, because perhaps the next holder has killed the write. Otherwise, the function returns
   * the given error.
   */
  async reasonOf(error: unknown): Promise<unknown> {
    // If this query fails, too, the server is probably the cause of both failures. In this case, the function returns
    // `error`.
    const holders = await this.#holders().catch(() => undefined);
    const isHeld = holders?.some(({ token }) => token === this.#holder.token) ?? true;
    return isHeld ? error : this.lost(error);
  }

  /** Ends the lease now, so that another process can take it immediately. */
  async release(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#renewal.catch(() => undefined);
    if (this.#state === 'held') await this.#write(0, this.#held());
    this.#state = 'none';
  }

  #renewLater(): void {
    this.#timer = this.#clock.after(this.#renewMs, () => {
      // This callback ignores an error of the renewal. If the cause of the error lasts, the next write to the sink
      // fails too, and that failure is reported.
      void this.keep()
        .catch(() => undefined)
        .then(() => {
          if (this.#timer !== undefined && this.#state === 'held') this.#renewLater();
        });
    });
  }

  async #renew(): Promise<void> {
    const renewal = this.#renewal
      .catch(() => undefined)
      .then(async () => {
        if (this.#state !== 'held') return;
        await this.#write(this.#leaseS, this.#held());
        const isHeld = (await this.#holders()).some(({ token }) => token === this.#holder.token);
        if (!isHeld) this.#state = 'lost';
      });
    this.#renewal = renewal;
    await renewal;
  }

  /**
   * Returns the SQL clauses that a renewal or a release adds to its insert. With these clauses, the server inserts the
   * row only if this process holds the lease when the server runs the statement.
   */
  #held(): string {
    return ` FROM system.one WHERE ${text(this.#holder.token)} IN (${heldTokens(this.#server.database)})`;
  }

  async #write(seconds: number, condition: string): Promise<void> {
    this.#turn += 1;
    const { token, owner } = this.#holder;
    const nowMs = this.#clock.nowMs();
    await this.#server.change(
      `INSERT INTO ${this.#server.database}.sink_lease (token, owner, turn, expires) ` +
        `SELECT ${text(token)}, ${text(owner)}, ${this.#turn}, now() + ${seconds}${condition}`,
    );
    // `nowMs` is the time just before this process sent the request. The server counts the time of the lease from a
    // later moment, at which the server runs the statement. This process counts the time until the next renewal from
    // `nowMs`, so that a slow answer of the server does not delay the next renewal.
    this.#renewedMs = nowMs;
  }

  async #holders(): Promise<readonly HolderRow[]> {
    const { database } = this.#server;
    return this.#server.rows<HolderRow>(
      `SELECT token, any(owner) AS owner, toUInt32(argMax(expires, turn)) AS until FROM ${database}.sink_lease ` +
        `WHERE token IN (${heldTokens(database)}) GROUP BY token`,
    );
  }

  async #refuseOthers(): Promise<void> {
    const other = (await this.#holders()).find(({ token }) => token !== this.#holder.token);
    if (other !== undefined) throw sinkInUse(this.#name(), other.owner, other.until * 1000);
  }

  /**
   * Kills the running inserts of an earlier holder of the lease, and waits until these inserts have ended. The function
   * also waits for the end of the deletions that the earlier holder has begun, except deletions on shards. Without this
   * wait, these inserts and deletions could still change rows while this process writes.
   */
  async #endInserts(): Promise<void> {
    const { database } = this.#server;
    const own = `startsWith(query_id, 'bloomery-${database}-')`;
    const inserts = `SELECT query_id FROM system.processes WHERE ${own}`;
    if ((await this.#server.rows(inserts)).length > 0) {
      await this.#killIfAble(`KILL QUERY WHERE ${own} ASYNC`);
      while ((await this.#server.rows(inserts)).length > 0) await this.#pause();
    }
    // The function does not wait for deletions on the shards of a cluster. These deletions remove only rows of failed
    // attempts to write, and the views of the sink never show such rows (`cluster.ts`).
    const removals =
      `SELECT mutation_id FROM system.mutations WHERE database = '${database}' AND NOT is_done ` +
      `AND NOT endsWith(table, '${SHARD_SUFFIX}')`;
    while ((await this.#server.rows(removals)).length > 0) await this.#pause();
  }

  /**
   * Runs a KILL statement, and ignores a refusal. In some stages of an insert, the server refuses to kill the insert.
   * Such an insert ends by itself, and the caller waits for the end of the insert.
   */
  async #killIfAble(statement: string): Promise<void> {
    try {
      await this.#server.run(statement);
    } catch (error) {
      if (codeOf(error) !== 'CLICKHOUSE_REFUSED') throw error;
    }
  }

  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => void this.#clock.after(POLL_MS, resolve));
    await this.keep();
  }

  #name(): string {
    return `the database ${this.#server.database}`;
  }
}

function text(value: string): string {
  return `'${value.replace(/[\\']/g, (character) => `\\${character}`)}'`;
}

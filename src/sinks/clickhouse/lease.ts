/**
 * The lease on a database: rows of the table `sink_lease`, with times of the server's clock. The newest row of a token
 * counts. Inserts into final tables and markers go through tables that accept rows of the lease's holder only
 * (`schema.ts`). So the server checks the lease and inserts in one step. The server refuses an insert that a paused
 * process sends too late.
 */

import type { Clock, Timer } from '../../ports/clock.ts';
import { codeOf } from '../../primitives/errors.ts';
import { LEASE_S, leaseLost, RENEW_MS, sinkInUse, type LeaseHolder } from '../lease.ts';
import { heldTokens, SHARD_SUFFIX } from './schema.ts';
import type { ClickHouseServer } from './server.ts';

/** Interval of the checks whether the server has ended earlier work. */
const POLL_MS = 100;

interface HolderRow {
  readonly token: string;
  readonly owner: string;
  /** Unix time in seconds. */
  readonly until: number;
}

export class ClickHouseLease {
  readonly #server: ClickHouseServer;
  readonly #clock: Clock;
  readonly #holder: LeaseHolder;
  readonly #leaseS: number;
  readonly #renewMs: number;
  /** Number of the last row of this process. The number grows by one with each row, and the newest row counts. */
  #turn = 0;
  #state: 'none' | 'held' | 'lost' = 'none';
  #renewedMs = 0;
  #timer: Timer | undefined;
  /** The last renewal. Each renewal waits for the renewal before it. */
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
   * Takes the lease if no other process has it. The function claims the lease first, and then looks for other holders.
   * When several processes start at once, all of them may be refused, and at most one succeeds. `take` also ends
   * statements of an earlier holder that still run on the server.
   *
   * @throws ProtocolError `SINK_IN_USE`
   */
  async take(): Promise<void> {
    await this.#refuseOthers();
    await this.#write(this.#leaseS, '');
    this.#state = 'held';
    try {
      // The statements of the earlier holder may include a renewal of its lease. A renewal that ended in time is valid,
      // so the other holders are checked again.
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
   * @throws ProtocolError `SINK_LEASE_LOST` when the lease has ended; renews the lease when a part of its time is over
   */
  async keep(): Promise<void> {
    const sinceMs = this.#clock.nowMs() - this.#renewedMs;
    // When the clock was set back, the age of the lease is unknown, so it is renewed.
    if (sinceMs < 0 || sinceMs >= this.#renewMs) await this.#renew();
    if (this.#state !== 'held') throw this.lost();
  }

  /**
   * Renews the lease now. A lease that ended cannot be renewed, so after the call this process has had the lease
   * without interruption since `take`.
   *
   * @throws ProtocolError `SINK_LEASE_LOST`
   */
  async prove(): Promise<void> {
    await this.#renew();
    if (this.#state !== 'held') throw this.lost();
  }

  lost(cause?: unknown): Error {
    this.#state = 'lost';
    return leaseLost(this.#name(), cause);
  }

  /**
   * The reason why a write failed: the loss of the lease, if this process lost it, because the next holder ends the
   * writes of the earlier holder. Otherwise, the reason is the error itself.
   */
  async reasonOf(error: unknown): Promise<unknown> {
    // If the server does not answer, `error` already reports it.
    const holders = await this.#holders().catch(() => undefined);
    const isHeld = holders?.some(({ token }) => token === this.#holder.token) ?? true;
    return isHeld ? error : this.lost(error);
  }

  /** Releases the lease, so that another process can take it at once. */
  async release(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#renewal.catch(() => undefined);
    if (this.#state === 'held') await this.#write(0, this.#held());
    this.#state = 'none';
  }

  #renewLater(): void {
    this.#timer = this.#clock.after(this.#renewMs, () => {
      // If the server does not answer, the next write reports the error.
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

  /** SQL condition that this process still holds the lease, checked when the server inserts the row. */
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
    // `nowMs` is the time before the request was sent. The lease begins later, when the server runs the statement. So
    // this process never expects the lease to end later than it does.
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
   * Kills running inserts of an earlier holder and waits for their end. Also waits for deletions of that holder.
   * Otherwise these inserts and deletions could change rows later.
   */
  async #endInserts(): Promise<void> {
    const { database } = this.#server;
    const own = `startsWith(query_id, 'bloomery-${database}-')`;
    const inserts = `SELECT query_id FROM system.processes WHERE ${own}`;
    if ((await this.#server.rows(inserts)).length > 0) {
      await this.#killIfAble(`KILL QUERY WHERE ${own} ASYNC`);
      while ((await this.#server.rows(inserts)).length > 0) await this.#pause();
    }
    // A removal on a shard removes only invisible rows (`cluster.ts`), so it need not have ended.
    const removals =
      `SELECT mutation_id FROM system.mutations WHERE database = '${database}' AND NOT is_done ` +
      `AND NOT endsWith(table, '${SHARD_SUFFIX}')`;
    while ((await this.#server.rows(removals)).length > 0) await this.#pause();
  }

  /**
   * In some stages of an insert, the server refuses to kill the insert. The insert then ends by itself, and the caller
   * waits for its end.
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

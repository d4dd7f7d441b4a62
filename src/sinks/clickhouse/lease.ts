/**
 * The lease on a database: rows of the table `sink_lease`, by the clock of the server. The newest row of a token counts. Inserts
 * into final tables and markers go through tables that let rows of the holder pass alone (`schema.ts`), so the look at the lease and
 * the insert are one step on the server: an insert that a process sends late, as it stood still, is refused there.
 */

import type { Clock, Timer } from '../../ports/clock.ts';
import { LEASE_S, leaseLost, RENEW_MS, sinkInUse, type LeaseHolder } from '../lease.ts';
import { heldTokens } from './schema.ts';
import type { ClickHouseServer } from './server.ts';

/** Between two looks whether the server has ended what was under way. */
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
  /** Grows with each row: the newest counts. */
  #turn = 0;
  #state: 'none' | 'held' | 'lost' = 'none';
  #renewedMs = 0;
  #timer: Timer | undefined;
  /** Renewals one after another; the last of them. */
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
   * Takes the lease, when no other process has it. Claims first and looks for others second: of processes that start at once
   * several may be refused, but never are two let in. Ends what an earlier holder has under way on the server.
   *
   * @throws ProtocolError `SINK_IN_USE`
   */
  async take(): Promise<void> {
    await this.#refuseOthers();
    await this.#write(this.#leaseS, '');
    this.#state = 'held';
    try {
      // A renewal of the earlier holder may be among them: it counts when it ended in time.
      await this.#endInserts();
      await this.#refuseOthers();
      await this.keep();
    } catch (error) {
      await this.release();
      throw error;
    }
    this.#renewLater();
  }

  /** @throws ProtocolError `SINK_LEASE_LOST` when the lease ended; renews it when a part of its time is over */
  async keep(): Promise<void> {
    const sinceMs = this.#clock.nowMs() - this.#renewedMs;
    // A clock that was set back tells nothing.
    if (sinceMs < 0 || sinceMs >= this.#renewMs) await this.#renew();
    if (this.#state !== 'held') throw this.lost();
  }

  lost(cause?: unknown): Error {
    this.#state = 'lost';
    return leaseLost(this.#name(), cause);
  }

  /** Lets others take it at once. */
  async release(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#renewal.catch(() => undefined);
    if (this.#state === 'held') await this.#write(0, this.#held());
    this.#state = 'none';
  }

  #renewLater(): void {
    this.#timer = this.#clock.after(this.#renewMs, () => {
      // A server that does not answer: the next write tells of it.
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

  /** Condition that the lease has not ended, as the server sees it when it inserts the row. */
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
    // From before it was sent: the server's time begins later.
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

  /** Inserts of an earlier holder that are under way are ended, removals are awaited: both would come late. */
  async #endInserts(): Promise<void> {
    const { database } = this.#server;
    const own = `startsWith(query_id, 'bloomery-${database}-')`;
    const inserts = `SELECT query_id FROM system.processes WHERE ${own}`;
    if ((await this.#server.rows(inserts)).length > 0) {
      await this.#server.run(`KILL QUERY WHERE ${own} ASYNC`);
      while ((await this.#server.rows(inserts)).length > 0) await this.#pause();
    }
    const removals = `SELECT mutation_id FROM system.mutations WHERE database = '${database}' AND NOT is_done`;
    while ((await this.#server.rows(removals)).length > 0) await this.#pause();
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

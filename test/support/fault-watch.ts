/**
 * Measures how soon `bloomery doctor` names faults of real nodes, and whether the machine was fast enough for the
 * measurement.
 */

import type { ExecutionContext } from 'ava';
import { FAULTS, type FaultCode } from '../../src/cli/doctor/catalogue.ts';
import { runChecks, type DoctorRequest } from '../../src/cli/doctor/run-checks.ts';
import { waitFor } from './devnet.ts';
import { loadPerProcessor, MachineWatch } from './machine.ts';

export interface NamedOptions {
  /**
   * Fault codes that the test accepts in addition to the expected codes, because these faults have the same cause as
   * the expected faults.
   */
  readonly beside?: readonly FaultCode[];
  /** Unix time in milliseconds at which the fault began; default: now. */
  readonly sinceMs?: number;
  /** Time in milliseconds that must pass before the doctor can see the fault, for example three slots. */
  readonly unavoidableMs?: number;
}

/** Longest time that an operator should wait until the doctor names a fault. */
export const NAMED_WITHIN_MS = 10_000;
/** Minimum share of the faults that the doctor must name within `NAMED_WITHIN_MS`. */
const SHARE_NAMED_SOON = 0.95;
/**
 * Within this time, the doctor must name a fault. Even on a busy machine, the nodes forge some blocks within this time.
 */
const SHOWS_WITHIN_MS = 150_000;
const ROOM_BYTES = 1e12;
/**
 * Extra time that `named` allows for each examination (one run of all checks of the doctor), because an examination
 * sometimes starts late.
 */
const LOOK_DELAY_MS = 1500;
/** Faults that any node shows when other work occupies the processors. */
export const OF_BUSY_MACHINES: readonly FaultCode[] = [
  'MACHINE_TOO_SLOW',
  'SLOTS_MISSED',
  'NODE_LAGS',
  'CONSENSUS_LOW',
  'SYNC_FAILS',
];

/**
 * The fault code of a node whose final branch no other node has. The code appears after several failed downloads in a
 * row. The pauses between downloads grow, so the doctor does not name the code within ten seconds.
 * `test/devnet/wrong-branch.test.ts` makes the branch.
 */
const OF_OWN_BRANCH: ReadonlySet<string> = new Set<FaultCode>(['SYNC_FAILS']);

/**
 * Fault codes that other tests cover. Real processes share the clock of the machine, so tests with simulated clocks
 * cover clocks that jump or differ (`test/sim/scripted/time.test.ts`, `test/engine/forge/clock-set.test.ts`). For
 * blocks that a node with a slow clock refuses, see `test/engine/sync/synchronizer.test.ts` and
 * `test/cli/doctor.test.ts`. The doctor reports undelivered alerts only after deliveries have failed for a minute
 * (`test/node/notify`, `test/cli/doctor.test.ts`). The doctor reports `NODE_UNCHECKED` if it does not know the address
 * of the node. No node process can cause this fault, so `test/cli/doctor.test.ts` covers it. `DELEGATE_SIGNS_TWICE`
 * needs two nodes that sign at the same moment, before one of them receives the block of the other. For this fault, see
 * `test/engine/chain/block-importer.test.ts` and `test/cli/doctor.test.ts`.
 */
const OF_OTHER_TESTS: ReadonlySet<string> = new Set<FaultCode>([
  'BLOCKS_OF_FUTURE',
  'CLOCKS_DIFFER',
  'CLOCK_BEHIND_TIP',
  'CLOCK_SET',
  'ALERTS_UNDELIVERED',
  'NODE_UNCHECKED',
  'DELEGATE_SIGNS_TWICE',
]);

export class FaultWatch {
  readonly #tookMs = new Map<FaultCode, number>();
  readonly #machine = new MachineWatch();

  /**
   * False after other work has occupied the machine or the machine has paused. Measured times then say nothing about
   * the node.
   */
  get isMachineSteady(): boolean {
    return this.#machine.wasQuickSoFar;
  }

  /**
   * Returns true if the busy machine, and not the node, is perhaps the cause of a fault that the doctor names. Two
   * conditions must hold: the fault is in `OF_BUSY_MACHINES`, and the machine has been busy or has paused at some time
   * since the start of this watch. The second condition includes earlier times, because the doctor still names such a
   * fault for 15 minutes after its cause.
   */
  isOfMachine(code: FaultCode): boolean {
    return OF_BUSY_MACHINES.includes(code) && !this.isMachineSteady;
  }

  /** Returns the fault codes of one examination, and checks that the examination is fast enough for an operator. */
  async found(t: ExecutionContext, request: Partial<DoctorRequest> & { readonly url: string }) {
    const startedMs = Date.now();
    const findings = await runChecks({ environment: {}, freeBytesOf: () => ROOM_BYTES, ...request });
    const tookMs = Date.now() - startedMs;
    t.true(tookMs < NAMED_WITHIN_MS || !this.isMachineSteady, `${tookMs} ms`);
    return findings.map(({ code }) => code);
  }

  /**
   * Resolves when the doctor has named all of the faults. If an examination names an unexpected fault, the method
   * ignores all faults that this examination names.
   */
  async named(
    t: ExecutionContext,
    request: Partial<DoctorRequest> & { readonly url: string },
    codes: readonly FaultCode[],
    options: NamedOptions = {},
  ): Promise<void> {
    const { beside = [], sinceMs = Date.now(), unavoidableMs } = options;
    const missing = new Set(codes);
    let last: readonly FaultCode[] = [];
    let lookMs = 0;
    const areNamed = async (): Promise<boolean> => {
      const lookedAtMs = Date.now();
      last = await this.found(t, request);
      lookMs = Math.max(lookMs, Date.now() - lookedAtMs);
      const isExpected = (code: FaultCode): boolean => codes.includes(code) || beside.includes(code);
      if (last.some((code) => !isExpected(code) && !this.isOfMachine(code))) return false;
      for (const code of last) if (missing.delete(code)) this.record(t, code, Date.now() - sinceMs);
      return missing.size === 0;
    };
    try {
      await waitFor(codes.join(', '), areNamed, SHOWS_WITHIN_MS);
    } catch (error) {
      throw new Error(`${[...missing].join(', ')} not named alone: ${last.join(', ')}`, { cause: error });
    }
    // It is possible that an examination begins a moment before the fault, and does not find the fault. The next
    // examination begins only after the end of this one. Therefore the limit allows two examinations.
    if (unavoidableMs === undefined || !this.isMachineSteady) return;
    const tookMs = Date.now() - sinceMs;
    const limitMs = unavoidableMs + 2 * lookMs + 2 * LOOK_DELAY_MS;
    t.true(tookMs <= limitMs, `${tookMs} ms, where ${unavoidableMs} ms had to pass and a look took ${lookMs} ms`);
  }

  record(t: ExecutionContext, code: FaultCode, tookMs: number): void {
    this.#tookMs.set(code, tookMs);
    t.log(`${code} after ${tookMs} ms`);
  }

  /**
   * Counts the faults of the catalogue, except those in `OF_OTHER_TESTS` and `OF_OWN_BRANCH`. Prints how many of the
   * counted faults the doctor named, and how many of them it named within `NAMED_WITHIN_MS`. The doctor must have named
   * all these faults. If the machine was fast enough, the doctor must have named the share `SHARE_NAMED_SOON` of them
   * within `NAMED_WITHIN_MS`.
   */
  conclude(t: ExecutionContext): void {
    const made = Object.keys(FAULTS).filter((code) => !OF_OTHER_TESTS.has(code) && !OF_OWN_BRANCH.has(code));
    const count = made.length;
    const unnamed = made.filter((code) => !this.#tookMs.has(code as FaultCode));
    const soon = made.filter((code) => (this.#tookMs.get(code as FaultCode) ?? Infinity) <= NAMED_WITHIN_MS).length;
    t.log(
      `${count - unnamed.length} of ${count} faults that are made with processes were named, ${soon} of ${count} within ${NAMED_WITHIN_MS / 1000} s; ` +
        `load of each processor ${loadPerProcessor().toFixed(1)}`,
    );
    t.deepEqual(unnamed, []);
    if (this.isMachineSteady) t.true(soon >= SHARE_NAMED_SOON * count);
  }
}

/** A forging scheduler with its own chain, on virtual time. */

import { selectEd25519 } from '../../../src/crypto/ed25519.ts';
import { BlockImporter } from '../../../src/engine/block-importer.ts';
import { Chain } from '../../../src/engine/chain.ts';
import { openGenesis } from '../../../src/engine/genesis.ts';
import { ForgingScheduler } from '../../../src/engine/forge/scheduler.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import { SILENT, type LogFields, type Observer } from '../../../src/ports/observer.ts';
import { ACTIVE_DELEGATES } from '../../../src/protocol/params.ts';
import { slotAt, slotAtMs } from '../../../src/protocol/slots.ts';
import type { Rules, SignedHeader } from '../../../src/protocol/rules.ts';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import type { KeyValue } from '../../../src/store/tables/key-value.ts';
import { MemoryKeyValue } from '../../../src/store/disk/memory.ts';
import { chainStoreOver } from '../../../src/store/chain/open.ts';
import { createInlineVerifier } from '../../../src/workers/inline-verifier.ts';
import { VirtualTime } from '../../sim/virtual-clock.ts';
import { NO_JOURNAL } from '../../support/no-journal.ts';
import { ChainMaker, publicKeyOf } from '../../support/chain-maker.ts';

export interface LoggedEvent {
  readonly code: string;
  readonly fields: LogFields;
}

export interface ForgingFixtureOptions {
  /**
   * Milliseconds by which each timer fires too early; less than 1. On a real machine, timers sometimes fire too early.
   */
  readonly timersEarlyMs?: number;
  /**
   * Milliseconds by which each reading moves the clock forward. On a real machine, the work between two readings takes
   * time too.
   */
  readonly readingMs?: number;
  /** Whether the system reports how long it was suspended; default: true. */
  readonly isBootKnown?: boolean;
  /** Whether the chain clock stands still, as in a devnet with stopped time. */
  readonly isChainClockFrozen?: boolean;
  /**
   * Option of the double-forging guard. If true, a delegate signs without a wait, even if another node perhaps signs
   * for it; default: true.
   */
  readonly riskDoubleForging?: boolean;
  /**
   * Replaces the function `finalizedHeight` of the rules, which returns the height of the final block. By default, the
   * fixture keeps the function of the rules.
   */
  readonly finalizedHeight?: () => number;
}

/** Makes a forging scheduler with the keys of every third delegate, on its own chain. */
export function setUpForging({
  timersEarlyMs = 0,
  readingMs = 0,
  isBootKnown = true,
  isChainClockFrozen = false,
  riskDoubleForging = true,
  finalizedHeight,
}: ForgingFixtureOptions = {}) {
  const maker = new ChainMaker();
  const { network } = maker;
  const rules: Rules = finalizedHeight === undefined ? maker.rules : { ...maker.rules, finalizedHeight };
  const { params } = network;
  const time = new VirtualTime(params.epochMs + 1000 * params.blockTimeS);
  const logged: LoggedEvent[] = [];
  const observer: Observer = {
    ...SILENT,
    // Do not record log lines about the enabling of delegates, because every test begins by enabling delegates.
    log: (_level, code, _message, fields = {}) => code !== 'FORGING_SWITCHED' && logged.push({ code, fields }),
  };
  let isDiskFull = false;
  const disk = diskThat(() => isDiskFull);
  const store = chainStoreOver(disk, { codec: rules.codec, params }, 'test');
  openGenesis(store, rules, network.genesis);
  const verifier = createInlineVerifier(selectEd25519(), 10_000);
  // The timer clock stands still while the machine sleeps, so each timer fires late by the duration of the sleep.
  let sleptMs = 0;
  const beyond = { setMs: 0, ranMs: 0, bootMs: 0, processorMs: 0 };
  let [eventMs, readings, latestMs] = [0, 0, 0];
  const startMs = time.nowMs;
  const machineClock: Clock = {
    nowMs: () => {
      readings = time.nowMs === eventMs ? readings + 1 : 0;
      eventMs = time.nowMs;
      latestMs = Math.max(latestMs, Math.floor(eventMs + sleptMs + readings * readingMs));
      return latestMs + beyond.setMs;
    },
    after: (delayMs, work) => time.schedule(delayMs - timersEarlyMs, work),
  };
  const clock = isChainClockFrozen ? { ...machineClock, nowMs: () => startMs } : machineClock;
  const chain = new Chain({ store, rules, verifier, clock, diskClock: machineClock, observer });
  const importer = new BlockImporter({ chain, clock, observer });
  const signed = new Map<string, SignedHeader>();
  const held = new Map<string, number>();
  let journalError: Error | undefined;
  let isHoldBroken = false;
  let notReady: string | undefined;
  let isSuspended = false;
  const scheduler = new ForgingScheduler({
    chain,
    pool: { step: () => undefined, readyForForging: () => [] },
    journal: {
      ...NO_JOURNAL,
      last: (publicKey) => signed.get(publicKey),
      record: (publicKey, header) => {
        if (journalError !== undefined) throw journalError;
        signed.set(publicKey, header);
      },
      heldSinceS: (publicKey) => held.get(publicKey),
      hold: (publicKey, sinceS) => {
        if (isHoldBroken) throw new ProtocolError('JOURNAL_WRITE_FAILED');
        if (journalError !== undefined) throw journalError;
        held.set(publicKey, sinceS);
      },
    },
    clock,
    processClock: machineClock,
    times: {
      runMs: () => time.nowMs + beyond.ranMs,
      bootMs: () => (isBootKnown ? time.nowMs + beyond.ranMs + beyond.bootMs : undefined),
      processorMs: () => beyond.processorMs,
    },
    isForgingSuspended: () => isSuspended,
    observer,
    waitThresholdMs: 1000,
    riskDoubleForging,
    peerTips: () => ({
      tips: [],
      fixed: 0,
      fixedHeard: 0,
      areExpected: false,
      areDialsExpected: false,
      areChosen: false,
      namedTips: [],
    }),
    notReady: () => (notReady === undefined ? chain.disk.checkWritable() : { reason: notReady }),
  });
  const own = network.delegates.filter((_, index) => index % 3 === 0);
  for (const keyPair of own) scheduler.enable(keyPair);
  const ownKeys = new Set(own.map(publicKeyOf));
  chain.listen({ applied: (blocks) => blocks.forEach((block) => maker.apply(block)) });
  const currentSlot = (): number => slotAtMs(clock.nowMs(), params);
  const slotMs = params.blockTimeS * 1000;
  return {
    logged,
    chain,
    /** The enabled delegates. */
    own,
    /** Accounts that are no delegates. */
    accounts: network.accounts,
    scheduler,
    currentSlot,
    nowMs: () => clock.nowMs(),
    nowS: () => chain.nowS(),
    /**
     * Passes a number of slots. The clock starts at the beginning of a slot. In the first half of a slot after an empty
     * one, the scheduler waits for a late block.
     */
    pass: async (slots: number) => {
      // Let work that has already started set its timers before the virtual time advances.
      await new Promise((resolve) => setImmediate(resolve));
      await time.runUntil(time.nowMs + slots * params.blockTimeS * 1000);
    },
    /** Suspends the machine. */
    sleep: (slots: number) => {
      sleptMs += slots * slotMs;
      beyond.bootMs += slots * slotMs;
    },
    /** Delays all timers, as if the process were busy (`isBusy`) or got no processor time. */
    stall: (slots: number, { isBusy }: { readonly isBusy: boolean }) => {
      sleptMs += slots * slotMs;
      beyond.ranMs += slots * slotMs;
      if (isBusy) beyond.processorMs += slots * slotMs;
    },
    /** Sets the clock forward, or back if `slots` is negative. */
    setClock: (slots: number) => (beyond.setMs += slots * slotMs),
    /** The last header in the journal, by public key. */
    signed,
    /**
     * For each delegate (by public key), the last chain time that `SigningJournal.hold` has stored. Until this time,
     * another node has perhaps signed for the delegate, so the delegate waits before it signs.
     */
    held,
    breakJournal: (error: Error | undefined) => (journalError = error),
    /**
     * If `isBroken` is true, each call of `SigningJournal.hold`, which stores the begin of a wait, fails. Other writes
     * of the journal do not fail.
     */
    breakHolds: (isBroken: boolean) => (isHoldBroken = isBroken),
    /** Receives a block of the given slot from a peer, on top of the tip. */
    receiveBlockOf: (slot: number) => {
      const missedSlots = slot - slotAt(chain.tip.header.timestamp, params) - 1;
      return importer.import(maker.build({ missedSlots }));
    },
    /** Downloads a block of the given slot from a peer, on top of the tip. */
    downloadBlockOf: (slot: number) => {
      const missedSlots = slot - slotAt(chain.tip.header.timestamp, params) - 1;
      return chain.append([maker.build({ missedSlots })]);
    },
    fillDisk: (full: boolean) => (isDiskFull = full),
    /** Suspends forging, as a devnet does that forges only on request. */
    suspend: (suspended: boolean) => (isSuspended = suspended),
    hinder: (reason: string | undefined) => (notReady = reason),
    /** Returns the enabled delegates' slots from `from` to `below - 1`, according to the current order of delegates. */
    ownSlots: (from: number, below: number): readonly number[] => {
      const order = rules.forgers(store, chain.tip.header.height + 1);
      const slots = Array.from({ length: below - from }, (_, index) => from + index);
      return slots.filter((slot) => ownKeys.has(order[slot % ACTIVE_DELEGATES] ?? ''));
    },
  };
}

/** A key-value store in memory. If the disk is full, transactions fail at the commit, as with LMDB. */
function diskThat(isFull: () => boolean): KeyValue {
  const keyValue = new MemoryKeyValue();
  return {
    get: (key) => keyValue.get(key),
    withValue: (key, work) => keyValue.withValue(key, work),
    entries: (range) => keyValue.entries(range),
    keys: (range) => keyValue.keys(range),
    count: (range) => keyValue.count(range),
    transact: (work) =>
      keyValue.transact((writer) => {
        const result = work(writer);
        if (isFull()) throw new ProtocolError('STORE_WRITE_FAILED', {}, 'The chain store could not be written: full.');
        return result;
      }),
    snapshot: () => keyValue.snapshot(),
    close: () => keyValue.close(),
  };
}

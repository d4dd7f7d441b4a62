/**
 * Measures the time from the start of a slot until the block of the slot is applied and on the disk. Several chains run
 * in this process. Each chain has its own engine (the part of a node that forges and applies blocks), and its own store
 * and signing journal on the disk. A slot takes one second. The slots of the chains start at different times.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import { Engine } from '../../src/engine/engine.ts';
import { SILENT } from '../../src/ports/observer.ts';
import { createRules } from '../../src/protocol/generations.ts';
import { slotAt, slotStartMs } from '../../src/protocol/slots.ts';
import { openJournal } from '../../src/node/journal-file.ts';
import { createOfflineTransport } from '../../src/node/offline-transport.ts';
import { systemClock, systemRandom } from '../../src/node/system.ts';
import { openChainStore } from '../../src/store/chain/open.ts';
import { createInlineVerifier } from '../../src/workers/verifier-pool.ts';
import { makeNetwork } from '../support/chain-maker.ts';

export interface SlotFigures {
  readonly slots: number;
  /**
   * Median of the times from the start of a slot until its block is applied and on the disk. If the chain has no block
   * of the previous slot, the delegate first waits, because the block of the previous slot is perhaps late. In this
   * case, the benchmark subtracts `WAIT_MS` from the time.
   */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
  /** Number of slots without a block, among the slots of the delegates that forge. */
  readonly missed: number;
}

const CHAINS = 10;
const BLOCK_TIME_S = 1;
/**
 * Time for which a delegate waits at the start of its slot if the block of the previous slot is missing. Only two
 * thirds of the delegates forge, so that some slots have no block.
 */
const WAIT_MS = 200;
const FORGING_OF_THREE = 2;
const ANSWERS_MAX = 10_000;

export async function measureSlots(slots: number): Promise<SlotFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-slots-'));
  const delays: number[] = [];
  const startS = Math.floor(Date.now() / 1000) - 1000;
  const chains = await Promise.all(
    Array.from({ length: CHAINS }, (_, index) => {
      const epochMs = startS * 1000 + Math.round((index * BLOCK_TIME_S * 1000) / CHAINS);
      return startChain(join(folder, String(index)), epochMs, (delayMs) => delays.push(delayMs));
    }),
  );
  const owned = (slots * FORGING_OF_THREE) / (3 * CHAINS);
  while (delays.length < slots) await sleep((owned * 1000) / 20);
  const missed = chains.reduce((sum, chain) => sum + chain.missed(), 0);
  for (const { stop } of chains) await stop();
  rmSync(folder, { recursive: true });
  const sorted = delays.slice(0, slots).sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
  return { slots: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), worstMs: at(1), missed };
}

async function startChain(directory: string, epochMs: number, forged: (delayMs: number) => void) {
  const { params, genesis, delegates } = makeNetwork({ blockTimeS: BLOCK_TIME_S, epochMs });
  const rules = createRules(params);
  const store = await openChainStore({ directory, codec: rules.codec, params, clock: systemClock });
  const journal = openJournal(join(directory, 'forging-journal'));
  let missed = 0;
  const engine = new Engine(
    {
      store,
      rules,
      genesis,
      verifier: createInlineVerifier(selectEd25519(), ANSWERS_MAX),
      transport: createOfflineTransport(),
      clock: systemClock,
      random: systemRandom,
      journal,
      observer: SILENT,
    },
    {
      identity: { networkName: 'bench', version: '', protocolVersion: '', build: '', commit: '', nonce: '' },
      os: '',
      waitThresholdMs: WAIT_MS,
      broadcastIntervalMs: 5000,
      transactionsPerQueueMax: 100,
      riskDoubleForging: true,
      peers: {
        own: { ip: '127.0.0.1', wsPort: 1 },
        outboundMax: 0,
        gossipPeersMax: 0,
        fixedPeers: [],
        seedPeers: [],
        whitelistedPeers: [],
        blacklistedIps: [],
      },
    },
  );
  engine.ownSlotOutcomes.listen(({ kind, slots }) => (missed += kind === 'missed' ? slots.length : 0));
  let tipSlot: number | undefined;
  engine.chain.listen({
    applied: (blocks) => {
      for (const { timestamp } of blocks) {
        const slot = slotAt(timestamp, params);
        const waitMs = tipSlot === slot - 1 ? 0 : WAIT_MS;
        // The first block after the genesis block does not count, because its slot perhaps started before this chain's
        // engine was started.
        if (tipSlot !== undefined) forged(Date.now() - slotStartMs(slot, params) - waitMs);
        tipSlot = slot;
      }
    },
  });
  await engine.start({ wsPort: 0, httpPort: 0 });
  for (const [index, keyPair] of delegates.entries()) if (index % 3 < FORGING_OF_THREE) engine.forging.enable(keyPair);
  return {
    missed: () => missed,
    stop: async () => {
      await engine.stop();
      journal.close();
      await store.close();
    },
  };
}

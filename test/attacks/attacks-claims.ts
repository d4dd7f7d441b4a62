/**
 * The attack has two victims: the attacked node (`target`), and a node that is behind (`latecomer`). Each victim has
 * its own attackers, which connect one after the other. Each attacker sends signed blocks to its victim. These blocks
 * belong to a chain that does not exist. The attacker answers no request of the victim. The attacker disconnects when
 * the tip of the victim changes, or after `STAY_MS_MAX` at the latest. The next attacker comes from a different
 * netgroup. The attacked node must not miss a slot. The node that is behind must follow the true chain in spite of the
 * false claims.
 */

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor, type TestNode } from '../support/devnet.ts';
import type { Arena } from './arena.ts';
import type { Attack } from './measure.ts';

const BLOCKS_SHOWN = 19;
const LEAD_BLOCKS = 5;
const LOOK_MS = 50;
/**
 * The attacker sends its blocks when this share of the slot has passed. A sync of the victim can then last into the
 * next slot.
 */
const LATE_IN_SLOT = 0.75;
/** Longest time for which an attacker stays connected after it has sent its blocks. */
const STAY_MS_MAX = 10_000;
/** The node that is behind (`latecomer`) must start and download the true chain in this time, on a busy machine too. */
const FOLLOW_MS_MAX = 120_000;
/** `latecomer` follows the true chain if its tip is at most this many blocks below the tip of an honest node. */
const BEHIND_BLOCKS_MAX = 2;

export const CLAIMS_ATTACK: Attack = {
  name: 'claims of better chains, one after the other',
  async run(arena, untilMs) {
    const { latecomer } = arena;
    const attack = { isOver: false };
    const claim = async (victim: TestNode): Promise<void> => {
      while (!attack.isOver) await claimOnce(arena, victim);
    };
    latecomer.start();
    const lines = [claim(arena.target), claim(latecomer)];
    try {
      await waitFor('a node that is behind follows the true chain', () => hasFollowed(arena), FOLLOW_MS_MAX);
      await sleep(Math.max(0, untilMs - performance.now()));
      if (!(await hasFollowed(arena))) throw new Error('a node that was behind did not stay with the true chain');
    } finally {
      attack.isOver = true;
      await Promise.all(lines);
      await latecomer.kill();
    }
  },
};

async function hasFollowed(arena: Arena): Promise<boolean> {
  const witness = arena.devnet.nodes.at(-1) ?? arena.target;
  const { height } = await witness.client.status();
  return (await arena.latecomer.client.status()).height >= height - BEHIND_BLOCKS_MAX;
}

async function claimOnce(arena: Arena, victim: TestNode): Promise<void> {
  const keyPair = arena.keyPair('genesis_5');
  const peer = arena.intruder({ ip: strangerIp(), port: victim.plan.wsPort, answers: () => undefined });
  try {
    if (!(await peer.greet())) return await sleep(LOOK_MS);
    await lateInSlot(arena);
    const tip = await arena.tip(victim);
    for (let shown = 0; shown < BLOCKS_SHOWN; shown += 1) {
      const lead = arena.generation === 3 ? { maxHeightPrevoted: tip.height + 4_000 } : {};
      const far = {
        height: tip.height + LEAD_BLOCKS,
        timestamp: tip.timestamp,
        previousBlockId: String(1_000 + shown),
      };
      peer.sendFrame(arena.blockMessage(arena.block(tip, keyPair, { ...far, ...lead })));
    }
    const leaveMs = performance.now() + STAY_MS_MAX;
    while (performance.now() < leaveMs && (await arena.tip(victim)).id === tip.id) await sleep(LOOK_MS);
  } catch {
    // An HTTP request to the victim failed, for example because the victim is still starting.
    await sleep(LOOK_MS);
  } finally {
    peer.leave();
  }
}

async function lateInSlot(arena: Arena): Promise<void> {
  const { epochMs, blockTimeS } = arena.devnet.network.params;
  const slotMs = blockTimeS * 1000;
  const passedMs = (Date.now() - epochMs) % slotMs;
  await sleep(Math.max(0, slotMs * LATE_IN_SLOT - passedMs));
}

let strangers = 0;

/** Returns an address that is in no netgroup of an honest peer, and not in the netgroup of the previous address. */
function strangerIp(): string {
  strangers += 1;
  return `127.${100 + (strangers % 150)}.${(strangers >> 8) & 255}.${strangers & 255}`;
}

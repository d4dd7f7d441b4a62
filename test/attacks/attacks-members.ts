/**
 * A multisignature registration waits in the pool for the signatures of its members. Peers send random bytes as these
 * signatures. No member ever signs the registration, so no block contains it, and its sender never pays the fee.
 */

import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MemberSignature } from '../../src/protocol/types.ts';
import { keyPairOf, makeTransaction, publicKeyOf } from '../support/chain-maker.ts';
import { waitFor } from '../support/devnet.ts';
import type { Arena } from './arena.ts';
import type { Attack } from './measure.ts';

/** Number of attacking peers: a few less than the maximum number of inbound connections of a node. */
const PEERS = 95;
const SIGNATURES_PER_MESSAGE = 25;
const WINDOW_MS = 10_000;
/**
 * By generation, the number of messages with signatures that each peer sends before a pause of `WINDOW_MS`. In
 * generation 3, a reference node penalises the fourth such message within `WINDOW_MS`.
 */
const FREE_MESSAGES = { 2: 50, 3: 3 } as const;
/**
 * The test fails if the registration is not in the pool after this time. The time is long, because the machine may be
 * busy.
 */
const PENDING_MS_MAX = 60_000;
const READ_MS_MAX = 60_000;
/** Time for which the node ignores the signatures of a peer that sent a false signature. */
const UNREAD_MS = 60_000;
const MEMBERS = Array.from({ length: 15 }, (_, index) => publicKeyOf(keyPairOf(`member ${index}`)));

export const MEMBERS_ATTACK: Attack = {
  name: 'false signatures of members',
  async prepare(arena) {
    REGISTRATIONS.set(arena, await registerForEver(arena));
  },
  async run(arena, untilMs) {
    const transactionId = REGISTRATIONS.get(arena) ?? '';
    if (!(await isPending(arena, transactionId))) throw new Error('the registration does not wait any more');
    const lookedBefore = await looks(arena);
    const startedMs = performance.now();
    const peers = [];
    // Connect one peer at a time, because the node limits how many handshakes are unfinished at the same time.
    for (let opened = 0; opened < PEERS; opened += 1) peers.push(await arena.peer());
    const free = FREE_MESSAGES[arena.generation];
    for (let sent = 0; sent === 0 || performance.now() < untilMs; sent += 1) {
      if (sent % free === 0 && sent > 0) await sleep(WINDOW_MS);
      for (const peer of peers) {
        const signatures = Array.from({ length: SIGNATURES_PER_MESSAGE }, () => falseSignature(transactionId));
        peer.sendFrame(arena.message({ kind: 'signatures', signatures }));
      }
      await sleep(WINDOW_MS / FREE_MESSAGES[2]);
    }
    const haveLooked = async (): Promise<boolean> => (await looks(arena)) > lookedBefore;
    await waitFor('the node looks at a false signature', haveLooked, READ_MS_MAX);
    const looked = (await looks(arena)) - lookedBefore;
    // The node checks one false signature of a peer, and then ignores the signatures of this peer for `UNREAD_MS`.
    const times = Math.ceil((performance.now() - startedMs) / UNREAD_MS);
    if (looked > PEERS * times) throw new Error(`${looked} false signatures were looked at`);
    if (!(await isPending(arena, transactionId))) throw new Error('false signatures drove a registration out');
  },
};

const REGISTRATIONS = new WeakMap<Arena, string>();

/** Sends the node a registration that no member ever signs. Waits until the registration is in the pool. */
async function registerForEver(arena: Arena): Promise<string> {
  const { timestamp } = await arena.tip();
  const content = { kind: 'multisignature', min: 2, lifetime: 24, keysgroup: MEMBERS.map((key) => `+${key}`) } as const;
  const transaction = makeTransaction(arena.devnet.network.params, arena.keyPair('account_1'), content, { timestamp });
  const answer = await fetch(`${arena.target.url}/api/transactions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(arena.rules.codec.transactionToJson(transaction)),
  });
  if (!answer.ok) throw new Error(`the registration was refused: ${await answer.text()}`);
  await waitFor('the registration waits', () => isPending(arena, transaction.id), PENDING_MS_MAX);
  return transaction.id;
}

async function isPending(arena: Arena, id: string): Promise<boolean> {
  const found = await arena.ask<readonly unknown[]>(arena.target, `node/transactions/pending?id=${id}`);
  return found.length === 1;
}

/** Returns a random signature with S below the group order, so that the node must do the full signature check. */
function falseSignature(transactionId: string): MemberSignature {
  const signature = randomBytes(64);
  signature[63] = 0;
  return { transactionId, publicKey: MEMBERS[0] ?? '', signature: signature.toString('hex') };
}

/**
 * Returns the number of false signatures of members that the node has checked so far. Does not count other refusals of
 * the pool, because honest peers also cause other refusals in some cases.
 */
async function looks(arena: Arena): Promise<number> {
  const metrics = await (await fetch(`${arena.target.url}/metrics`)).text();
  return Number(/^\w*pool_refusals_total\{code="MEMBER_SIGNATURE_FALSE"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
}

/**
 * Attacks with well-formed messages: invalid blocks and transactions, and false announcements of transaction ids and
 * tips.
 */

import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesOfHex, hexOf } from '../../src/primitives/bytes.ts';
import { addressOf } from '../../src/crypto/keys.ts';
import type { JsonObject, Transaction } from '../../src/protocol/types.ts';
import { keyPairOf, makeTransaction, publicKeyOf } from '../support/chain-maker.ts';
import type { Arena } from './arena.ts';
import { repeatInParallel, mustEnd } from './attacks-doors.ts';
import type { Intruder } from './intruder.ts';
import { BANNED, type Attack } from './measure.ts';

/** Order of the Ed25519 group (the number L in RFC 8032). */
const ORDER = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;
const DAY_S = 86_400;

export const CHAIN_ATTACKS: readonly Attack[] = [
  {
    name: 'announcements of unknown ids',
    generation: 3,
    async run(arena, untilMs) {
      await repeatInParallel(untilMs, 10, async () => {
        const peer = await arena.peer({ answers: () => undefined });
        for (let round = 0; round < 60 && peer.end === undefined && performance.now() < untilMs; round += 1) {
          const ids = Array.from({ length: 25 }, () => String(Math.floor(Math.random() * 2 ** 53)));
          peer.sendFrame(arena.message({ kind: 'transactionIds', ids }));
          await sleep(10);
        }
      });
    },
  },
  {
    name: 'blocks far in the future and the past',
    async run(arena, untilMs) {
      const keys = ['genesis_1', 'genesis_2', 'account_1'].map((name) => arena.keyPair(name));
      await repeatInParallel(untilMs, 3, async () => {
        const [peer, tip] = [await arena.peer(), await arena.tip()];
        for (const keyPair of keys) {
          for (const shiftS of [DAY_S, -DAY_S, 2 ** 31 - 1 - tip.timestamp, -tip.timestamp]) {
            const timestamp = Math.max(0, tip.timestamp + shiftS);
            peer.sendFrame(arena.blockMessage(arena.block(tip, keyPair, { timestamp })));
            const height = Math.max(1, tip.height + Math.sign(shiftS) * 1_000);
            peer.sendFrame(arena.blockMessage(arena.block(tip, keyPair, { timestamp, height })));
          }
        }
        await sleep(100);
      });
    },
  },
  {
    name: 'blocks with a valid header and a wrong payload',
    async run(arena, untilMs) {
      const keyPair = arena.keyPair('genesis_3');
      await repeatInParallel(untilMs, 2, async () => {
        const peer = await arena.peer();
        const bring = async () => {
          const tip = await arena.tip();
          const transactions = [transferOf(arena, tip.timestamp)];
          // Each block has another id, because a node of generation 3 ignores a block that it has refused before.
          const payloadHash = hexOf(randomBytes(32));
          peer.sendFrame(arena.blockMessage({ ...arena.block(tip, keyPair, { payloadHash }), transactions }));
        };
        await bring();
        // The node ignores the attacker's block if an honest block of the same height arrives first. Therefore, send
        // further blocks, each on the newest tip, until the node ends the connection.
        await mustEnd(peer, 'a peer with a corrupted payload', bring);
      });
    },
  },
  {
    name: 'one delegate, many blocks for one height',
    async run(arena, untilMs) {
      const keyPair = arena.keyPair('genesis_4');
      await repeatInParallel(untilMs, 2, async () => {
        const [peer, tip] = [await arena.peer(), await arena.tip()];
        for (let maker = 0; maker < 40 && peer.end === undefined; maker += 1) {
          peer.sendFrame(arena.blockMessage(arena.block(tip, keyPair, { reward: BigInt(maker) })));
          await sleep(10);
        }
      });
    },
  },
  {
    name: 'a claim of a far better chain',
    async run(arena, untilMs) {
      const keyPair = arena.keyPair('genesis_5');
      await repeatInParallel(untilMs, 3, async () => {
        const peer = await arena.peer({ answers: () => ({ data: [] }) });
        const tip = await arena.tip();
        const far = { ...tip, height: tip.height + 5_000 };
        const changes = { maxHeightPrevoted: tip.height + 4_000, timestamp: tip.timestamp };
        peer.sendFrame(arena.blockMessage(arena.block(far, keyPair, arena.generation === 3 ? changes : {})));
        const push = arena.dialect.infoPush({
          ...arena.dialect.packInfo(arena.info()),
          ...changes,
          height: far.height,
        });
        peer.sendFrame({ event: push.event, data: push.data, ...(push.call ? { cid: 77 } : {}) });
        await sleep(100);
      });
    },
  },
  {
    name: 'transactions with tens of thousands of signatures',
    async run(arena, untilMs) {
      await deliver(arena, untilMs, withManySignatures, false);
    },
    async after(arena) {
      // During the attack, the node perhaps read none of the transactions with many signatures. Send such transactions
      // from one peer at a time, until the node bans a peer.
      const deadlineMs = performance.now() + READ_MS_MAX;
      for (let isBanned = false; !isBanned;) {
        if (performance.now() > deadlineMs) throw new Error('nobody was banned for so many signatures');
        const { peer, bring } = await bringer(arena, withManySignatures);
        bring();
        await sleep(1_000);
        isBanned = peer.end === BANNED;
      }
    },
  },
  {
    name: 'transactions of another network',
    async run(arena, untilMs) {
      await deliver(arena, untilMs, (_transfer, timestamp) => {
        const params = { ...arena.devnet.network.params, networkIdentifier: 'ab'.repeat(32) };
        const content = { kind: 'transfer', amount: 1n, recipientId: '1L' } as const;
        const transaction = makeTransaction(params, arena.keyPair('account_1'), content, { timestamp });
        const json = arena.rules.codec.transactionToJson(transaction);
        // In generation 3, the signature is for another network. In generation 2, the signed bytes do not contain the
        // network, so each signature is valid on every network. Therefore, replace the signature by an invalid one in
        // generation 2.
        return arena.generation === 3 ? json : { ...json, signature: 'ab'.repeat(64) };
      });
    },
  },
  {
    name: 'malleable signatures',
    async run(arena, untilMs) {
      await deliver(arena, untilMs, (transfer) => ({
        ...transfer,
        signature: malleated(String(transfer['signature'])),
      }));
    },
  },
  {
    name: 'false sender addresses, and recipients in unusual spellings',
    async run(arena, untilMs) {
      const victim = addressOf(publicKeyOf(arena.keyPair('genesis')));
      let turn = 0;
      await deliver(
        arena,
        untilMs,
        (transfer) => {
          turn += 1;
          const asset = transfer['asset'] as JsonObject;
          switch (turn % 3) {
            case 0:
              // The node ignores `senderId` and derives the address from the public key, so a false `senderId` is not
              // an offence.
              return { ...transfer, senderId: victim };
            case 1:
              return { ...transfer, recipientId: `0${victim}`, asset: { ...asset, recipientId: `0${victim}` } };
            default: {
              const beyond = '18446744073709551617L';
              return { ...transfer, recipientId: beyond, asset: { ...asset, recipientId: beyond } };
            }
          }
        },
        false,
      );
      const [account] = await arena.ask<{ balance: string }[]>(arena.target, `accounts?address=${victim}`);
      const [other] = await arena.ask<{ balance: string }[]>(
        arena.devnet.nodes.at(-1) ?? arena.target,
        `accounts?address=${victim}`,
      );
      if (account?.balance !== other?.balance) throw new Error('a balance differs between nodes');
    },
  },
];

type Corrupt = (transfer: JsonObject, timestamp: number) => JsonObject;

const MANY_SIGNATURES = Array.from({ length: 20_000 }, (_, index) => index.toString(16).padStart(128, 'a'));
/**
 * The test fails if the node bans no attacker in this time, which is much longer than the window of the rate limits
 * (`RATE_WINDOW_MS`).
 */
const READ_MS_MAX = 90_000;

function withManySignatures(transfer: JsonObject): JsonObject {
  return { ...transfer, signatures: MANY_SIGNATURES };
}

function transferOf(arena: Arena, timestamp: number): Transaction {
  const sender = keyPairOf(`nobody ${Math.random()}`);
  const content = { kind: 'transfer', amount: 1n, recipientId: '1L' } as const;
  return makeTransaction(arena.devnet.network.params, sender, content, { timestamp });
}

/**
 * Connects peers that each send a transaction that `corrupt` has changed. Repeats this step until `untilMs`.
 *
 * @param isAlwaysOffence true to throw an error if the node keeps one of these peers connected
 */
async function deliver(arena: Arena, untilMs: number, corrupt: Corrupt, isAlwaysOffence = true): Promise<void> {
  await repeatInParallel(untilMs, 3, async () => {
    const { peer, bring } = await bringer(arena, corrupt);
    bring();
    // Repeat the message only in generation 2. In generation 3, the message is an announcement, and the node also
    // penalises frequent announcements. With repeated announcements, the test could therefore pass even if the node did
    // not penalise the invalid transaction.
    const insist = arena.generation === 2 ? bring : undefined;
    if (isAlwaysOffence) await mustEnd(peer, 'a peer with a corrupted transaction', insist);
    else await sleep(100);
  });
}

/**
 * Connects a peer. In generation 2, each call of `bring` sends the same invalid transaction. In generation 3, `bring`
 * announces an id, and the peer sends the invalid transaction when the node requests the id.
 */
async function bringer(arena: Arena, corrupt: Corrupt): Promise<{ readonly peer: Intruder; bring(): void }> {
  const { timestamp } = await arena.tip();
  const good = transferOf(arena, timestamp);
  const transactions = [corrupt(arena.rules.codec.transactionToJson(good), timestamp)];
  const answers = (procedure: string) => (procedure === 'getTransactions' ? { data: { transactions } } : undefined);
  const peer = await arena.peer({ answers });
  const message =
    arena.generation === 2
      ? arena.message({ kind: 'transactions', transactions })
      : arena.message({ kind: 'transactionIds', ids: [good.id] });
  return { peer, bring: () => peer.sendFrame(message) };
}

/** Adds the group order to the number S of a signature. Verifiers that do not check `S < L` accept the result too. */
function malleated(signature: string): string {
  const bytes = Buffer.from(bytesOfHex(signature));
  const half = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + ORDER;
  const raised = Buffer.from(half.toString(16).padStart(64, '0'), 'hex').reverse();
  return hexOf(Buffer.concat([bytes.subarray(0, 32), raised]));
}

/**
 * Attacks with invalid multisignature transactions. These transactions cost the node many signature checks, but cost
 * the attacker little. In most transactions, all signatures of members are random. In the others, only the last
 * signature is random, and the order of the valid signatures is the order that takes the longest to check. The attacker
 * owns a multisignature account with fifteen members, and has paid once for the registration of the account.
 */

import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject, KeyPair, Transaction } from '../../src/protocol/types.ts';
import { keyPairOf, makeTransaction, publicKeyOf } from '../support/chain-maker.ts';
import { waitFor } from '../support/devnet.ts';
import type { Arena } from './arena.ts';
import { repeatInParallel } from './attacks-doors.ts';
import type { Intruder } from './intruder.ts';
import type { Attack } from './measure.ts';

const MEMBERS: readonly KeyPair[] = Array.from({ length: 15 }, (_, index) =>
  keyPairOf(`member of a junk group ${index}`),
);
const PEERS = 5;
/**
 * Number of transactions in each message or answer, and number of ids in each announcement. This number is the maximum
 * that a node accepts in one message.
 */
const TRANSACTIONS_PER_MESSAGE = 25;
const MESSAGE_INTERVAL_MS = 220;
/**
 * Pause between two announcements in generation 3. A shorter pause would not cause more requests: the node requests
 * transactions from one peer only every 5 s.
 */
const ANNOUNCEMENT_INTERVAL_MS = 1_000;
const HTTP_LINES = 4;
/**
 * In each series of this many transactions, all signatures of the last transaction are valid except its last signature,
 * which is random. The node needs less time to check each of the other transactions. The attacker needs less time to
 * make each of these other transactions, because all its signatures of members are random.
 */
const COSTLY_ONE_OF = 5;
/**
 * The test fails if no block contains the registration of the multisignature account after this time. The time is long,
 * because the machine may be busy.
 */
const CONFIRMED_MS_MAX = 150_000;
const CUT_MS_MAX = 60_000;

export const SIGNATURE_ATTACKS: readonly Attack[] = [
  {
    name: 'junk signatures of a multisignature account, from peers',
    isWatched: true,
    prepare: registerGroup,
    async run(arena, untilMs) {
      const junk = new Junk(arena);
      const answers = (procedure: string): unknown => {
        return procedure === 'getTransactions'
          ? { data: { transactions: junk.many(TRANSACTIONS_PER_MESSAGE) } }
          : undefined;
      };
      const peers: Intruder[] = [];
      for (let opened = 0; opened < PEERS; opened += 1) peers.push(await arena.peer({ answers }));
      const [first] = peers;
      const startedMs = performance.now();
      // The attack lasts until `untilMs`, or longer if the node has not closed the connection of the first attacker by
      // then. A busy node may read the messages of this attacker only after `untilMs`.
      while (performance.now() < untilMs || first?.end === undefined) {
        if (performance.now() - startedMs > CUT_MS_MAX) throw new Error('a peer with nothing but junk was kept');
        for (const peer of peers) sendJunk(arena, junk, peer);
        await sleep(arena.generation === 2 ? MESSAGE_INTERVAL_MS : ANNOUNCEMENT_INTERVAL_MS);
        for (const [index, peer] of peers.entries()) {
          // Each disconnected attacker, except the first, connects again from its old address.
          if (peer.end !== undefined && index > 0) peers[index] = await arena.peer({ answers, ip: peer.ip });
        }
      }
    },
  },
  {
    name: 'junk signatures of a multisignature account, over HTTP',
    isWatched: true,
    prepare: registerGroup,
    async run(arena, untilMs) {
      const junk = new Junk(arena);
      const sources = arena.isPublic ? Array.from({ length: 20 }, () => arena.newIp()) : ['127.0.0.1'];
      const statuses = new Map<number, number>();
      let sent = 0;
      await repeatInParallel(untilMs, HTTP_LINES, async () => {
        sent += 1;
        const status = await post(arena, junk.one(), sources[sent % sources.length] ?? '127.0.0.1');
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status !== 409 && status !== 429 && status !== 503 && status !== 0) throw new Error(`answer ${status}`);
      });
      arena.remark = [...statuses].map(([status, count]) => `${count} answers ${status}`).join(', ');
    },
  },
];

const GROUPS = new WeakMap<Arena, KeyPair>();

/**
 * Registers `account_2` of the devnet as a multisignature account that needs the signatures of all its members. Waits
 * until a block contains the registration.
 */
export async function registerGroup(arena: Arena): Promise<void> {
  if (GROUPS.has(arena)) return;
  const sender = arena.keyPair('account_2');
  const keysgroup = MEMBERS.map((member) => `+${publicKeyOf(member)}`);
  const content = { kind: 'multisignature', min: MEMBERS.length, lifetime: 24, keysgroup } as const;
  const { timestamp } = await arena.tip();
  const transaction = makeTransaction(arena.devnet.network.params, sender, content, { timestamp, members: MEMBERS });
  const status = await post(arena, arena.rules.codec.transactionToJson(transaction), '127.0.0.1');
  if (status !== 200) throw new Error(`the registration of a group was answered ${status}`);
  const isConfirmed = async (): Promise<boolean> =>
    (await arena.ask<readonly unknown[]>(arena.target, `transactions?id=${transaction.id}`)).length === 1;
  await waitFor('the group is registered', isConfirmed, CONFIRMED_MS_MAX);
  GROUPS.set(arena, sender);
}

/** Makes invalid transactions of the account that `registerGroup` registers. */
export class Junk {
  readonly #arena: Arena;
  readonly #sender: KeyPair;
  readonly #cheap: Transaction;
  #made = 0;

  constructor(arena: Arena) {
    const sender = GROUPS.get(arena);
    if (sender === undefined) throw new Error('the group is not registered');
    this.#arena = arena;
    this.#sender = sender;
    this.#cheap = this.#transfer([]);
  }

  many(count: number): JsonObject[] {
    return Array.from({ length: count }, () => this.one());
  }

  one(): JsonObject {
    this.#made += 1;
    const { codec } = this.#arena.rules;
    if (this.#made % COSTLY_ONE_OF !== 0) {
      // The id and the sender's signature do not depend on the members' signatures. The attacker therefore signs this
      // transaction only once. Each copy of the transaction has new random signatures of members.
      return codec.transactionToJson({ ...this.#cheap, signatures: MEMBERS.map(() => ofNobody()) });
    }
    const transaction = this.#transfer(MEMBERS.slice(1).reverse());
    return codec.transactionToJson({ ...transaction, signatures: [...transaction.signatures, ofNobody()] });
  }

  #transfer(members: readonly KeyPair[]): Transaction {
    const content = { kind: 'transfer', amount: BigInt(1 + this.#made), recipientId: '1L' } as const;
    return makeTransaction(this.#arena.devnet.network.params, this.#sender, content, { timestamp: 1, members });
  }
}

/** Returns a random signature with S below the group order, so that the node must do the full signature check. */
function ofNobody(): string {
  const signature = randomBytes(64);
  signature[63] = 0;
  return signature.toString('hex');
}

function sendJunk(arena: Arena, junk: Junk, peer: Intruder): void {
  if (arena.generation === 2) {
    peer.sendFrame(arena.message({ kind: 'transactions', transactions: junk.many(TRANSACTIONS_PER_MESSAGE) }));
    return;
  }
  const ids = Array.from({ length: TRANSACTIONS_PER_MESSAGE }, () => randomBytes(8).readBigUInt64BE().toString());
  peer.sendFrame(arena.message({ kind: 'transactionIds', ids }));
}

/** @returns the HTTP status of the answer; 0 if there is no complete answer */
function post(arena: Arena, json: JsonObject, localAddress: string): Promise<number> {
  const { httpPort: port } = arena.target.plan;
  const body = JSON.stringify(json);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path: '/api/transactions', method: 'POST', headers, localAddress };
    const sent = request({ ...options, agent: false, timeout: 60_000 }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
      response.on('error', () => resolve(0));
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}

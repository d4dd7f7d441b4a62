/**
 * A fake node with a few accounts and two blocks. The list `asked` records the queries that reach the node. A test may
 * replace some answers of the node.
 */

import { METHODS } from 'node:http';
import type { ExecutionContext } from 'ava';
import { createHttpServer } from '../../src/http/http-server.ts';
import { HTTP_DEFAULTS, type HttpOptions } from '../../src/http/options.ts';
import type {
  Diagnostic,
  ForgingDelegate,
  GroupSigners,
  LocalNodeApi,
  NodeApi,
  NodeStatus,
  PeerEntry,
  PeerVerdict,
  PoolEntry,
  PoolState,
} from '../../src/ports/node-api.ts';
import type { NodeHistory } from '../../src/ports/node-history.ts';
import type { ChainQueries, DelegateEntry, Page, TransactionEntry } from '../../src/ports/queries.ts';
import { addressOf } from '../../src/crypto/keys.ts';
import type { Generation } from '../../src/protocol/params.ts';
import { emptyAccount, type Account } from '../../src/protocol/state.ts';
import type { BlockHeader, Payload, Transaction } from '../../src/protocol/types.ts';
import { contractOf } from './contract.ts';
import { headerWith, keyNumber, paramsWith } from '../support/fixtures.ts';

export const ALICE_KEY = keyNumber(0xa);
export const BOB_ADDRESS = '12345L';
export const GROUP_KEY = keyNumber(0xc);
export const ALICE: Account = {
  ...emptyAccount(addressOf(ALICE_KEY)),
  publicKey: ALICE_KEY,
  secondPublicKey: keyNumber(0xaa),
  username: 'alice',
  balance: 5_000_000_000n,
  votes: [ALICE_KEY],
  producedBlocks: 2,
  missedBlocks: 1,
  forgedRewards: 500_000_000n,
  forgedFees: 7n,
};
/** An account without a public key, because it never sent a transaction. */
export const BOB: Account = { ...emptyAccount(BOB_ADDRESS), balance: 3n };
export const GROUP: Account = {
  ...emptyAccount(addressOf(GROUP_KEY)),
  publicKey: GROUP_KEY,
  balance: -1n,
  group: { min: 2, lifetime: 24, members: [ALICE_KEY, keyNumber(0xb)] },
};
export const ALICE_STANDING: DelegateEntry = {
  account: ALICE,
  delegate: {
    publicKey: ALICE_KEY,
    address: ALICE.address,
    username: 'alice',
    voteWeight: 5_000_000_000n,
    pendingVoteWeight: 0n,
    rank: 1,
  },
  rank: 1,
  productivity: 66.67,
  approval: 12.5,
};
export const GENESIS: BlockHeader = (() => {
  const { previousBlockId: _none, ...rest } = headerWith({ id: '1', height: 1, timestamp: 0, totalAmount: 100n });
  return rest;
})();
export const TIP: BlockHeader = headerWith({
  id: '18446744073709551615',
  height: 2,
  timestamp: 200,
  previousBlockId: '1',
  numberOfTransactions: 1,
  totalFee: 10n,
  reward: 5n,
  maxHeightPrevoted: 1,
  generatorPublicKey: ALICE_KEY,
});

/** Diagnostics, the newest first. */
export const DIAGNOSTICS: readonly Diagnostic[] = [
  {
    number: 2,
    timeMs: 1_500_000_000_000,
    module: 'forge',
    code: 'FORGING_PAUSED',
    message: 'forging is paused in a slot of ours',
    fields: { slot: 7, reason: 'synchronising with the network' },
  },
  {
    number: 1,
    timeMs: 1_400_000_000_000,
    module: 'chain',
    code: 'BLOCK_SIGNATURE_INVALID',
    message: 'refused a block',
    fields: { height: 3 },
  },
];

const HISTORY: NodeHistory = {
  intervalMs: 30_000,
  points: [
    {
      timeMs: 1_464_109_470_000,
      blocks: 3,
      transactions: 12,
      missedSlots: 0,
      reorgs: 0,
      delayMs: 140,
      pool: 2,
      peers: 4,
    },
    { timeMs: 1_464_109_500_000, blocks: 0, transactions: 0, missedSlots: 0, reorgs: 1, pool: 3, peers: 4 },
  ],
};

export const PEER_VERDICTS: readonly PeerVerdict[] = [
  {
    ip: '20.0.0.1',
    wsPort: 5000,
    verdict: 'connected',
    direction: 'outbound',
    sinceMs: 1_500_000_000_000,
    roles: ['fixed'],
    list: 'tried',
    reputation: 90,
    height: 3,
    version: '3.0.2',
    latencyMs: 12,
  },
  {
    ip: '20.0.0.2',
    verdict: 'banned',
    untilMs: 1_600_000_000_000,
    reason: 'BLOCK_MALFORMED: x',
    roles: [],
    reputation: 0,
  },
  {
    ip: '20.0.0.3',
    wsPort: 5001,
    verdict: 'dropped',
    direction: 'inbound',
    sinceMs: 1_500_000_000_000,
    code: 4418,
    reason: 'Evicted inbound peer 20.0.0.3:5001',
    roles: [],
    reputation: 100,
  },
];

/** Type numbers of transactions by kind. */
const TYPES: Readonly<Record<Generation, Readonly<Record<Payload['kind'], number>>>> = {
  2: {
    transfer: 0,
    secondSignature: 1,
    delegate: 2,
    vote: 3,
    multisignature: 4,
    dapp: 5,
    inTransfer: 6,
    outTransfer: 7,
  },
  // Generation 3 has no new type numbers for dapps: dapp transactions in old blocks keep the numbers 5, 6 and 7 of
  // generation 2. For the three dapp kinds, this table contains the number 99, which belongs to no type.
  3: {
    transfer: 8,
    secondSignature: 9,
    delegate: 10,
    vote: 11,
    multisignature: 12,
    dapp: 99,
    inTransfer: 99,
    outTransfer: 99,
  },
};

export function transactionOf(
  generation: Generation,
  payload: Payload,
  changes: Partial<Transaction> = {},
): Transaction {
  return {
    id: '77',
    type: TYPES[generation][payload.kind],
    timestamp: 100,
    senderPublicKey: ALICE_KEY,
    senderId: ALICE.address,
    fee: 10_000_000n,
    payload,
    signature: 'ab'.repeat(64),
    signatures: [],
    ...changes,
  };
}

export const TRANSFER: Payload = { kind: 'transfer', amount: 25n, recipientId: BOB_ADDRESS, data: 'hi' };

/** The API of the fake node, the queries that reached it, and the parts that a test may replace. */
export interface Fake {
  readonly api: LocalNodeApi;
  /** Recorded queries in their order, each with its method name and arguments. */
  readonly asked: unknown[][];
  transactions: TransactionEntry[];
  dapps: TransactionEntry[];
  pool: Partial<Record<PoolState, PoolEntry[]>>;
  peers: PeerEntry[];
  forging: ForgingDelegate[];
  submit: NodeApi['submitTransaction'];
  submitSignature: NodeApi['submitSignature'];
  registerSecondSignature: NodeApi['registerSecondSignature'];
  setForging: NodeApi['setForging'];
  readyOf: NodeApi['readyOf'];
  readonly receivedAtMs: Map<string, number>;
  readonly signers: Map<string, GroupSigners>;
  reorgs: NodeStatus['reorgs'];
  /** If this member is set, the query `accounts` throws this error. */
  failure: Error | undefined;
}

export function fakeNode(generation: Generation): Fake {
  const asked: unknown[][] = [];
  const page = <T>(method: string, items: readonly T[], query: unknown): Page<T> => {
    asked.push([method, query]);
    return { items, total: items.length };
  };
  const accountBy: ChainQueries['accountBy'] = (identity) => {
    asked.push(['accountBy', identity]);
    return [ALICE, BOB, GROUP].find((account) =>
      Object.entries(identity).every(([key, value]) => account[key as keyof Account] === value),
    );
  };
  const chain: ChainQueries = {
    tip: () => TIP,
    latestHeaders: () => [TIP, GENESIS],
    blockByHeight: () => undefined,
    accounts: (query) => {
      if (fake.failure !== undefined) throw fake.failure;
      return page('accounts', [{ account: ALICE, delegate: ALICE_STANDING }, { account: BOB }], query);
    },
    delegates: (query) => page('delegates', [ALICE_STANDING], query),
    blocks: async (query) => page('blocks', [TIP, GENESIS], query),
    transactions: async (query) => page('transactions', fake.transactions, query),
    accountBy,
    voters: async (publicKey, query) => page('voters', publicKey === ALICE_KEY ? [ALICE] : [], query),
    votes: (account, query) => page('votes', account === ALICE ? [ALICE] : [], query),
    group: (address) => (address === GROUP.address ? { account: GROUP, members: [ALICE, BOB] } : undefined),
    memberships: (account) => (account === ALICE ? [{ account: GROUP, members: [ALICE, BOB] }] : []),
    transactionCount: () => 104,
    dapps: (query) => page('dapps', fake.dapps, query),
    blockForgingStatistics: (...query) => {
      asked.push(['blockForgingStatistics', ...query]);
      return { feesBeddows: 3n, rewardsBeddows: 4n, blocks: 2 };
    },
    roundForgingStatistics: async (...query) => {
      asked.push(['roundForgingStatistics', ...query]);
      return { feesBeddows: 5n, rewardsBeddows: 6n, blocks: 1 };
    },
  };
  const fake: Fake = {
    api: {
      params: paramsWith({ generation, blockTimeS: 10 }),
      identity: {
        networkName: 'test',
        version: '0.1.0',
        protocolVersion: generation === 2 ? '1.1' : '2.0',
        build: 'v0.1.0',
        commit: '',
        nonce: 'abcdefghij012345',
      },
      chain,
      log: {
        last: () => 0,
        floor: () => 1,
        finalized: () => 1,
        records: () => [],
        firstRevert: () => undefined,
        block: () => undefined,
      },
      listen: () => () => undefined,
      status: () => ({
        height: 2,
        finalizedHeight: 1,
        syncing: false,
        currentTimeMs: 1_464_109_505_000,
        secondsSinceEpoch: 305,
        broadhash: 'cd'.repeat(32),
        consensusPercent: 67,
        networkHeight: 3,
        pool: { ready: 1, verified: 2, pending: 3, validated: 4, received: 5 },
        reorgs: fake.reorgs,
      }),
      transactionJson: (transaction) => ({ id: transaction.id, asset: { submitted: true } }),
      poolEntries: (state) => fake.pool[state] ?? [],
      signersOf: (id) => fake.signers.get(id),
      readyOf: (transaction) => fake.readyOf(transaction),
      receivedAtOf: (id) => fake.receivedAtMs.get(id),
      confirmedTimes: () => [...fake.receivedAtMs],
      peers: () => fake.peers,
      peerVerdicts: () => PEER_VERDICTS,
      history: () => HISTORY,
      forgers: (limit, offset) => {
        asked.push(['forgers', limit, offset]);
        return {
          items: [{ publicKey: ALICE_KEY, address: ALICE.address, username: 'alice', nextSlot: 31 + offset }],
          total: 101,
        };
      },
      submitTransaction: (json, client) => fake.submit(json, client),
      submitSignature: (json, client) => fake.submitSignature(json, client),
      registerSecondSignature: (keyPair, secondPublicKey) => fake.registerSecondSignature(keyPair, secondPublicKey),
      forgingDelegates: () => fake.forging,
      setForging: (publicKey, password, forging) => fake.setForging(publicKey, password, forging),
      metricsText: () => Promise.resolve('# TYPE bloomery_chain_height gauge\nbloomery_chain_height 5\n'),
      diagnostics: (limit) => DIAGNOSTICS.slice(0, limit),
      slotReport: (firstSlot, count) => ({
        sinceMs: 0,
        slots: Array.from({ length: count }, (_, index) => ({ slot: firstSlot + index, facts: [] })),
        switches: [],
        branches: [],
        looks: [],
        oldOrders: [],
      }),
      stateDigest: () => ({ height: 2, blockId: TIP.id, digest: 'ef'.repeat(32) }),
    },
    asked,
    transactions: [],
    dapps: [],
    pool: {},
    peers: [],
    forging: [],
    submit: () =>
      Promise.resolve({ accepted: true, transaction: transactionOf(generation, TRANSFER), receivedAtMs: 0 }),
    submitSignature: () =>
      Promise.resolve({ accepted: true, transaction: transactionOf(generation, TRANSFER), receivedAtMs: 0 }),
    registerSecondSignature: (_keyPair, publicKey) => {
      const transaction = transactionOf(generation, { kind: 'secondSignature', publicKey });
      return Promise.resolve({ accepted: true, transaction, receivedAtMs: 0 });
    },
    setForging: (publicKey, _password, forging) => Promise.resolve({ publicKey, forging }),
    readyOf: () => undefined,
    receivedAtMs: new Map(),
    signers: new Map(),
    reorgs: { count: 0, latest: [] },
    failure: undefined,
  };
  return fake;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed JSON body of the answer. Undefined if the body is not JSON. */
  readonly body: unknown;
}

/** Body of an answer with status 200. */
export interface Envelope {
  readonly meta: unknown;
  readonly data: unknown;
  readonly links: unknown;
}

/** Returns the member `data` of a body, or the first element of `data` if `data` is a list. */
export function firstOf(body: unknown): Record<string, unknown> {
  const { data } = body as Envelope;
  return (Array.isArray(data) ? (data as unknown[])[0] : data) as Record<string, unknown>;
}

export type Ask = (target: string, init?: RequestInit) => Promise<Answer>;

/**
 * Serves a fake node on a free loopback port until the test ends. Every answer must match the OpenAPI document. The
 * response cache is off, so a change made by the test is visible immediately.
 */
export async function serve(t: ExecutionContext, fake: Fake, options: Partial<HttpOptions> = {}): Promise<Ask> {
  // Client and server share the event loop. After a long pause of a busy machine, the server would close a connection
  // that waits for its next request, although the client has sent this request.
  const limits = { keepAliveTimeoutMs: 0, ...(options.limits ?? HTTP_DEFAULTS.limits) };
  const server = createHttpServer(fake.api, {
    ...{ port: 0, address: '127.0.0.1', cacheResponses: false },
    ...options,
    limits,
  });
  const { port } = await server.start();
  t.teardown(() => server.close());
  return askAt(t, `http://127.0.0.1:${port}`, fake.api.params.generation, options);
}

/** Returns a function that sends requests to an origin. Every answer must match the OpenAPI document. */
export function askAt(
  t: ExecutionContext,
  origin: string,
  generation: Generation,
  options: Partial<HttpOptions> = {},
): Ask {
  const contract = contractOf(generation, options);
  return async (target, init) => {
    const response = await fetch(`${origin}${target}`, { redirect: 'manual', ...init });
    const text = await response.text();
    const { status, headers } = response;
    const body = parsed(text);
    const contentType = headers.get('content-type') ?? undefined;
    const override = new Headers(init?.headers).get('x-http-method-override')?.split(',')[0]?.trim().toUpperCase();
    const method = override !== undefined && METHODS.includes(override) ? override : (init?.method ?? 'GET');
    t.is(contract({ method, target, status, contentType, body: body ?? text }), undefined);
    return { status, headers, text, body };
  };
}

/** Builds a request with a JSON body. The default method is POST. */
export function withBody(body: unknown, method: 'POST' | 'PUT' = 'POST'): RequestInit {
  return { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

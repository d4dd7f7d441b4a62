/**
 * A chain on which nearly every route of a node has something to return. The fixture makes the chain with the client
 * and with the published transaction library.
 */

import { createRequire } from 'node:module';
import { createClient, type Generation } from '../../src/client/index.ts';
import type { KnownAccount } from '../../src/cli/genesis/accounts-file.ts';
import { addressOf } from '../../src/crypto/keys.ts';
import { waitFor } from '../support/devnet.ts';
import type { Untyped } from '../support/untyped.ts';

/** The devnet that the fixture uses: at least two nodes, either in this process or each in its own process. */
export interface FixtureDevnet {
  readonly generation: Generation;
  /** URL of node 0. */
  readonly url: string;
  readonly networkIdentifier: string;
  /** Password that decrypts the keys of the delegates of node 0. */
  readonly forgingPassword: string;
  readonly blockTimeS: number;
  readonly epochMs: number;
  account(name: string): KnownAccount;
  setMining(mode: 'instant' | 'on-demand'): Promise<unknown>;
}

/** A request of the client and the unread response of the node. */
export interface Exchange {
  readonly url: string;
  readonly method: string;
  readonly body: unknown;
  readonly response: Response;
}

export interface RouteFixture {
  readonly generation: Generation;
  readonly url: string;
  readonly client: Untyped;
  /** Returns the client's last exchange (its last HTTP request, and the response of the node). */
  exchange(): Exchange;
  /** Real values of parameters, by `path name` or by `name`. If a value is a list, each item is for one request. */
  readonly values: Readonly<Record<string, Untyped>>;
  /** Functions that return a valid body, by route. Each body may be sent only once. */
  readonly bodies: Readonly<Record<string, () => unknown>>;
}

const LSK = 100_000_000n;
const SECOND_PASSPHRASE = 'a second passphrase';
const USERNAME = 'everyroute';
const DATA = 'a grüezi';
const WAIT_MS_MAX = 150_000;

/** Prepares the chain. Afterwards, nodes forge only on demand, so that nothing changes during the requests. */
export async function setUpRoutes(devnet: FixtureDevnet): Promise<RouteFixture> {
  const { generation, url } = devnet;
  let last: Exchange | undefined;
  const recording: typeof fetch = async (input, init = {}) => {
    const response = await fetch(input, init);
    const { method = 'GET', body } = init;
    const asked = typeof body === 'string' ? (JSON.parse(body) as unknown) : undefined;
    last = { url: String(input), method, body: asked, response: response.clone() };
    return response;
  };
  const client: Untyped = createClient(url, { generation, fetch: recording });
  const sender = new TransactionSender(devnet, client);
  await devnet.setMining('instant');
  const history = await sender.writeHistory();
  await devnet.setMining('on-demand');
  const waiting = await sender.fillPool();
  const values = await valuesOf(devnet, client, history, waiting);
  const exchange = (): Exchange => {
    if (last === undefined) throw new Error('the client has asked nothing');
    return last;
  };
  return { generation, url, client, exchange, values, bodies: sender.bodies(waiting) };
}

interface History {
  /** A transfer with data from `account_1` to `account_2`, in a block. */
  readonly transfer: Untyped;
}

interface Waiting {
  /** A transaction of the multisignature group, without the signatures of the members. */
  readonly pending: Untyped;
  readonly ready: Untyped;
}

/** Signs and sends transactions for the fixture. */
class TransactionSender {
  readonly #devnet: FixtureDevnet;
  readonly #client: Untyped;
  readonly #library: Untyped;
  readonly #common: Record<string, unknown>;

  constructor(devnet: FixtureDevnet, client: Untyped) {
    const { generation, networkIdentifier } = devnet;
    this.#devnet = devnet;
    this.#client = client;
    this.#library = createRequire(import.meta.url)(`lisk-transactions-${generation}`);
    this.#common = generation === 3 ? { networkIdentifier } : {};
  }

  /**
   * Makes blocks with transfers, votes, and transactions that register a second passphrase, a delegate and a
   * multisignature group.
   */
  async writeHistory(): Promise<History> {
    const [alice, bob, dave, erin] = [1, 2, 4, 5].map((index) => this.#account(index)) as [
      ...[KnownAccount, KnownAccount, KnownAccount, KnownAccount],
    ];
    const both = { passphrase: alice.passphrase, secondPassphrase: SECOND_PASSPHRASE };
    const transfer = await this.#include('transfer', {
      ...{ passphrase: alice.passphrase, recipientId: bob.address, amount: `${5n * LSK}`, data: DATA },
    });
    await this.#include('registerSecondPassphrase', both);
    await this.#include('registerDelegate', { ...both, username: USERNAME });
    await this.#include('castVotes', { ...both, votes: [alice.publicKey] });
    await this.#include('castVotes', { passphrase: bob.passphrase, votes: [alice.publicKey] });
    await this.#include('transfer', { passphrase: dave.passphrase, recipientId: bob.address, amount: '1' });
    const group = this.#make('registerMultisignature', {
      ...{ passphrase: erin.passphrase, keysgroup: [bob.publicKey, dave.publicKey], lifetime: 24, minimum: 2 },
    });
    await this.#client.post('/transactions', group);
    for (const member of [bob, dave]) await this.#client.post('/signatures', this.#signatureOf(group, member));
    await this.#client.waitFor(group.id, { timeoutMs: WAIT_MS_MAX });
    return { transfer };
  }

  async fillPool(): Promise<Waiting> {
    const [bob, carol] = [2, 3].map((index) => this.#account(index)) as [KnownAccount, KnownAccount];
    const recipientId = bob.address;
    const pending = this.#make('transfer', { passphrase: this.#account(5).passphrase, recipientId, amount: '1' });
    const ready = this.#make('transfer', { passphrase: carol.passphrase, recipientId, amount: '2' });
    for (const each of [pending, ready]) await this.#client.post('/transactions', each);
    const lists = [pending, ready].map(({ id }, index) => [['pending', 'ready'][index], id] as const);
    for (const [state, id] of lists)
      await waitFor(
        `${id} in the queue ${state}`,
        async () => (await this.#client.get('/node/transactions/{state}', { state, id })).data.length === 1,
        WAIT_MS_MAX,
      );
    return { pending, ready };
  }

  bodies({ pending }: Waiting): Readonly<Record<string, () => unknown>> {
    const { forgingPassword: password } = this.#devnet;
    const publicKey = this.#account('genesis_1').publicKey;
    return {
      'POST /transactions': () =>
        this.#make('transfer', { passphrase: this.#account(6).passphrase, recipientId: '42L', amount: '3' }),
      'POST /signatures': () => this.#signatureOf(pending, this.#account(2)),
      'PUT /signatures': () => ({ secret: this.#account(7).passphrase, secondSecret: SECOND_PASSPHRASE }),
      'PUT /node/status/forging': () => ({ publicKey, password, forging: true }),
    };
  }

  #account(of: number | string): KnownAccount {
    return this.#devnet.account(typeof of === 'number' ? `account_${of}` : of);
  }

  #make(what: string, values: object): Untyped {
    return this.#library[what]({ ...values, ...this.#common });
  }

  #signatureOf(transaction: Untyped, { passphrase }: KnownAccount): Untyped {
    const { createSignatureObject } = this.#library;
    return this.#devnet.generation === 2
      ? createSignatureObject(transaction, passphrase)
      : createSignatureObject({ transaction, passphrase, ...this.#common });
  }

  async #include(what: string, values: object): Promise<Untyped> {
    const transaction = this.#make(what, values);
    await this.#client.post('/transactions', transaction);
    await this.#client.waitFor(transaction.id, { timeoutMs: WAIT_MS_MAX });
    return transaction;
  }
}

async function valuesOf(
  devnet: FixtureDevnet,
  client: Untyped,
  { transfer }: History,
  { pending }: Waiting,
): Promise<Readonly<Record<string, Untyped>>> {
  const [alice, bob, dave, erin] = [1, 2, 4, 5].map((index) => devnet.account(`account_${index}`)) as [
    ...[KnownAccount, KnownAccount, KnownAccount, KnownAccount],
  ];
  const [included] = (await client.get('/transactions', { id: transfer.id })).data;
  const [block] = (await client.get('/blocks', { blockId: included.blockId })).data;
  const [{ secondPublicKey }] = (await client.get('/accounts', { address: alice.address })).data;
  const { height } = (await client.get('/node/status')).data;
  const peer: Untyped = await waitFor(
    'a connected peer at the same height',
    async () =>
      (await client.get('/peers', { state: 'connected' })).data.find((each: Untyped) => each.height === height),
    WAIT_MS_MAX,
  );
  const inQueue = { senderId: erin.address, senderPublicKey: erin.publicKey, recipientId: bob.address };
  const waiting = { id: pending.id, ...inQueue, recipientPublicKey: bob.publicKey, type: pending.type };
  const at = (path: string, values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [`${path} ${name}`, value]));
  const blockMs = devnet.epochMs + block.timestamp * 1000;
  return {
    ...{ address: alice.address, publicKey: alice.publicKey, secondPublicKey, username: USERNAME },
    ...{ limit: 1, offset: 1, after: '', height: block.height, blockId: block.id },
    ...{ fromTimestamp: block.timestamp, toTimestamp: block.timestamp },
    ...at('/accounts/{address}/multisignature_groups', { address: erin.address }),
    ...at('/accounts/{address}/multisignature_memberships', { address: dave.address }),
    ...at('/blocks', { generatorPublicKey: block.generatorPublicKey }),
    ...at('/dapps', { name: 'an application', transactionId: transfer.id }),
    ...at('/delegates', { search: 'every%' }),
    ...at('/delegates/{address}/forging_statistics', {
      ...{ address: addressOf(block.generatorPublicKey), fromTimestamp: blockMs, toTimestamp: blockMs },
    }),
    ...at('/node/status/forging', { publicKey: devnet.account('genesis_1').publicKey, forging: [true, false] }),
    ...at('/node/digest', { height }),
    ...at('/node/slots', { from: Math.floor(block.timestamp / devnet.blockTimeS) }),
    ...at('/node/peers', { verdict: 'connected' }),
    ...at('/node/transactions/{id}/signers', { id: pending.id }),
    ...at('/node/transactions/{state}', { ...waiting, state: 'pending' }),
    ...at('/node/transactions', waiting),
    ...at('/peers', {
      ...{ ip: peer.ip, httpPort: peer.httpPort, wsPort: peer.wsPort, os: peer.os, version: peer.version },
      ...{ protocolVersion: peer.protocolVersion, state: ['connected', '2'], height, broadhash: peer.broadhash },
    }),
    ...at('/transactions', {
      ...{ id: transfer.id, type: transfer.type, data: 'a gr%', minAmount: 1, maxAmount: Number(5n * LSK) },
      ...{ recipientId: bob.address, recipientPublicKey: bob.publicKey, senderId: alice.address },
      ...{ senderPublicKey: alice.publicKey, senderIdOrRecipientId: alice.address },
    }),
    ...at('/events', {
      ...{ types: 'blocks/new', delegate: block.generatorPublicKey, finality: ['any', 'final'] },
      // With `follow: false`, the node ends the stream after the last existing event, so the test can read the whole
      // stream.
      ...{ fromHeight: 1, lastEventId: '0.0', follow: false },
    }),
    ...at('/docs', { plain: true }),
  };
}

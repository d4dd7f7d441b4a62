/**
 * Creates transactions of every type, and posts them to the nodes of a world. Uses the client library of lisk-sdk that
 * belongs to the network's generation.
 */

import { createRequire } from 'node:module';
import type { KnownAccount } from '../../src/cli/genesis/accounts-file.ts';
import type { Untyped } from '../support/untyped.ts';
import { ask } from './http.ts';
import type { InteropNode } from './nodes.ts';
import { eventually, namesOf } from './waiting.ts';
import type { World } from './world.ts';

const load = createRequire(import.meta.url);
const LSK = 100_000_000n;
const INCLUSION_MS_MAX = 120_000;
/**
 * Time in which a node must accept the signature that a group member has made for a transaction. A node refuses the
 * signature until it has received the transaction. Nodes announce new transactions to each other every five seconds.
 */
const KNOWN_MS_MAX = 60_000;

export class Wallet {
  /**
   * Ids of transactions that the wallet has posted. Each transaction is in a block on all nodes, or the wallet still
   * waits for such a block.
   */
  readonly sent: string[] = [];
  readonly #world: World;
  readonly #nodes: readonly InteropNode[];
  readonly #library: Untyped;
  readonly #common: object;
  #turn = 0;

  /** @param nodes nodes to which the wallet posts in turn; each transaction must reach the chains of all these nodes */
  constructor(world: World, nodes: readonly InteropNode[]) {
    this.#world = world;
    this.#nodes = nodes;
    const isThird = world.generation === 3;
    this.#library = load(isThird ? 'lisk-transactions-3' : 'lisk-transactions-2');
    this.#common = isThird ? { networkIdentifier: world.network.params.networkIdentifier } : {};
  }

  account(name: string): KnownAccount {
    const account = this.#world.accounts.find((each) => each.name === name);
    if (account === undefined) throw new Error(`no account ${name}`);
    return account;
  }

  transfer(from: KnownAccount, to: KnownAccount, beddows: bigint, more: object = {}): Untyped {
    const { passphrase } = from;
    return this.make('transfer', { amount: `${beddows}`, recipientId: to.address, passphrase, ...more });
  }

  /**
   * Posts transactions of each type. Among them are a transfer with data, a transfer with a second passphrase, an
   * unvote, the registration of a group, and a transfer of this group. The members of the group send their signatures
   * to different nodes. Resolves when all transactions are in blocks of all nodes.
   *
   * @param first number of the first account, in a name of the form `account_<number>`. The function uses this account
   *   and the next four accounts. These five accounts must not have sent any transaction before the call.
   */
  async everyType(first: number): Promise<void> {
    const [alice, bob, carol, dave, erin] = [0, 1, 2, 3, 4].map((index) =>
      this.account(`account_${first + index}`),
    ) as [KnownAccount, KnownAccount, KnownAccount, KnownAccount, KnownAccount];
    const secondPassphrase = 'a second passphrase';
    const [one, other] = [this.account('genesis_1'), this.account('genesis_2')];
    await this.include([
      this.transfer(alice, bob, 5n * LSK, { data: 'a grüezi' }),
      this.make('registerSecondPassphrase', { passphrase: bob.passphrase, secondPassphrase }),
      this.make('registerDelegate', { passphrase: carol.passphrase, username: `newcomer_${first}` }),
      this.make('castVotes', { passphrase: dave.passphrase, votes: [one.publicKey, other.publicKey] }),
    ]);
    await this.include([
      this.transfer(bob, alice, 2n * LSK, { secondPassphrase }),
      this.make('castVotes', { passphrase: alice.passphrase, votes: [carol.publicKey] }),
      this.make('castVotes', { passphrase: dave.passphrase, unvotes: [other.publicKey] }),
    ]);
    const group = this.make('registerMultisignature', {
      passphrase: erin.passphrase,
      keysgroup: [alice.publicKey, dave.publicKey],
      lifetime: 24,
      minimum: 2,
    });
    await this.#includeWithSignatures(group, [alice, dave]);
    await this.#includeWithSignatures(this.transfer(erin, carol, LSK), [alice, dave]);
  }

  /**
   * Posts each transaction to one node, and takes the nodes in turn. Resolves when all nodes have all these
   * transactions in blocks.
   */
  async include(transactions: readonly Untyped[]): Promise<void> {
    for (const transaction of transactions) await this.#post(transaction);
    for (const { id } of transactions) await this.#included(id);
  }

  /** Posts a transaction to the next node. @throws Error if the node refuses the transaction */
  async #post(transaction: Untyped): Promise<void> {
    const node = this.#next();
    await ask(node.url, 'transactions', { method: 'POST', body: transaction });
  }

  async #includeWithSignatures(transaction: Untyped, members: readonly KnownAccount[]): Promise<void> {
    await this.#post(transaction);
    for (const member of members) {
      const node = this.#next();
      const body = this.signature(transaction, member.passphrase);
      await eventually(`a signature for ${transaction.id} taken by ${node.name}`, KNOWN_MS_MAX, () =>
        ask(node.url, 'signatures', { method: 'POST', body }),
      );
    }
    await this.#included(transaction.id);
  }

  #included(id: string): Promise<unknown> {
    this.sent.push(id);
    return eventually(`transaction ${id} in a block of ${namesOf(this.#nodes)}`, INCLUSION_MS_MAX, async () => {
      const answers = await Promise.all(this.#nodes.map(({ url }) => ask(url, `transactions?id=${id}`)));
      const without = this.#nodes.filter((_, index) => answers[index].data.length === 0);
      if (without.length === 0) return true;
      throw new Error(`${namesOf(without)} without it`);
    });
  }

  /** Creates a transaction. @param kind name of the function in the client library that creates the transaction */
  make(kind: string, input: object): Untyped {
    return this.#library[kind]({ ...input, ...this.#common });
  }

  /** Creates the signature object of a group member for a transaction. */
  signature(transaction: Untyped, passphrase: string): Untyped {
    return this.#world.generation === 3
      ? this.#library.createSignatureObject({ transaction, passphrase, ...this.#common })
      : this.#library.createSignatureObject(transaction, passphrase);
  }

  #next(): InteropNode {
    const node = this.#nodes[this.#turn++ % this.#nodes.length];
    if (node === undefined) throw new Error('no node takes transactions');
    return node;
  }
}

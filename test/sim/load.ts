/**
 * Sends random transactions to random nodes, as clients do. Many of the transactions of `send` are invalid, and the
 * pools must reject these.
 */

import { hexOf } from '../../src/primitives/bytes.ts';
import type { KeyPair, Payload, Transaction } from '../../src/protocol/types.ts';
import { addressOfPair, keyPairOf, LSK, makeTransaction, publicKeyOf } from '../support/chain-maker.ts';
import type { SimNode } from './node.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { World } from './world.ts';

/**
 * Average number of transactions of each type among ten random transactions. The load contains no transactions of
 * applications (dapps), because generation 3 has no type for them.
 */
const TENTHS: Readonly<Record<Payload['kind'], number>> = {
  transfer: 4,
  vote: 3,
  delegate: 1,
  secondSignature: 1,
  multisignature: 1,
  dapp: 0,
  inTransfer: 0,
  outTransfer: 0,
};
const KINDS = (Object.keys(TENTHS) as Payload['kind'][]).flatMap((kind) => Array<typeof kind>(TENTHS[kind]).fill(kind));

export class Load {
  readonly #world: World;
  readonly #random: SeededRandom;
  readonly #people: readonly KeyPair[];
  readonly #seconds: readonly KeyPair[];
  /** Ids of the transfers that `startTransfers` has sent. */
  readonly sent: string[] = [];

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork('load');
    this.#people = [...world.network.accounts, keyPairOf('stranger 1'), keyPairOf('stranger 2')];
    this.#seconds = [0, 1, 2].map((number) => keyPairOf(`second ${number}`));
  }

  /** Sends one to three transactions at a time, at random intervals, until the world ends. */
  start(meanDelayMs: number): void {
    this.#world.time.schedule(this.#random.below(2 * meanDelayMs), () => {
      this.send();
      this.start(meanDelayMs);
    });
  }

  send(): void {
    const running = this.#world.honest;
    if (running.length === 0) return;
    const node = this.#random.pick(running);
    for (let count = this.#random.between(1, 3); count > 0; count -= 1) {
      const transaction = this.#transaction(node);
      node.engine.pool.submit(this.#world.rules.codec.transactionToJson(transaction));
    }
  }

  /**
   * Sends the given number of transfers per second, each to a random node, until the world ends. The transfers are
   * valid as long as the accounts of the senders have funds.
   */
  startTransfers(perSecond: number): void {
    this.#world.time.schedule(1000 / perSecond, () => {
      this.#sendTransfer();
      this.startTransfers(perSecond);
    });
  }

  #sendTransfer(): void {
    const { accounts } = this.#world.network;
    const node = this.#random.pick(this.#world.honest);
    const amount = BigInt(this.#random.below(1_000_000) + 1);
    const recipientId = addressOfPair(this.#random.pick(accounts));
    const transaction = makeTransaction(
      this.#world.params,
      this.#random.pick(accounts),
      { kind: 'transfer', amount, recipientId },
      { timestamp: node.engine.chain.nowS() - this.#random.between(60, 120) },
    );
    this.sent.push(transaction.id);
    node.engine.pool.submit(this.#world.rules.codec.transactionToJson(transaction));
  }

  #transaction(node: SimNode): Transaction {
    const sender = this.#random.pick(this.#people);
    const members = [...new Set([0, 1, 2].map(() => this.#random.pick(this.#people)))];
    const payload = this.#payload(this.#random.pick(KINDS), node, sender, members);
    const account = node.store.account(addressOfPair(sender));
    const second = this.#seconds.find((keyPair) => publicKeyOf(keyPair) === account?.secondPublicKey);
    const group = account?.group?.members ?? [];
    const signers =
      payload.kind === 'multisignature'
        ? members
        : this.#people.filter((keyPair) => group.includes(publicKeyOf(keyPair)));
    const isCareless = this.#random.chance(0.1);
    return makeTransaction(this.#world.params, sender, payload, {
      // The timestamp is at least one minute in the past, so that nodes whose clocks are behind accept the transaction,
      // too.
      timestamp: node.engine.chain.nowS() - this.#random.between(60, 120),
      ...(second === undefined || isCareless ? {} : { second }),
      ...(isCareless ? {} : { members: signers }),
    });
  }

  #payload(kind: Payload['kind'], node: SimNode, sender: KeyPair, members: readonly KeyPair[]): Payload {
    const random = this.#random;
    switch (kind) {
      case 'vote': {
        const voted = node.store.account(addressOfPair(sender))?.votes ?? [];
        const unvote = voted.length > 0 && random.chance(0.4) ? [`-${random.pick(voted)}`] : [];
        const wanted = publicKeyOf(random.pick([...this.#world.network.delegates, ...this.#people]));
        const votes = voted.includes(wanted) ? unvote : [...unvote, `+${wanted}`];
        const recipient = this.#world.params.generation === 2 ? { recipientId: addressOfPair(sender) } : {};
        return { kind, votes, amount: 0n, ...recipient };
      }
      case 'delegate':
        return { kind, username: `name_${random.below(30)}` };
      case 'secondSignature':
        return { kind, publicKey: hexOf(random.pick(this.#seconds).publicKey) };
      case 'multisignature': {
        const keysgroup = members.map((member) => `+${publicKeyOf(member)}`);
        return { kind, min: random.between(1, keysgroup.length), lifetime: random.between(1, 72), keysgroup };
      }
      case 'transfer': {
        const amount = BigInt(random.between(1, 2000)) * LSK + BigInt(random.below(1000));
        return { kind, amount, recipientId: addressOfPair(random.pick(this.#people)) };
      }
      case 'dapp':
      case 'inTransfer':
      case 'outTransfer':
        throw new RangeError(`no schedule has transactions of the kind ${kind}`);
    }
  }
}

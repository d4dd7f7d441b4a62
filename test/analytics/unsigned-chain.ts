/**
 * Generates a long chain, which fills a sink with many rows. The blocks follow all rules of generation 3 except one:
 * the signatures are zeros, because real signatures would take most of the time. The chain source (`unsignedChain`)
 * generates a block when the sink reads this block, and does not keep the block.
 */

import { selectEd25519, type Ed25519 } from '../../src/crypto/ed25519.ts';
import { sha256 } from '../../src/crypto/hash.ts';
import { addressOf } from '../../src/crypto/keys.ts';
import { hexOf, utf8 } from '../../src/primitives/bytes.ts';
import * as gen3Bytes from '../../src/protocol/gen3/transaction-bytes.ts';
import { createGen3Rules } from '../../src/protocol/gen3/rules.ts';
import { GEN3_TYPES } from '../../src/protocol/gen3/transaction-types.ts';
import { ownerOfSlot } from '../../src/protocol/rounds.ts';
import type { Rules, SignedHeader } from '../../src/protocol/rules.ts';
import { slotAt, slotStartS } from '../../src/protocol/slots.ts';
import type { Block, BlockHeader, KeyPair, Payload, Transaction } from '../../src/protocol/types.ts';
import { ChainState } from '../../src/sinks/chain-state.ts';
import type { ChainSource } from '../../src/sinks/source.ts';
import { LSK, makeNetwork, publicKeyOf, type TestNetwork } from '../support/chain-maker.ts';

export const TRANSACTIONS_PER_BLOCK = 25;
/** Number of accounts that the genesis block funds. These accounts then send a first balance to all other accounts. */
const FUNDED = 500;
const FUNDED_BALANCE = 80_000n * LSK;
const FIRST_AMOUNT = 200n * LSK;
/** In each group of this many transactions, the last is a vote. The others are transfers. */
const VOTE_EVERY = 1_000;
/** Number of different texts in the data fields of all transfers together. */
const TEXTS = 100_000;
const NO_SIGNATURE = '00'.repeat(64);

const unsigned: Ed25519 = { ...selectEd25519(), sign: () => Buffer.alloc(64), verify: () => true };

/**
 * Makes a source that generates its blocks. The sink can read each block only once, in the order of the heights.
 *
 * @param blocks number of blocks after the genesis block, each with `TRANSACTIONS_PER_BLOCK` transactions
 * @param addresses number of accounts that send and receive transfers; at least `FUNDED`
 */
export function unsignedChain(blocks: number, addresses: number): ChainSource {
  const network = makeNetwork({ generation: 3, accounts: FUNDED, accountBalance: FUNDED_BALANCE });
  const rules = createGen3Rules(network.params, { ed25519: unsigned });
  const maker = new UnsignedMaker(network, rules, addresses);
  const finalHeight = blocks + 1;
  return {
    rules,
    networkName: 'unsigned',
    height: () => Promise.resolve(finalHeight),
    finalHeight: () => Promise.resolve(finalHeight),
    async *blocks(fromHeight, toHeight) {
      yield* await Promise.resolve([]);
      if (fromHeight !== maker.nextHeight) throw new Error(`the chain is at height ${maker.nextHeight - 1}`);
      while (maker.nextHeight <= toHeight) yield maker.next();
    },
    async *changes(fromHeight) {
      while (fromHeight <= maker.nextHeight && maker.nextHeight <= finalHeight)
        yield await Promise.resolve({ kind: 'applied', block: maker.next() });
      yield { kind: 'final', height: finalHeight };
      yield { kind: 'caughtUp' };
    },
    close: () => Promise.resolve(),
  };
}

interface Sender {
  readonly publicKey: string;
  readonly address: string;
}

class UnsignedMaker {
  readonly #network: TestNetwork;
  readonly #rules: Rules;
  readonly #state = new ChainState();
  readonly #keyPairs: ReadonlyMap<string, KeyPair>;
  readonly #delegates: readonly string[];
  readonly #senders: readonly Sender[];
  readonly #forged = new Map<string, SignedHeader>();
  #transactions = 0;
  #transfers = 0;

  constructor(network: TestNetwork, rules: Rules, addresses: number) {
    this.#network = network;
    this.#rules = rules;
    this.#keyPairs = new Map(network.delegates.map((keyPair) => [publicKeyOf(keyPair), keyPair]));
    this.#delegates = [...this.#keyPairs.keys()];
    const funded = network.accounts.map(publicKeyOf);
    // The other accounts need no key pair, because their transactions have no real signatures.
    const others = Array.from({ length: addresses - FUNDED }, (_, index) => hexOf(sha256(utf8(`address ${index}`))));
    this.#senders = [...funded, ...others].map((publicKey) => ({ publicKey, address: addressOf(publicKey) }));
  }

  get nextHeight(): number {
    return (this.#state.tip()?.height ?? 0) + 1;
  }

  next(): Block {
    const tip = this.#state.tip();
    const block = tip === undefined ? this.#network.genesis : this.#forge(tip);
    this.#state.append(block, (state) => {
      if (tip === undefined) this.#rules.applyGenesis(state, block);
      else this.#rules.applyBlock(state, block, { nowS: block.timestamp, verify: () => true });
    });
    this.#state.settle(block.height);
    this.#forged.set(block.generatorPublicKey, { ...block, blockId: block.id });
    return block;
  }

  #forge(tip: BlockHeader): Block {
    const { params } = this.#network;
    const slot = slotAt(tip.timestamp, params) + 1;
    const owner = ownerOfSlot(this.#rules.forgers(this.#state, tip.height + 1), slot, params) ?? '';
    const timestamp = slotStartS(slot, params);
    const transactions = Array.from({ length: TRANSACTIONS_PER_BLOCK }, () => this.#transaction(timestamp));
    const block = this.#rules.forge(this.#state, tip, {
      keyPair: this.#keyPairs.get(owner)!,
      timestamp,
      transactions,
      previouslyForged: this.#forged.get(owner),
    });
    if (block.transactions.length < transactions.length) throw new Error(`block ${block.height} is not full`);
    return block;
  }

  #transaction(timestamp: number): Transaction {
    this.#transactions += 1;
    if (this.#transactions % VOTE_EVERY === 0) return this.#vote(this.#transactions / VOTE_EVERY - 1, timestamp);
    const number = this.#transfers;
    this.#transfers += 1;
    const newcomer = this.#senders[FUNDED + number];
    const sender = newcomer === undefined ? this.#drawn(number * 2) : this.#senders[number % FUNDED]!;
    const recipient = newcomer ?? this.#drawn(number * 2 + 1);
    const amount = newcomer === undefined ? 1000n + BigInt(number) : FIRST_AMOUNT;
    const payload = {
      kind: 'transfer',
      amount,
      recipientId: recipient.address,
      data: `order ${number % TEXTS}`,
    } as const;
    return unsignedTransaction(sender, payload, timestamp);
  }

  /**
   * Makes a vote transaction of the next funded account. The accounts take turns. An account votes for a delegate in
   * one turn, and removes the vote in its next turn.
   */
  #vote(number: number, timestamp: number): Transaction {
    const turn = Math.floor(number / FUNDED);
    const delegate = this.#delegates[Math.floor(turn / 2) % this.#delegates.length]!;
    const payload = { kind: 'vote', votes: [`${turn % 2 === 0 ? '+' : '-'}${delegate}`], amount: 0n } as const;
    return unsignedTransaction(this.#senders[number % FUNDED]!, payload, timestamp);
  }

  #drawn(number: number): Sender {
    return this.#senders[sha256(utf8(`${number}`)).readUInt32LE() % this.#senders.length]!;
  }
}

function unsignedTransaction(sender: Sender, payload: Payload, timestamp: number): Transaction {
  const type = [...GEN3_TYPES.values()].find(({ kind }) => kind === payload.kind)!;
  return gen3Bytes.withId({
    id: '',
    type: type.type,
    timestamp,
    senderPublicKey: sender.publicKey,
    senderId: sender.address,
    fee: type.fee(payload),
    payload,
    signature: NO_SIGNATURE,
    signatures: [],
  });
}

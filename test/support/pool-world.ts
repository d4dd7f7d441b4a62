/** A transaction pool with the rules of generation 3. A test controls the accounts, the time and the chain. */

import {
  type BaseTransaction,
  createSignatureObject,
  DelegateTransaction,
  MultisignatureTransaction,
  SecondSignatureTransaction,
  TransferTransaction,
  VoteTransaction,
} from 'lisk-transactions-3';
import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import { addressOf, keyPairOfPassphrase } from '../../src/crypto/keys.ts';
import { TransactionPool, type PoolLimits } from '../../src/engine/pool/pool.ts';
import { hexOf } from '../../src/primitives/bytes.ts';
import { SILENT } from '../../src/ports/observer.ts';
import { createGen3Rules } from '../../src/protocol/gen3/rules.ts';
import { signingDigest } from '../../src/protocol/gen3/transaction-bytes.ts';
import { NO_EXCEPTIONS, type ChainParams } from '../../src/protocol/params.ts';
import type { Rules } from '../../src/protocol/rules.ts';
import { emptyAccount, type Account } from '../../src/protocol/state.ts';
import type {
  Block,
  BlockHeader,
  JsonObject,
  MemberSignature,
  SignatureOracle,
  Transaction,
} from '../../src/protocol/types.ts';
import { MemoryState } from './memory-state.ts';
import type { Untyped } from './untyped.ts';

export const LSK = 100_000_000n;

export const params: ChainParams = {
  generation: 3,
  epochMs: Date.UTC(2016, 4, 24, 17),
  blockTimeS: 10,
  activeDelegates: 101,
  transactionsPerBlockMax: 25,
  rewards: { milestones: [0n], offset: 1, distance: 1000 },
  delegateListRoundOffset: 2,
  genesisBlockId: '1',
  nethash: 'ab'.repeat(32),
  communityIdentifier: 'Lisk',
  networkIdentifier: 'cd'.repeat(32),
  exceptions: NO_EXCEPTIONS,
};

/** A person who can sign. */
export interface Person {
  readonly passphrase: string;
  readonly publicKey: string;
  readonly address: string;
}

export function person(name: string): Person {
  const publicKey = hexOf(keyPairOfPassphrase(name).publicKey);
  return { passphrase: name, publicKey, address: addressOf(publicKey) };
}

export interface PoolWorldOptions {
  readonly limits?: Partial<PoolLimits>;
  /** Gets the rules of generation 3. The pool uses the rules that this function returns. */
  readonly bend?: (rules: Rules) => Rules;
}

const { networkIdentifier } = params;
const ed25519 = selectEd25519();

export class PoolWorld {
  readonly pool: TransactionPool;
  readonly rules: Rules;
  /** The state that the pool reads as the current state. */
  state = new MemoryState();
  /** Ids of the transactions that the pool reported in its events `verified` and `received`. */
  readonly verified: string[] = [];
  readonly received: string[] = [];
  readonly signatures: MemberSignature[] = [];
  /** Number of signature checks that the pool has requested so far. */
  checks = 0;
  /** Chain time: seconds since the epoch of the network. */
  nowS = 1_000_000;
  #timestamp = 100;
  #height = 0;

  constructor(options: PoolWorldOptions = {}) {
    const rules = createGen3Rules(params);
    this.rules = options.bend?.(rules) ?? rules;
    this.resetState();
    this.pool = new TransactionPool({
      rules: this.rules,
      state: () => this.state,
      tip: () => this.state.tip(),
      clock: { nowMs: () => this.nowMs },
      verify: this.verify,
      observer: SILENT,
      events: {
        verified: ({ id }) => this.verified.push(id),
        received: ({ id }) => this.received.push(id),
        signatureAdded: (signature) => this.signatures.push(signature),
      },
      ...(options.limits === undefined ? {} : { limits: options.limits }),
    });
  }

  readonly verify: SignatureOracle = (check) => {
    this.checks += 1;
    return ed25519.verify(check);
  };

  /** Unix time in milliseconds. */
  get nowMs(): number {
    return params.epochMs + this.nowS * 1000;
  }

  // ---- the chain ----------------------------------------------------------------------------------------------------

  /** Replaces the state with an empty state, and appends a first block. The pool keeps its transactions. */
  resetState(): void {
    this.state = new MemoryState();
    this.#height = 0;
    this.confirm([]);
  }

  setAccount({ publicKey, address }: Person, change: Partial<Account> = {}): void {
    const before = this.state.account(address) ?? emptyAccount(address);
    this.state.setAccount({ ...before, publicKey, balance: 1000n * LSK, ...change });
  }

  setDelegate(who: Person, username: string): void {
    this.setAccount(who, { username });
    const { publicKey, address } = who;
    this.state.setDelegate({ publicKey, address, username, voteWeight: 0n, pendingVoteWeight: 0n, rank: 0 });
  }

  /**
   * Appends a block with the transactions, but does not apply the transactions. The test itself must change the
   * accounts.
   */
  confirm(transactions: readonly Transaction[]): Block {
    this.#height += 1;
    const block = blockOf(this.#height, transactions);
    this.state.append(block, () => undefined);
    return block;
  }

  // ---- transactions as clients make them ----------------------------------------------------------------------------

  transfer(
    from: Person,
    to: Person,
    amount: bigint = LSK,
    more: { timestamp?: number; second?: string } = {},
  ): JsonObject {
    const asset = { amount: amount.toString(), recipientId: to.address };
    return this.#signed(new TransferTransaction({ ...this.#base(from, more.timestamp), asset }), from, more.second);
  }

  delegate(from: Person, username: string): JsonObject {
    return this.#signed(new DelegateTransaction({ ...this.#base(from), asset: { username } }), from);
  }

  vote(from: Person, votes: readonly string[]): JsonObject {
    return this.#signed(new VoteTransaction({ ...this.#base(from), asset: { votes } }), from);
  }

  secondSignature(from: Person, second: Person): JsonObject {
    return this.#signed(
      new SecondSignatureTransaction({ ...this.#base(from), asset: { publicKey: second.publicKey } }),
      from,
    );
  }

  multisignature(from: Person, members: readonly Person[], min: number): JsonObject {
    const asset = { min, lifetime: 1, keysgroup: members.map(({ publicKey }) => `+${publicKey}`) };
    return this.#signed(new MultisignatureTransaction({ ...this.#base(from), asset }), from);
  }

  signatureOf(member: Person, transaction: JsonObject): MemberSignature {
    return createSignatureObject({
      transaction: { ...transaction, networkIdentifier } as Untyped,
      passphrase: member.passphrase,
      networkIdentifier,
    });
  }

  /** The digest that the sender and the members of the sender's group sign. */
  signingDigest(json: JsonObject): Uint8Array {
    return signingDigest(this.read(json), networkIdentifier);
  }

  /** The transaction as the rules decode it. */
  read(json: JsonObject): Transaction {
    return this.rules.codec.transactionFromJson(json);
  }

  /** Submits a client's transaction to the pool, and returns its id. @throws an error if the pool refuses it */
  submit(json: JsonObject): string {
    const result = this.pool.submit(json);
    if (!result.accepted) throw new Error(`refused: ${JSON.stringify(result.errors)}`);
    return result.transaction.id;
  }

  /** By default, each transaction gets a new timestamp, so that no two transactions are equal. */
  #base({ publicKey }: Person, timestamp?: number): object {
    this.#timestamp += 1;
    return { networkIdentifier, senderPublicKey: publicKey, timestamp: timestamp ?? this.#timestamp };
  }

  #signed(transaction: BaseTransaction, { passphrase }: Person, second?: string): JsonObject {
    transaction.sign(passphrase, second);
    return JSON.parse(JSON.stringify(transaction.toJSON())) as JsonObject;
  }
}

/** A block with dummy values. */
export function blockOf(height: number, transactions: readonly Transaction[] = []): Block {
  const header: BlockHeader = {
    id: String(height),
    version: 2,
    height,
    timestamp: height * params.blockTimeS,
    ...(height === 1 ? {} : { previousBlockId: String(height - 1) }),
    numberOfTransactions: transactions.length,
    totalAmount: 0n,
    totalFee: 0n,
    reward: 0n,
    payloadLength: 0,
    payloadHash: '00'.repeat(32),
    generatorPublicKey: '11'.repeat(32),
    blockSignature: '22'.repeat(64),
    maxHeightPreviouslyForged: 0,
    maxHeightPrevoted: 0,
  };
  return { ...header, transactions };
}

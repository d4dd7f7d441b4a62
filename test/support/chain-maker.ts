/** Makes networks and chains in memory: a genesis block, and then blocks that `Rules.forge` builds, as in a node. */

import { selectEd25519, type Ed25519 } from '../../src/crypto/ed25519.ts';
import { addressOf } from '../../src/crypto/keys.ts';
import { sha256 } from '../../src/crypto/hash.ts';
import { hexOf, utf8 } from '../../src/primitives/bytes.ts';
import { headerBytes, headerId } from '../../src/protocol/block/header.ts';
import { payloadHashOf } from '../../src/protocol/block/validate.ts';
import { gen2GenesisFormat } from '../../src/protocol/gen2/genesis-format.ts';
import { LEGACY_LAYOUTS } from '../../src/protocol/gen2/layouts.ts';
import { createGen2Rules } from '../../src/protocol/gen2/rules.ts';
import * as gen2Bytes from '../../src/protocol/gen2/transaction-bytes.ts';
import * as gen3Bytes from '../../src/protocol/gen3/transaction-bytes.ts';
import { gen3GenesisFormat } from '../../src/protocol/gen3/genesis-format.ts';
import { createGen3Rules, type Gen3Options } from '../../src/protocol/gen3/rules.ts';
import { GEN3_TYPES } from '../../src/protocol/gen3/transaction-types.ts';
import { buildGenesis, type GenesisRequest } from '../../src/protocol/genesis.ts';
import type { ChainParams } from '../../src/protocol/params.ts';
import { ownerOfSlot } from '../../src/protocol/rounds.ts';
import type { Rules, SignedHeader } from '../../src/protocol/rules.ts';
import { slotAt, slotStartS } from '../../src/protocol/slots.ts';
import type {
  Block,
  JsonObject,
  KeyPair,
  Payload,
  PublicKey,
  SignatureCheck,
  Transaction,
} from '../../src/protocol/types.ts';
import { paramsWith } from './fixtures.ts';
import { MemoryState } from './memory-state.ts';

export const LSK = 100_000_000n;

const ed25519: Ed25519 = selectEd25519();

/** Verifies signatures without a cache. */
export const verify = (check: SignatureCheck): boolean => ed25519.verify(check);

export interface TestNetwork {
  readonly params: ChainParams;
  readonly genesis: Block;
  /** The genesis block in the reference's file format. */
  readonly genesisJson: JsonObject;
  /** The key pair that signs the genesis block. */
  readonly generator: KeyPair;
  /**
   * The account that holds the rest of the supply, which the accounts in `accounts` do not hold. This account votes for
   * all delegates.
   */
  readonly funder: KeyPair;
  readonly delegates: readonly KeyPair[];
  /** Accounts with funds. */
  readonly accounts: readonly KeyPair[];
}

export interface NetworkOptions extends Partial<ChainParams> {
  /** Number of registered delegates; default: 101. */
  readonly delegates?: number;
  /** Number of funded accounts; default: 10. */
  readonly accounts?: number;
  /** Balance of each funded account in beddows; default: 10,000 LSK. */
  readonly accountBalance?: bigint;
  /**
   * Votes of funded accounts, in addition to the votes of the funder. `account` and `delegates` are indexes in the
   * lists of `TestNetwork`.
   */
  readonly votes?: readonly { readonly account: number; readonly delegates: readonly number[] }[];
}

/** Derives a key pair from a name. Equal names give equal key pairs. */
export function keyPairOf(name: string): KeyPair {
  return ed25519.keyPairOfSeed(sha256(utf8(name)));
}

export function publicKeyOf(keyPair: KeyPair): PublicKey {
  return hexOf(keyPair.publicKey);
}

export function addressOfPair(keyPair: KeyPair): string {
  return addressOf(publicKeyOf(keyPair));
}

/**
 * Makes a network for tests: its parameters, its genesis block, and the key pairs of its delegates and accounts. Equal
 * options make equal networks.
 */
export function makeNetwork(options: NetworkOptions = {}): TestNetwork {
  const { delegates: delegateCount = 101, accounts: accountCount = 10, accountBalance, votes, ...changes } = options;
  const amount = accountBalance ?? 10_000n * LSK;
  const numbered = (count: number, name: string): KeyPair[] =>
    Array.from({ length: count }, (_, index) => keyPairOf(`${name} ${index + 1}`));
  const generator = keyPairOf('generator');
  const funder = keyPairOf('genesis');
  const delegates = numbered(delegateCount, 'delegate');
  const accounts = numbered(accountCount, 'account');
  const base = paramsWith(changes);
  const request: GenesisRequest = {
    communityIdentifier: base.communityIdentifier,
    generator,
    funder,
    delegates: delegates.map((keyPair, index) => ({ keyPair, username: `genesis_${index + 1}` })),
    accounts: accounts.map((keyPair) => ({ address: addressOfPair(keyPair), amount })),
    votes: (votes ?? []).map((vote) => ({
      voter: pick(accounts, vote.account),
      delegates: vote.delegates.map((index) => publicKeyOf(pick(delegates, index))),
    })),
  };
  // Networks of generation 3 that started as generation 2 have a genesis block of version 0.
  const isOld = base.generation === 2 || base.exceptions.blockVersions.has(0);
  const format = isOld ? gen2GenesisFormat : gen3GenesisFormat;
  const { block, json, nethash, networkIdentifier } = buildGenesis(request, format, ed25519);
  const params = { ...base, genesisBlockId: block.id, nethash, networkIdentifier };
  return { params, genesis: block, genesisJson: json, generator, funder, delegates, accounts };
}

/**
 * The transaction types that both generations accept. No current network accepts the other types, which belong to
 * dapps.
 */
export type LiveKind = Exclude<Payload['kind'], 'dapp' | 'inTransfer' | 'outTransfer'>;
const EACH_LIVE_KIND: Readonly<Record<LiveKind, true>> = {
  transfer: true,
  secondSignature: true,
  delegate: true,
  vote: true,
  multisignature: true,
};
export const LIVE_KINDS = Object.keys(EACH_LIVE_KIND) as LiveKind[];

export interface TransactionOptions {
  readonly timestamp?: number;
  /** Second key pair of the sender. */
  readonly second?: KeyPair;
  /**
   * Key pairs of the members who sign. They are members of the sender's multisignature group, or of the group that the
   * transaction registers.
   */
  readonly members?: readonly KeyPair[];
  /** True for a transaction type of generation 2, as in the oldest blocks of a chain of generation 3. */
  readonly isOld?: boolean;
}

export interface ForgeOptions {
  /** Candidate transactions. The block omits invalid ones. */
  readonly transactions?: readonly Transaction[];
  /** Number of slots without a block before this block. */
  readonly missedSlots?: number;
  /**
   * The header that the forger seems to have signed last. Default: the forger's newest header in the journal of the
   * `ChainMaker`.
   */
  readonly previouslyForged?: SignedHeader;
}

/** Extends one chain from the genesis block. */
export class ChainMaker {
  readonly network: TestNetwork;
  readonly rules: Rules;
  readonly state = new MemoryState();
  readonly #keyPairs = new Map<PublicKey, KeyPair>();
  readonly #journal = new Map<PublicKey, SignedHeader>();

  constructor(network: TestNetwork = makeNetwork(), options: Gen3Options = {}) {
    this.network = network;
    this.rules =
      network.params.generation === 2 ? createGen2Rules(network.params) : createGen3Rules(network.params, options);
    this.state.append(network.genesis, (state) => {
      this.rules.applyGenesis(state, network.genesis);
    });
    for (const keyPair of [...network.delegates, ...network.accounts]) this.know(keyPair);
  }

  get tip(): Block {
    return this.state.tip();
  }

  /** Adds the key pair of a delegate or a future delegate, so that the maker can forge for the delegate. */
  know(keyPair: KeyPair): void {
    this.#keyPairs.set(publicKeyOf(keyPair), keyPair);
  }

  /**
   * Skips `missedSlots` slots after the tip. Then finds the first slot whose owner is a delegate with a key pair in
   * this maker.
   */
  nextSlot(missedSlots = 0): { readonly slot: number; readonly keyPair: KeyPair } {
    const { params } = this.network;
    const order = this.rules.forgers(this.state, this.tip.height + 1);
    const first = slotAt(this.tip.timestamp, params) + 1 + missedSlots;
    for (let slot = first; slot < first + 1000; slot += 1) {
      const keyPair = this.#keyPairs.get(ownerOfSlot(order, slot, params) ?? '');
      if (keyPair !== undefined) return { slot, keyPair };
    }
    throw new Error('nobody can forge');
  }

  /** Forges the next block without applying it. */
  build(options: ForgeOptions = {}): Block {
    const { slot, keyPair } = this.nextSlot(options.missedSlots);
    return this.rules.forge(this.state, this.tip, {
      keyPair,
      timestamp: slotStartS(slot, this.network.params),
      transactions: options.transactions ?? [],
      previouslyForged: options.previouslyForged ?? this.#journal.get(publicKeyOf(keyPair)),
    });
  }

  /**
   * Validates and applies a block. The method takes the timestamp of the block as the current time.
   */
  apply(block: Block): void {
    this.rules.validateBlock(block, verify);
    this.state.append(block, (state) => {
      this.rules.applyBlock(state, block, { nowS: block.timestamp, verify });
    });
    this.#journal.set(block.generatorPublicKey, { ...block, blockId: block.id });
  }

  forge(options: ForgeOptions = {}): Block {
    const block = this.build(options);
    this.apply(block);
    return block;
  }

  /** Forges empty blocks until the tip has the given height. */
  growTo(height: number): Block {
    while (this.tip.height < height) this.forge();
    return this.tip;
  }

  /** Signs a transaction for this network. The default timestamp is the timestamp of the tip. */
  transaction(sender: KeyPair, payload: Payload, options: TransactionOptions = {}): Transaction {
    return makeTransaction(this.network.params, sender, payload, { timestamp: this.tip.timestamp, ...options });
  }

  transfer(sender: KeyPair, recipient: KeyPair, amount: bigint, options: TransactionOptions = {}): Transaction {
    return this.transaction(sender, { kind: 'transfer', amount, recipientId: addressOfPair(recipient) }, options);
  }
}

/** Makes and signs a transaction of any type that the generation of `params` has. */
export function makeTransaction(
  params: ChainParams,
  sender: KeyPair,
  payload: Payload,
  options: TransactionOptions = {},
): Transaction {
  const bytes = params.generation === 2 ? gen2Bytes : gen3Bytes;
  const isOld = params.generation === 2 || options.isOld === true;
  const type = [...(isOld ? LEGACY_LAYOUTS : GEN3_TYPES).values()].find((each) => each.kind === payload.kind);
  if (type === undefined) throw new Error(`generation ${params.generation} has no ${payload.kind} transactions`);
  const senderPublicKey = publicKeyOf(sender);
  const senderId = addressOf(senderPublicKey);
  const draft: Transaction = {
    id: '',
    type: type.type,
    timestamp: options.timestamp ?? 0,
    senderPublicKey,
    senderId,
    fee: type.fee(payload),
    payload: isOld && payload.kind === 'vote' ? { recipientId: senderId, ...payload } : payload,
    signature: '',
    signatures: [],
  };
  const sign = (digest: Uint8Array, keyPair: KeyPair): string => hexOf(ed25519.sign(digest, keyPair.privateKey));
  const digest = bytes.signingDigest(draft, params.networkIdentifier);
  const signed = { ...draft, signature: sign(digest, sender) };
  return bytes.withId({
    ...signed,
    ...(options.second === undefined
      ? {}
      : { signSignature: sign(bytes.secondSigningDigest(signed, params.networkIdentifier), options.second) }),
    signatures: (options.members ?? []).map((member) => sign(digest, member)),
  });
}

/**
 * Changes fields of a block and signs the block again, so that the signature is valid. The signer becomes the generator
 * of the block.
 */
export function signBlock(block: Block, changes: Partial<Block>, keyPair: KeyPair): Block {
  const changed = { ...block, ...changes, generatorPublicKey: publicKeyOf(keyPair) };
  const signature = ed25519.sign(sha256(headerBytes(changed)), keyPair.privateKey);
  const signed = { ...changed, blockSignature: hexOf(signature) };
  return { ...signed, id: headerId(signed) };
}

/**
 * Replaces the transactions of a block of generation 3, updates the totals and the payload hash in the header, and
 * signs the block again. The field `payloadLength` does not change.
 */
export function withPayload(block: Block, keyPair: KeyPair, transactions: readonly Transaction[]): Block {
  const totals = {
    transactions,
    numberOfTransactions: transactions.length,
    totalAmount: transactions.reduce((sum, { payload }) => sum + ('amount' in payload ? payload.amount : 0n), 0n),
    totalFee: transactions.reduce((sum, { fee }) => sum + fee, 0n),
    payloadHash: payloadHashOf(transactions, { headerBytes, transactionBytes: gen3Bytes.transactionBytes }),
  };
  return signBlock(block, totals, keyPair);
}

function pick<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new Error(`there is no number ${index}`);
  return item;
}

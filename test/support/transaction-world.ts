/**
 * A state in memory, with functions that fund accounts and sign transactions of these accounts. Tests of single rules
 * use this state.
 */

import { sha256 } from '../../src/crypto/hash.ts';
import { defaultEd25519 } from '../../src/crypto/ed25519.ts';
import { bytesOfHex, hexOf } from '../../src/primitives/bytes.ts';
import { createGen3Codec, signedBytes } from '../../src/protocol/gen3/codec.ts';
import { createTransactionRules } from '../../src/protocol/gen3/transactions.ts';
import type { ChainParams } from '../../src/protocol/params.ts';
import type { Rules } from '../../src/protocol/rules.ts';
import { emptyAccount, StateOverlay, type Account } from '../../src/protocol/state.ts';
import type { JsonObject, SignatureOracle, Transaction } from '../../src/protocol/types.ts';
import type { TransactionVerdict } from '../../src/protocol/verdict.ts';
import { paramsWith } from './fixtures.ts';
import { MemoryState } from './memory-state.ts';
import { SIGNERS, type Gen3Type, type Signer } from './reference-transactions.ts';

export const LSK = 100_000_000n;

const ed25519 = defaultEd25519();

export const verify: SignatureOracle = (check) => ed25519.verify(check);

export interface SendOptions {
  readonly timestamp?: number;
  readonly second?: Signer;
  readonly members?: readonly Signer[];
}

export class TransactionWorld {
  readonly state = new MemoryState();
  readonly params: ChainParams;
  readonly rules: ReturnType<typeof createTransactionRules>;
  readonly codec: Rules['codec'];

  constructor(changes: Partial<ChainParams> = {}) {
    this.params = paramsWith(changes);
    const codec = createGen3Codec(this.params);
    this.codec = codec;
    this.rules = createTransactionRules(this.params, codec);
  }

  /** Gives a signer an account; default balance: 1,000 LSK. */
  fund(signer: Signer, changes: Partial<Account> = {}): void {
    this.state.setAccount({ ...emptyAccount(signer.address), balance: 1000n * LSK, ...changes });
  }

  /** Makes a signer a delegate. */
  elect(signer: Signer, username: string): void {
    const { publicKey, address } = signer;
    const account = this.state.account(address) ?? emptyAccount(address);
    this.state.setAccount({ ...account, publicKey, username });
    this.state.setDelegate({ publicKey, address, username, voteWeight: 0n, pendingVoteWeight: 0n, rank: 0 });
  }

  signed(type: Gen3Type, sender: Signer, asset: JsonObject, options: SendOptions = {}): Transaction {
    const { timestamp = 1, second, members = [] } = options;
    const unsigned = { type, timestamp, senderPublicKey: sender.publicKey, asset, signature: '00'.repeat(64) };
    const bytes = signedBytes(this.codec.transactionFromJson(unsigned), this.params.networkIdentifier);
    const sign = (by: Signer, ...parts: Uint8Array[]): string =>
      hexOf(ed25519.sign(sha256(...parts), by.keyPair.privateKey));
    const signature = sign(sender, bytes);
    return this.codec.transactionFromJson({
      ...unsigned,
      signature,
      ...(second === undefined ? {} : { signSignature: sign(second, bytes, bytesOfHex(signature)) }),
      signatures: members.map((member) => sign(member, bytes)),
    });
  }

  transfer(sender: Signer, recipient: Signer, amount: bigint, options: SendOptions = {}): Transaction {
    const asset = { amount: amount.toString(), recipientId: recipient.address };
    return this.signed(8, sender, asset, options);
  }

  vote(sender: Signer, ...votes: readonly string[]): Transaction {
    return this.signed(11, sender, { votes });
  }

  /** Applies transactions permanently. A failing or pending transaction changes nothing. */
  apply(...transactions: readonly Transaction[]): readonly TransactionVerdict[] {
    return this.rules.applyInSequence(this.state, transactions, verify).verdicts;
  }

  /** Returns the verdict on a transaction at the chain time `nowS`, without a change of the state. */
  judge(transaction: Transaction, nowS = 1_000_000): TransactionVerdict {
    return this.rules.verifyTransaction(this.state, transaction, nowS, verify);
  }

  /** Applies transactions to a copy of the state and returns the copy. */
  applied(...transactions: readonly Transaction[]): StateOverlay {
    const overlay = new StateOverlay(this.state);
    this.rules.applyInSequence(overlay, transactions, verify);
    return overlay;
  }
}

/** The messages of a refusal; `ok` if the transaction is valid. */
export function messagesOf(verdict: TransactionVerdict | undefined): readonly string[] | 'ok' {
  if (verdict === undefined || verdict.status === 'ok') return 'ok';
  return verdict.errors.map(({ message }) => message);
}

/** Returns a signer that has no account in a new world. */
export function nobody(index: number): Signer {
  const signer = SIGNERS[index];
  if (signer === undefined) throw new Error(`there are only ${SIGNERS.length} signers`);
  return signer;
}

/**
 * Builds the genesis block of a new network. The same `GenesisRequest` always gives the same block. No node verifies
 * the signatures of a genesis block. The network identifier depends on the payload hash, and the payload hash depends
 * on the signatures of the transactions. These signatures can therefore not cover the network identifier.
 */

import type { Ed25519 } from '../crypto/ed25519.ts';
import { idOf, sha256, sha256Hex } from '../crypto/hash.ts';
import { addressOf } from '../crypto/keys.ts';
import { hexOf, utf8 } from '../primitives/bytes.ts';
import { ProtocolError } from '../primitives/errors.ts';
import { GENESIS_TRANSACTIONS_MAX } from './block/read-json.ts';
import { payloadHashOf, type BlockFormat } from './block/validate.ts';
import { GENESIS_SUPPLY } from './params.ts';
import { totalAmountOf } from './tx/amounts.ts';
import type { Address, Block, JsonObject, KeyPair, Payload, PayloadKind, PublicKey, Transaction } from './types.ts';

/** The format of a genesis block in a generation. */
export interface GenesisFormat extends BlockFormat {
  readonly blockVersion: number;
  /** The type number that a kind of transaction has in the generation. */
  typeOf(kind: PayloadKind): number;
  /** Returns the bytes of a transaction, without signatures and without the network identifier. */
  basicBytes(transaction: Transaction): Uint8Array;
  /** Returns the payload of a vote transaction in this generation. */
  votePayload(votes: readonly string[], voter: Address): Payload;
  /** Returns the genesis block in the file format of lisk-sdk. */
  toJson(genesis: Block, communityIdentifier: string): JsonObject;
}

interface GenesisDelegate {
  readonly keyPair: KeyPair;
  readonly username: string;
}

export interface GenesisRequest {
  readonly communityIdentifier: string;
  /**
   * Key pair of the account that signs the block and pays out the supply. After the genesis block, this account has a
   * negative balance: minus the whole supply, in beddows.
   */
  readonly generator: KeyPair;
  /**
   * Key pair of the account that gets the whole supply, pays the transfers to `accounts`, and votes for all delegates.
   */
  readonly funder: KeyPair;
  readonly delegates: readonly GenesisDelegate[];
  /** Accounts to which the funder transfers beddows in the genesis block, each with the amount of the transfer. */
  readonly accounts?: readonly { readonly address: Address; readonly amount: bigint }[];
  /** Further votes, in addition to the votes of the funder. */
  readonly votes?: readonly { readonly voter: KeyPair; readonly delegates: readonly PublicKey[] }[];
}

export interface Genesis {
  readonly block: Block;
  /** Content of the file `genesis.json`, which is in the folder with the settings of the network. */
  readonly json: JsonObject;
  /** Payload hash of the block. In generation 2, this hash identifies the network. */
  readonly nethash: string;
  /** The identifier of the network in generation 3, hexadecimal. */
  readonly networkIdentifier: string;
}

/**
 * @throws ProtocolError `GENESIS_INVALID` if there are no delegates, if the amount of an account is not above 0, or if
 *   the accounts get more than the supply. The function also throws this error if two delegates, two usernames or two
 *   transactions are equal. For example, two transfers of the same amount to the same account are equal. The function
 *   also throws this error if the block would have more than `GENESIS_TRANSACTIONS_MAX` transactions
 */
export function buildGenesis(request: GenesisRequest, format: GenesisFormat, ed25519: Ed25519): Genesis {
  const ordered = orders(request, format);
  if (ordered.length > GENESIS_TRANSACTIONS_MAX) {
    const reason = `it would have ${ordered.length} transactions, and ${GENESIS_TRANSACTIONS_MAX} is the maximum`;
    throw invalid(reason, { transactions: ordered.length });
  }
  const transactions = ordered.map(({ sender, payload }) => signedTransaction(sender, payload, format, ed25519));
  checkDistinct(transactions);
  const generatorPublicKey = hexOf(request.generator.publicKey);
  const unsigned: Block = {
    id: '',
    version: format.blockVersion,
    height: 1,
    timestamp: 0,
    numberOfTransactions: transactions.length,
    totalAmount: totalAmountOf(transactions) ?? 0n,
    totalFee: 0n,
    reward: 0n,
    payloadLength: transactions.reduce((total, each) => total + format.transactionBytes(each).length, 0),
    payloadHash: payloadHashOf(transactions, format),
    generatorPublicKey,
    blockSignature: '',
    maxHeightPreviouslyForged: 0,
    maxHeightPrevoted: 0,
    transactions,
  };
  const bytes = format.headerBytes(unsigned);
  const signature = ed25519.sign(sha256(bytes), request.generator.privateKey);
  const block = { ...unsigned, id: idOf(Buffer.concat([bytes, signature])), blockSignature: hexOf(signature) };
  return {
    block,
    json: format.toJson(block, request.communityIdentifier),
    nethash: block.payloadHash,
    networkIdentifier: networkIdentifierOf(block.payloadHash, request.communityIdentifier),
  };
}

/**
 * Computes the SHA-256 hash of the UTF-8 text `nethash + communityIdentifier`, and returns the hash as hexadecimal
 * text.
 */
export function networkIdentifierOf(nethash: string, communityIdentifier: string): string {
  return sha256Hex(utf8(nethash + communityIdentifier));
}

interface Order {
  readonly sender: KeyPair;
  readonly payload: Payload;
}

function orders(request: GenesisRequest, format: GenesisFormat): Order[] {
  const { generator, funder, delegates, accounts = [], votes = [] } = request;
  const given = accounts.reduce((total, { amount }) => total + amount, 0n);
  if (given > GENESIS_SUPPLY) throw invalid('the accounts get more than the supply', { given });
  if (accounts.some(({ amount }) => amount <= 0n)) throw invalid('an account is given nothing', {});
  if (delegates.length === 0) throw invalid('no delegate is registered', {});
  const keys = delegates.map(({ keyPair }) => hexOf(keyPair.publicKey));
  const voters = [{ voter: funder, delegates: keys }, ...votes];
  const transfer = (recipientId: Address, amount: bigint): Payload => ({ kind: 'transfer', amount, recipientId });
  return [
    { sender: generator, payload: transfer(addressOf(hexOf(funder.publicKey)), GENESIS_SUPPLY) },
    ...accounts.map(({ address, amount }) => ({ sender: funder, payload: transfer(address, amount) })),
    ...delegates.map(({ keyPair, username }): Order => ({ sender: keyPair, payload: { kind: 'delegate', username } })),
    ...voters.map((each) => ({
      sender: each.voter,
      payload: format.votePayload(
        each.delegates.map((key) => `+${key}`),
        addressOf(hexOf(each.voter.publicKey)),
      ),
    })),
  ];
}

function signedTransaction(sender: KeyPair, payload: Payload, format: GenesisFormat, ed25519: Ed25519): Transaction {
  const senderPublicKey = hexOf(sender.publicKey);
  const unsigned: Transaction = {
    id: '',
    type: format.typeOf(payload.kind),
    timestamp: 0,
    senderPublicKey,
    senderId: addressOf(senderPublicKey),
    fee: 0n,
    payload,
    signature: '',
    signatures: [],
  };
  const signature = hexOf(ed25519.sign(sha256(format.basicBytes(unsigned)), sender.privateKey));
  const signed = { ...unsigned, signature };
  return { ...signed, id: idOf(format.transactionBytes(signed)) };
}

function checkDistinct(transactions: readonly Transaction[]): void {
  const ids = new Set<string>();
  const usernames = new Set<string>();
  const delegates = new Set<PublicKey>();
  for (const { id, payload, senderPublicKey } of transactions) {
    if (ids.has(id)) throw invalid('two of its transactions are equal', { id });
    ids.add(id);
    if (payload.kind !== 'delegate') continue;
    if (usernames.has(payload.username)) throw invalid('a username is given twice', { username: payload.username });
    if (delegates.has(senderPublicKey)) throw invalid('a delegate is registered twice', { senderPublicKey });
    usernames.add(payload.username);
    delegates.add(senderPublicKey);
  }
}

function invalid(reason: string, data: Readonly<Record<string, unknown>>): ProtocolError {
  return new ProtocolError('GENESIS_INVALID', data, `A genesis block cannot be built: ${reason}.`);
}

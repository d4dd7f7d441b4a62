/**
 * Assembles blocks from the event stream of a node. The stream has one event for the header of a block, and then one
 * event for each transaction of the block.
 */

import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { Codec } from '../../protocol/rules.ts';
import type { Block, BlockHeader, Transaction } from '../../protocol/types.ts';
import type { NodeEventJson } from '../event-stream.ts';
import { connectionLost } from './node-retry.ts';

type BlockJson = Omit<BlockHeader, 'totalAmount' | 'totalFee' | 'reward'> & {
  readonly totalAmount: string;
  readonly totalFee: string;
  readonly reward: string;
  readonly maxHeightPreviouslyForged?: number;
  readonly maxHeightPrevoted?: number;
};

interface TransactionJson {
  readonly id: string;
  readonly blockId: string;
  readonly type: number;
  readonly asset: Readonly<Record<string, unknown>>;
}

/** Types of delegate registrations: 2 (introduced by generation 2) and 10 (introduced by generation 3). */
const DELEGATE_TYPES: ReadonlySet<number> = new Set([2, 10]);

export class BlockReader {
  readonly #codec: Codec;
  readonly #genesis: Block;
  readonly #base: string;
  #header: BlockHeader | undefined;
  #transactions: Transaction[] = [];

  /**
   * @param genesis genesis block of the network. The reader returns this block for an event of height 1, because some
   *   transactions of the genesis block cannot be decoded from events
   * @param base URL of the node, for error messages
   */
  constructor(codec: Codec, genesis: Block, base: string) {
    this.#codec = codec;
    this.#genesis = genesis;
    this.#base = base;
  }

  /**
   * Reads the next event.
   *
   * @returns the complete block if the event is the last event of the block; otherwise undefined
   * @throws ProtocolError `NODE_ANSWER_MALFORMED` for an event that is malformed or contains a transaction of another
   *   block; the error of `connectionLost` if a new block begins before all transactions of the current block have
   *   arrived
   */
  read(event: NodeEventJson): Block | undefined {
    if (event.event === 'blocks/new' && this.#header !== undefined)
      throw connectionLost(this.#base, new Error(`transactions of block ${this.#header.height} are missing`));
    try {
      return this.#read(event);
    } catch (error) {
      if (error instanceof ProtocolError && error.code === 'NODE_ANSWER_MALFORMED') throw error;
      const height = this.#header === undefined ? 'a block' : `block ${this.#header.height}`;
      throw malformed(`${height} that does not decode (${messageOf(error)})`, error);
    }
  }

  #read({ event, data }: NodeEventJson): Block | undefined {
    if (event === 'blocks/new') {
      this.#header = headerOf(data as BlockJson);
      this.#transactions = [];
      if (this.#header.height === 1) return this.#whole(this.#genesis);
    } else if (event === 'transactions/included') {
      if (this.#header === undefined) return undefined;
      const json = data as TransactionJson;
      if (json.blockId !== this.#header.id)
        throw malformed(`transaction ${json.id} is not of block ${this.#header.id}`);
      this.#transactions.push(this.#transactionOf(json));
    } else return undefined;
    const header = this.#header;
    if (this.#transactions.length < header.numberOfTransactions) return undefined;
    return this.#whole({ ...header, transactions: this.#transactions });
  }

  #whole(block: Block): Block {
    this.#header = undefined;
    this.#transactions = [];
    return block;
  }

  #transactionOf(json: TransactionJson): Transaction {
    // In events, nodes add the members `publicKey` and `address` to the asset of a delegate registration. The signed
    // asset does not contain these members, so the reader removes the members before it decodes the transaction.
    const { publicKey: _publicKey, address: _address, ...asset } = delegateOf(json) ?? {};
    const own = delegateOf(json) === undefined ? json.asset : 'delegate' in json.asset ? { delegate: asset } : asset;
    const transaction = this.#codec.transactionFromJson({ ...json, asset: own });
    if (transaction.id === json.id) return transaction;
    throw malformed(`transaction ${json.id} has the id ${transaction.id}`);
  }
}

function delegateOf({ type, asset }: TransactionJson): Readonly<Record<string, unknown>> | undefined {
  if (!DELEGATE_TYPES.has(type)) return undefined;
  return (asset['delegate'] ?? asset) as Readonly<Record<string, unknown>>;
}

function headerOf(json: BlockJson): BlockHeader {
  const { previousBlockId, maxHeightPreviouslyForged = 0, maxHeightPrevoted = 0 } = json;
  return {
    id: json.id,
    version: json.version,
    height: json.height,
    timestamp: json.timestamp,
    ...(previousBlockId ? { previousBlockId } : {}),
    numberOfTransactions: json.numberOfTransactions,
    totalAmount: BigInt(json.totalAmount),
    totalFee: BigInt(json.totalFee),
    reward: BigInt(json.reward),
    payloadLength: json.payloadLength,
    payloadHash: json.payloadHash,
    generatorPublicKey: json.generatorPublicKey,
    blockSignature: json.blockSignature,
    maxHeightPreviouslyForged,
    maxHeightPrevoted,
  };
}

export function malformed(what: string, cause?: unknown): ProtocolError {
  return new ProtocolError('NODE_ANSWER_MALFORMED', {}, `the node sent an answer that no node sends: ${what}`, {
    cause,
  });
}

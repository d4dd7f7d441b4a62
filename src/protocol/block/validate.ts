/**
 * Defines the checks of a block for which the node needs no other block of the chain. Both generations share these
 * checks. `gen2/blocks.ts` and `gen3/blocks.ts` call the checks and make further checks.
 */

import { sha256, sha256Hex } from '../../crypto/hash.ts';
import { bytesOfHex } from '../../primitives/bytes.ts';
import { PAYLOAD_BYTES_MAX, type ChainParams } from '../params.ts';
import type { Rules } from '../rules.ts';
import { countedAmount, totalAmountOf } from '../tx/amounts.ts';
import type { Block, BlockHeader, SignatureCheck, SignatureOracle, Transaction, TransactionId } from '../types.ts';
import { BlockRejected, textOfTransactionError } from '../verdict.ts';
import type { TransactionError } from '../verdict.ts';

/** The functions of a generation that return the bytes for a signature or for a hash. */
export interface BlockFormat {
  /** The bytes that the generator signs: the header without its signature. */
  headerBytes(header: BlockHeader): Uint8Array;
  /**
   * The bytes from which the id of a transaction is computed. The bytes include the primary and the second signature,
   * but not the signatures of members of a multisignature group.
   */
  transactionBytes(transaction: Transaction): Uint8Array;
}

/**
 * Computes the SHA-256 hash of the bytes of all transactions in their order, and returns the hash as hexadecimal text.
 */
export function payloadHashOf(transactions: readonly Transaction[], format: BlockFormat): string {
  // Joins the bytes of all transactions before the call of `sha256Hex`, because a genesis block can have more
  // transactions than a function call can have arguments.
  return sha256Hex(Buffer.concat(transactions.map((transaction) => format.transactionBytes(transaction))));
}

// Caches the check object (`SignatureCheck`) for the signature of each header. In some cases, the node verifies the
// signature before it validates the block. Both steps must use the same check object. The reason is that the signature
// cache finds the results of a large batch of checks only by the check object.
const headerChecks = new WeakMap<BlockHeader, SignatureCheck>();

export function headerSignatureCheck(header: BlockHeader, format: BlockFormat): SignatureCheck {
  const known = headerChecks.get(header);
  if (known !== undefined) return known;
  const check = {
    publicKey: bytesOfHex(header.generatorPublicKey),
    message: sha256(format.headerBytes(header)),
    signature: bytesOfHex(header.blockSignature),
  };
  headerChecks.set(header, check);
  return check;
}

/**
 * For block 1, true if the block names no previous block. For a later block, true if the block names a previous block
 * and does not have the id of the genesis block.
 */
export function hasProperPrevious(header: BlockHeader, params: Pick<ChainParams, 'genesisBlockId'>): boolean {
  if (header.previousBlockId === undefined) return header.height === 1;
  return header.height !== 1 && header.id !== params.genesisBlockId;
}

/** All faults of the payload, as messages of lisk-sdk, in the order in which lisk-sdk finds them. */
export function* payloadFaults(
  block: Block,
  params: Pick<ChainParams, 'transactionsPerBlockMax'>,
  format: BlockFormat,
): Iterable<string> {
  const { transactions } = block;
  if (block.payloadLength > PAYLOAD_BYTES_MAX) yield 'Payload length is too long';
  if (transactions.length !== block.numberOfTransactions) {
    yield 'Included transactions do not match block transactions count';
  }
  if (transactions.length > params.transactionsPerBlockMax) yield 'Number of transactions exceeds maximum per block';
  const seen = new Set<TransactionId>();
  for (const transaction of transactions) {
    const { id } = transaction;
    if (seen.has(id)) yield `Encountered duplicate transaction: ${id}`;
    seen.add(id);
    if (countedAmount(transaction) === undefined) yield `plus() not a number: amount of ${id}`;
  }
  if (payloadHashOf(transactions, format) !== block.payloadHash) yield 'Invalid payload hash';
  if (totalAmountOf(transactions) !== block.totalAmount) yield 'Invalid total amount';
  if (transactions.reduce((total, { fee }) => total + fee, 0n) !== block.totalFee) yield 'Invalid total fee';
}

/**
 * Validates each transaction of a block for the block's height, version and timestamp.
 *
 * @throws BlockRejected `BLOCK_TRANSACTION_INVALID` with the errors of the first transaction that fails
 */
export function validateTransactions(
  block: Block,
  validate: Rules['validateTransaction'],
  verify: SignatureOracle,
): void {
  const context = { blockHeight: block.height, blockVersion: block.version, blockTimestamp: block.timestamp };
  for (const transaction of block.transactions) {
    const errors = validate(transaction, context, verify);
    if (errors.length > 0) throw transactionsRejected(block, errors);
  }
}

export function transactionsRejected(block: Block, errors: readonly TransactionError[]): BlockRejected {
  const message = errors.map(textOfTransactionError).join('; ');
  return new BlockRejected('BLOCK_TRANSACTION_INVALID', message, { blockId: block.id, height: block.height }, errors);
}

/**
 * Builds the next block. The code here is the same for both generations. The code of each generation computes the
 * header members of `PlacedHeader`, and passes them to `buildBlock`.
 */

import type { Ed25519 } from '../../crypto/ed25519.ts';
import { idOf, sha256 } from '../../crypto/hash.ts';
import { hexOf } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { ChainParams } from '../params.ts';
import type { ForgeRequest, Rules } from '../rules.ts';
import { StateOverlay, type StateReader } from '../state.ts';
import { hasUnsignedAmount, totalAmountOf } from '../tx/amounts.ts';
import type { Block, BlockHeader, SignatureOracle, Transaction } from '../types.ts';
import { BlockRejected, type BlockRejectionCode } from '../verdict.ts';
import type { BlockTransactionRules } from './apply.ts';
import { payloadFaults, payloadHashOf, type BlockFormat } from './validate.ts';
import { versionAt } from './version.ts';

export interface BuildParts {
  readonly params: ChainParams;
  readonly format: BlockFormat;
  readonly ed25519: Ed25519;
  readonly transactionRules: BlockTransactionRules;
  readonly applyBlock: Rules['applyBlock'];
  /**
   * True if this node is allowed to put the transaction into a block that the node forges. The result can be false for
   * a valid transaction.
   */
  mayBeForged(transaction: Transaction): boolean;
}

/** The members of the header that the code of each generation computes. */
export type PlacedHeader = Pick<
  BlockHeader,
  'version' | 'generatorPublicKey' | 'maxHeightPreviouslyForged' | 'maxHeightPrevoted' | 'reward'
>;

/**
 * Maps rejection codes of `applyBlock` to the error codes that `buildBlock` throws instead. For any other rejection
 * code, `buildBlock` throws `FORGE_REFUSED`.
 */
const FORGE_ERRORS: Partial<Record<BlockRejectionCode, string>> = {
  BLOCK_FORGER_LEAVES: 'FORGER_LEAVES',
  BLOCK_FORGER_INVALID: 'FORGER_NOT_IN_TURN',
  BLOCK_BFT_INVALID: 'FORGING_CONTRADICTS',
  BLOCK_TIMESTAMP_INVALID: 'FORGER_SLOT_TAKEN',
};

/**
 * Builds and signs the block after `tip`. The block contains transactions of `request`. The function leaves out three
 * kinds of transactions: transactions that would make the block invalid, transactions for which `mayBeForged` is false,
 * and inert transactions (transactions without effect, which the network's exceptions list in `inertTransactions`). If
 * the transactions together lead to a vote weight that lisk-sdk cannot store (`fault`), the function also leaves out
 * each transaction with an amount that the signature of the transaction does not cover (`hasUnsignedAmount`). Only such
 * an amount can cause such a vote weight. The function does not check whether the network allows the types of the
 * transactions, because `Rules.selectTransactions` makes this check. If too many transactions remain for one block, the
 * function also leaves out the last transactions. The function never signs a block that `applyBlock` would refuse.
 *
 * @throws ProtocolError `FORGER_LEAVES`, `FORGER_NOT_IN_TURN`, `FORGING_CONTRADICTS`, `FORGER_SLOT_TAKEN`, or
 *   `FORGE_REFUSED`; the cause of each error is the rejection of the block
 */
export function buildBlock(
  state: StateReader,
  tip: BlockHeader,
  request: ForgeRequest,
  placed: PlacedHeader,
  parts: BuildParts,
): Block {
  const { format, ed25519 } = parts;
  const verify: SignatureOracle = (check) => ed25519.verify(check);
  const transactions = applicable(state, request, parts, verify);
  const sizes = transactions.map((transaction) => format.transactionBytes(transaction).length);
  const unsigned: Block = {
    id: '',
    ...placed,
    height: tip.height + 1,
    timestamp: request.timestamp,
    previousBlockId: tip.id,
    numberOfTransactions: transactions.length,
    totalAmount: totalAmountOf(transactions) ?? 0n,
    totalFee: transactions.reduce((total, { fee }) => total + fee, 0n),
    payloadLength: sizes.reduce((total, size) => total + size, 0),
    payloadHash: payloadHashOf(transactions, format),
    blockSignature: '',
    transactions,
  };
  rehearse(state, unsigned, parts, verify);

  const bytes = format.headerBytes(unsigned);
  const signature = ed25519.sign(sha256(bytes), request.keyPair.privateKey);
  return { ...unsigned, id: idOf(Buffer.concat([bytes, signature])), blockSignature: hexOf(signature) };
}

/** Returns the transactions of `request` that the block can contain, in the order of the request. */
function applicable(
  state: StateReader,
  request: ForgeRequest,
  parts: BuildParts,
  verify: SignatureOracle,
): readonly Transaction[] {
  const { params, transactionRules } = parts;
  const distinct = new Map(request.transactions.map((transaction) => [transaction.id, transaction]));
  const alone = [...distinct.values()].filter(
    (transaction) =>
      parts.mayBeForged(transaction) &&
      !params.exceptions.inertTransactions.has(transaction.id) &&
      transactionRules.verifyTransaction(state, transaction, request.timestamp, verify).status === 'ok',
  );
  const { verdicts, fault } = transactionRules.applyInSequence(new StateOverlay(state), alone, verify);
  const together = alone
    .filter((_, index) => verdicts[index]?.status === 'ok')
    .slice(0, params.transactionsPerBlockMax);
  // `fault` is present only if the database of lisk-sdk cannot store a vote weight. The cause of such a vote weight is
  // always an amount that the signature of its transaction does not cover (`countedAmount`). After the removal of all
  // transactions with such amounts, the block has no fault.
  return fault === undefined ? together : together.filter((transaction) => !hasUnsignedAmount(transaction));
}

/**
 * Applies the unsigned block to an overlay of the state, so the state itself stays unchanged. If the rules refuse the
 * block, the function throws an error, and `buildBlock` does not sign the block.
 */
function rehearse(state: StateReader, block: Block, parts: BuildParts, verify: SignatureOracle): void {
  try {
    // On some networks, blocks at low heights must have an older version (`exceptions.blockVersions`). `buildBlock`
    // builds no blocks of older versions.
    if (versionAt(block.height, block.version, parts.params) !== block.version) {
      throw new BlockRejected('BLOCK_VERSION_INVALID', 'Invalid version');
    }
    for (const fault of payloadFaults(block, parts.params, parts.format)) {
      throw new BlockRejected('BLOCK_PAYLOAD_INVALID', fault);
    }
    parts.applyBlock(new StateOverlay(state), block, { nowS: block.timestamp, verify });
  } catch (error) {
    if (!(error instanceof BlockRejected)) throw error;
    const code = FORGE_ERRORS[error.code] ?? 'FORGE_REFUSED';
    throw new ProtocolError(code, { height: block.height, reason: error.message }, undefined, { cause: error });
  }
}

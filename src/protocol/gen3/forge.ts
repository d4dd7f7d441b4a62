/** Building the next block of generation 3. */

import type { Ed25519 } from '../../crypto/ed25519.ts';
import { idOf, sha256 } from '../../crypto/hash.ts';
import { hexOf } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { TransactionRules } from '../block/apply.ts';
import { payloadFaults, payloadHashOf, type BlockFormat } from '../block/validate.ts';
import { versionAt } from '../block/version.ts';
import type { ChainParams } from '../params.ts';
import type { ForgeRequest, SignedHeader } from '../rules.ts';
import { StateOverlay, type StateReader } from '../state.ts';
import { amountOf } from '../tx/vote-weight.ts';
import type { Block, BlockHeader, SignatureOracle, Transaction } from '../types.ts';
import { BlockRejected, type BlockRejectionCode } from '../verdict.ts';
import { contradictionOf, type BftHeader } from './bft.ts';
import { BLOCK_VERSION, type BlockRules } from './blocks.ts';
import { finalityOf } from './ledger.ts';

export interface ForgeParts {
  readonly params: ChainParams;
  readonly format: BlockFormat;
  readonly ed25519: Ed25519;
  readonly blockRules: BlockRules;
  readonly transactionRules: TransactionRules;
}

/** Why a block that would be refused is not forged, by the code that would refuse it. */
const REFUSALS: Partial<Record<BlockRejectionCode, string>> = {
  BLOCK_FORGER_LEAVES: 'FORGER_LEAVES',
  BLOCK_FORGER_INVALID: 'FORGER_NOT_IN_TURN',
  BLOCK_BFT_INVALID: 'FORGING_CONTRADICTS',
  BLOCK_TIMESTAMP_INVALID: 'FORGER_SLOT_TAKEN',
};

/**
 * Builds and signs the block after `tip`. Transactions that would make it invalid are left out; nothing is signed that
 * contradicts the journal or that `applyBlock` would refuse.
 *
 * @throws ProtocolError `FORGING_CONTRADICTS` when the header would contradict the journal or the chain; `FORGER_LEAVES`,
 *   `FORGER_NOT_IN_TURN`, `FORGER_SLOT_TAKEN` or `FORGE_REFUSED` with the block's rejection as its cause
 */
export function forgeBlock(state: StateReader, tip: BlockHeader, request: ForgeRequest, parts: ForgeParts): Block {
  const { format, ed25519, blockRules } = parts;
  const placed = {
    height: tip.height + 1,
    generatorPublicKey: hexOf(request.keyPair.publicKey),
    maxHeightPreviouslyForged: highestForged(request.previouslyForged),
    maxHeightPrevoted: finalityOf(state).maxPrevoted,
  };
  refuseContradiction(request.previouslyForged, placed);
  const verify: SignatureOracle = (check) => ed25519.verify(check);
  const transactions = applicable(state, request, parts, verify);
  const sizes = transactions.map((transaction) => format.transactionBytes(transaction).length);
  const unsigned: Block = {
    id: '',
    version: BLOCK_VERSION,
    ...placed,
    timestamp: request.timestamp,
    previousBlockId: tip.id,
    numberOfTransactions: transactions.length,
    totalAmount: transactions.reduce((total, { payload }) => total + amountOf(payload), 0n),
    totalFee: transactions.reduce((total, { fee }) => total + fee, 0n),
    reward: blockRules.rewardOwed(state, placed),
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

/**
 * Highest height that the journal tells of: a header signed on another chain may lie below the one that it names, and naming
 * less than was named before would contradict it.
 */
function highestForged(previous: SignedHeader | undefined): number {
  return previous === undefined ? 0 : Math.max(previous.height, previous.maxHeightPreviouslyForged);
}

function refuseContradiction(previous: SignedHeader | undefined, header: BftHeader): void {
  const reason = previous === undefined ? undefined : contradictionOf(previous, header);
  if (reason === undefined) return;
  const data = { height: header.height, generator: header.generatorPublicKey, earlier: previous?.height, reason };
  throw new ProtocolError('FORGING_CONTRADICTS', data);
}

/** The requested transactions that a block may hold, in their order. */
function applicable(
  state: StateReader,
  request: ForgeRequest,
  parts: ForgeParts,
  verify: SignatureOracle,
): readonly Transaction[] {
  const { params, transactionRules } = parts;
  const distinct = new Map(request.transactions.map((transaction) => [transaction.id, transaction]));
  const alone = [...distinct.values()].filter(
    (transaction) =>
      !params.exceptions.inertTransactions.has(transaction.id) &&
      transactionRules.verifyTransaction(state, transaction, request.timestamp, verify).status === 'ok',
  );
  const { verdicts } = transactionRules.applyInSequence(new StateOverlay(state), alone, verify);
  const together = alone.filter((_, index) => verdicts[index]?.status === 'ok');
  return together.slice(0, params.transactionsPerBlockMax);
}

/** Applies the block to a copy of the state: what fails here is never signed. */
function rehearse(state: StateReader, block: Block, parts: ForgeParts, verify: SignatureOracle): void {
  try {
    if (versionAt(block.height, BLOCK_VERSION, parts.params) !== block.version) {
      throw new BlockRejected('BLOCK_VERSION_INVALID', 'Invalid version');
    }
    for (const fault of payloadFaults(block, parts.params, parts.format)) {
      throw new BlockRejected('BLOCK_PAYLOAD_INVALID', fault);
    }
    parts.blockRules.applyBlock(new StateOverlay(state), block, { nowS: block.timestamp, verify });
  } catch (error) {
    if (!(error instanceof BlockRejected)) throw error;
    const code = REFUSALS[error.code] ?? 'FORGE_REFUSED';
    throw new ProtocolError(code, { height: block.height, reason: error.message }, undefined, { cause: error });
  }
}

/** Verifies a block against the state of its parent, and applies its transactions. Both generations use this code. */

import { AMOUNT_MAX } from '../../primitives/amount.ts';
import { assert } from '../../primitives/errors.ts';
import type { ChainParams } from '../params.ts';
import { ownerOfSlot } from '../rounds.ts';
import type { ApplyContext } from '../rules.ts';
import { slotAt } from '../slots.ts';
import { StateOverlay, type StateReader, type StateWriter } from '../state.ts';
import type { TransactionRules } from '../tx/transaction-rules.ts';
import { storageFault } from '../tx/unsigned-json.ts';
import type { Block, BlockHeader, PublicKey } from '../types.ts';
import { BlockRejected, transactionError, type TransactionVerdict } from '../verdict.ts';
import { transactionsRejected } from './validate.ts';

/** The functions of a generation that verify and apply the transactions of a block. */
export type BlockTransactionRules = Pick<TransactionRules, 'verifyTransaction' | 'tryTransaction' | 'applyInSequence'>;

/**
 * Checks that a block follows the tip, and returns the header of the block's parent.
 *
 * @param text function that returns the generation's error message for a block that does not follow the tip. The
 *   function gets the argument `parent`: the header of the node's own chain at the height directly below the block.
 *   `parent` is undefined if the chain has no header at this height
 * @throws BlockRejected `BLOCK_KNOWN` if the chain already has the block; `BLOCK_PREVIOUS_INVALID` if the block does
 *   not follow the tip
 */
export function parentOf(
  state: StateReader,
  block: BlockHeader,
  text: (parent: BlockHeader | undefined) => string = () => 'Invalid previous block',
): BlockHeader {
  const parent = block.height > 1 ? state.header(block.height - 1) : undefined;
  const occupant = state.header(block.height);
  if (occupant !== undefined && occupant.id === block.id) {
    throw new BlockRejected('BLOCK_KNOWN', `Block ${block.id} already exists`, { height: block.height });
  }
  if (parent === undefined || parent.id !== block.previousBlockId || occupant !== undefined) {
    throw new BlockRejected('BLOCK_PREVIOUS_INVALID', text(parent), {
      height: block.height,
      previousBlockId: block.previousBlockId,
      expected: parent?.id,
    });
  }
  return parent;
}

export const SLOT_FAULT = 'Invalid block timestamp';

/** The slot of a block, the slot of the block's parent, and the current slot. */
interface BlockSlots {
  readonly slot: number;
  readonly parentSlot: number;
  readonly currentSlot: number;
}

/**
 * Checks that the slot of a block is after the slot of its parent, and not in the future.
 *
 * @returns undefined if the slot is correct; otherwise the slot of the block, the slot of the parent and the current
 *   slot
 */
export function slotFault(
  block: BlockHeader,
  parent: BlockHeader,
  nowS: number,
  params: ChainParams,
): BlockSlots | undefined {
  const slot = slotAt(block.timestamp, params);
  const parentSlot = slotAt(parent.timestamp, params);
  const currentSlot = slotAt(nowS, params);
  return slot > currentSlot || slot <= parentSlot ? { slot, parentSlot, currentSlot } : undefined;
}

/**
 * @throws BlockRejected `BLOCK_TIMESTAMP_INVALID` if the slot is not after the slot of the parent, or is in the future
 */
export function verifySlot(block: BlockHeader, parent: BlockHeader, nowS: number, params: ChainParams): void {
  const fault = slotFault(block, parent, nowS, params);
  if (fault !== undefined) throw new BlockRejected('BLOCK_TIMESTAMP_INVALID', SLOT_FAULT, { ...fault });
}

/**
 * @param expected the reward that the block must have, in beddows
 * @throws BlockRejected `BLOCK_REWARD_INVALID` for a different reward, if the exceptions of the network
 *   (`exceptions.blockRewards`) do not contain the block
 */
export function verifyReward(block: BlockHeader, expected: bigint, params: ChainParams): void {
  if (block.reward === expected || params.exceptions.blockRewards.has(block.id)) return;
  throw new BlockRejected('BLOCK_REWARD_INVALID', `Invalid block reward: ${block.reward} expected: ${expected}`, {
    height: block.height,
  });
}

/**
 * @param order the order of forgers in the block's round; undefined if the delegate list of the round is unknown
 * @param text function that returns the error message in the wording of the network's generation. The function gets the
 *   slot of the block as its argument
 * @throws BlockRejected `BLOCK_FORGER_INVALID` if the generator does not own the slot, or if `order` is undefined
 */
export function verifyForger(
  block: BlockHeader,
  order: readonly PublicKey[] | undefined,
  params: ChainParams,
  text: (slot: number) => string,
): void {
  const slot = slotAt(block.timestamp, params);
  const owner = order === undefined ? undefined : ownerOfSlot(order, slot, params);
  if (owner === block.generatorPublicKey) return;
  throw new BlockRejected('BLOCK_FORGER_INVALID', text(slot), { slot, owner, generator: block.generatorPublicKey });
}

/** @throws BlockRejected `BLOCK_TRANSACTION_INVALID` if the chain already has one of the transactions */
export function refuseConfirmed(state: StateReader, block: Block): void {
  const confirmed = block.transactions.filter((transaction) => state.hasTransaction(transaction.id));
  if (confirmed.length === 0) return;
  const errors = confirmed.map(({ id }) => transactionError(id, `Transaction is already confirmed: ${id}`, '.id'));
  throw transactionsRejected(block, errors);
}

/**
 * Verifies each transaction of a block separately, against the state before the block. After that, applies the
 * transactions one after another. Inert transactions (`exceptions.inertTransactions`) are part of the block, but are
 * neither verified nor applied. The caller must call `refuseConfirmed` first, because this function does not check
 * whether the chain already has a transaction.
 *
 * @throws BlockRejected `BLOCK_TRANSACTION_INVALID` with the errors of the first invalid transaction; or
 *   `BLOCK_UNSTORABLE` if lisk-sdk could not store the block
 */
export function applyTransactions(
  state: StateWriter,
  block: Block,
  context: ApplyContext,
  params: ChainParams,
  rules: BlockTransactionRules,
): void {
  const effective = block.transactions.filter(({ id }) => !params.exceptions.inertTransactions.has(id));
  const tried = effective.map((transaction) => {
    const scratch = new StateOverlay(state);
    refuse(block, rules.tryTransaction(scratch, transaction, context.nowS, context.verify));
    return scratch;
  });
  refuseUnstorable(block);
  const { verdicts, fault } = rules.applyInSequence(state, effective, context.verify, tried);
  assert(verdicts.length === effective.length, 'each transaction of a batch has a verdict');
  for (const verdict of verdicts) refuse(block, verdict);
  if (fault !== undefined) throw unstorable(block, fault.message);
}

/** Largest value of a 32-bit integer column in the database of lisk-sdk. Columns for amounts have 64 bits. */
const COLUMN_INTEGER_MAX = 2_147_483_647;

/**
 * Refuses a block that lisk-sdk cannot store, for example because a number is too large for a column of lisk-sdk's
 * database. The reference (lisk-sdk) verifies the transactions of a block, then stores the block, then applies its
 * transactions. `applyTransactions` calls this function at the point at which lisk-sdk stores the block, so that the
 * node and lisk-sdk refuse a block with several faults for the same reason.
 */
function refuseUnstorable(block: Block): void {
  const { maxHeightPreviouslyForged, maxHeightPrevoted, totalAmount, totalFee, transactions } = block;
  for (const integer of [maxHeightPreviouslyForged, maxHeightPrevoted]) {
    if (integer > COLUMN_INTEGER_MAX) throw unstorable(block, `value "${integer}" is out of range for type integer`);
  }
  for (const amount of [totalAmount, totalFee]) {
    if (amount > AMOUNT_MAX) throw unstorable(block, `value "${amount}" is out of range for type bigint`);
  }
  for (const transaction of transactions) {
    const fault = storageFault(transaction);
    if (fault !== undefined) throw unstorable(block, fault.message);
  }
}

function unstorable(block: Block, message: string): BlockRejected {
  return new BlockRejected('BLOCK_UNSTORABLE', message, { blockId: block.id, height: block.height });
}

function refuse(block: Block, verdict: TransactionVerdict): void {
  if (verdict.status !== 'ok') throw transactionsRejected(block, verdict.errors);
}

/** Validates and applies blocks of generation 2. */

import {
  applyTransactions,
  parentOf,
  refuseConfirmed,
  SLOT_FAULT,
  slotFault,
  verifyForger,
  verifySlot,
  type BlockTransactionRules,
} from '../block/apply.ts';
import { headerSignatureCheck, payloadFaults, validateTransactions, type BlockFormat } from '../block/validate.ts';
import { versionAt } from '../block/version.ts';
import type { ChainParams } from '../params.ts';
import { rewardAt } from '../rewards.ts';
import { roundOf } from '../rounds.ts';
import type { ApplyContext, BlockContext, Rules } from '../rules.ts';
import type { StateReader, StateWriter } from '../state.ts';
import type { Block, BlockHeader, PublicKey, SignatureCheck, SignatureOracle } from '../types.ts';
import { BlockRejected, type BlockRejectionCode } from '../verdict.ts';
import { BLOCK_VERSION } from './block-json.ts';
import { applyDpos, forgingOrder, isRecomputed } from './dpos.ts';

export type BlockRules = Pick<
  Rules,
  | 'blockSignatureChecks'
  | 'screenBlock'
  | 'validateBlock'
  | 'verifySlotOwner'
  | 'applyBlock'
  | 'applyGenesis'
  | 'forgers'
>;

interface Fault {
  readonly code: BlockRejectionCode;
  readonly text: string;
}

export function createBlockRules(
  params: ChainParams,
  format: BlockFormat,
  transactionRules: BlockTransactionRules &
    Pick<Rules, 'validateTransaction' | 'primarySignatureChecks'> & {
      applyGenesisTransactions(state: StateWriter, genesis: Block): void;
    },
): BlockRules {
  function blockSignatureChecks(block: Block): readonly SignatureCheck[] {
    return [
      headerSignatureCheck(block, format),
      ...block.transactions.flatMap((transaction) => transactionRules.primarySignatureChecks(transaction)),
    ];
  }

  /**
   * The reference (lisk-sdk) collects all faults of a block. It reports the faults in the reverse order of their
   * discovery, so a wrong slot comes first. If the slot is the only fault, `screenBlock` accepts the block, and
   * `applyBlock` refuses the block later. The sender gets no penalty points for a wrong slot, because it is possible
   * that the clock of this node is wrong.
   */
  function screenBlock(block: Block, verify: SignatureOracle, context?: BlockContext): void {
    const faults = [...faultsOf(block, verify)].reverse();
    const [first] = faults;
    if (first === undefined) return;
    const texts = faults.map(({ text }) => text);
    if (hasWrongSlot(block, context)) texts.unshift(SLOT_FAULT);
    throw new BlockRejected(first.code, texts.join('; '), {
      blockId: block.id,
      height: block.height,
      generator: block.generatorPublicKey,
    });
  }

  function validateBlock(block: Block, verify: SignatureOracle, context?: BlockContext): void {
    validateTransactions(block, transactionRules.validateTransaction, verify);
    screenBlock(block, verify, context);
  }

  function hasWrongSlot(block: Block, context: BlockContext | undefined): boolean {
    const parent = block.height > 1 ? context?.state.header(block.height - 1) : undefined;
    return (
      context !== undefined && parent !== undefined && slotFault(block, parent, context.nowS, params) !== undefined
    );
  }

  function* faultsOf(block: Block, verify: SignatureOracle): Iterable<Fault> {
    if (!verify(headerSignatureCheck(block, format))) {
      yield { code: 'BLOCK_SIGNATURE_INVALID', text: 'Failed to verify block signature' };
    }
    if (block.previousBlockId === undefined && block.height !== 1) {
      yield { code: 'BLOCK_PREVIOUS_INVALID', text: 'Invalid previous block' };
    }
    if (block.version !== versionAt(block.height, BLOCK_VERSION, params)) {
      yield { code: 'BLOCK_VERSION_INVALID', text: 'Invalid block version' };
    }
    const reward = rewardAt(block.height, params.rewards);
    if (block.height !== 1 && block.reward !== reward && !params.exceptions.blockRewards.has(block.id)) {
      yield { code: 'BLOCK_REWARD_INVALID', text: `Invalid block reward: ${block.reward} expected: ${reward}` };
    }
    for (const text of payloadFaults(block, params, format)) yield { code: 'BLOCK_PAYLOAD_INVALID', text };
  }

  function verifyOwner(state: StateReader, block: BlockHeader): void {
    const order = forgingOrder(state, block.height, params);
    verifyForger(block, order, params, (slot) => `Failed to verify slot: ${slot}`);
  }

  function verifySlotOwner(state: StateReader, block: BlockHeader): void {
    // In some rounds, the delegate list depends on the state directly before each block (`isRecomputed`). In these
    // rounds, only `applyBlock` checks the slot owner, because `state` can already include a rival of the block
    // (another block with the same parent).
    if (!isRecomputed(roundOf(block.height, params), params)) verifyOwner(state, block);
  }

  function applyBlock(state: StateWriter, block: Block, context: ApplyContext): void {
    const parent = parentOf(
      state,
      block,
      (tip) => `Invalid previous block: ${block.previousBlockId} expected: ${tip?.id}`,
    );
    verifySlot(block, parent, context.nowS, params);
    refuseConfirmed(state, block);
    verifyOwner(state, block);
    applyTransactions(state, block, context, params, transactionRules);
    applyDpos(state, block, params);
  }

  function applyGenesis(state: StateWriter, genesis: Block): void {
    transactionRules.applyGenesisTransactions(state, genesis);
    applyDpos(state, genesis, params);
  }

  function forgers(state: StateReader, height: number): readonly PublicKey[] {
    return forgingOrder(state, height, params) ?? [];
  }

  return { blockSignatureChecks, screenBlock, validateBlock, verifySlotOwner, applyBlock, applyGenesis, forgers };
}

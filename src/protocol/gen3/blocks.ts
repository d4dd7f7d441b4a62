/** Validates and applies blocks of generation 3, and computes their reward. */

import {
  applyTransactions,
  parentOf,
  refuseConfirmed,
  verifyForger,
  verifyReward,
  verifySlot,
} from '../block/apply.ts';
import type { BlockTransactionRules } from '../block/apply.ts';
import {
  hasProperPrevious,
  headerSignatureCheck,
  payloadFaults,
  validateTransactions,
  type BlockFormat,
} from '../block/validate.ts';
import { isVersionKnown, versionAt } from '../block/version.ts';
import type { ChainParams } from '../params.ts';
import { rewardAt } from '../rewards.ts';
import { forgingOrder, roundOf } from '../rounds.ts';
import type { ApplyContext, BlockContext, Rules } from '../rules.ts';
import type { StateReader, StateWriter } from '../state.ts';
import type { Block, BlockHeader, PublicKey, SignatureCheck, SignatureOracle } from '../types.ts';
import { BlockRejected, type BlockRejectionCode } from '../verdict.ts';
import { minHeightActive } from './active-heights.ts';
import { addHeader, bftLimits, emptyBftState, headerFault, isCompliant, lastHeightIn } from './bft.ts';
import type { BftHeader, BftState } from './bft.ts';
import { applyDpos, newestListAfter } from './dpos.ts';
import { loadBftState, saveBftState } from './bft-state.ts';

/**
 * Version of blocks of this generation. On live networks, the blocks below the first block of generation 3 have older
 * versions.
 */
export const BLOCK_VERSION = 2;

/** The finalized height of a new chain, which is the height of its genesis block. */
const FINALIZED_AT_START = 1;

/** The node divides the full reward by this number for a header that is not compliant (see `isCompliant`). */
const REDUCED_REWARD_DIVISOR = 4n;

export interface BlockRulesOptions {
  /**
   * If true, the node refuses the last block of a round if the generator of this block is not active in the next round.
   * Release 3.0.2 of lisk-sdk also refuses such a block. Later releases of lisk-sdk look up the generator in the
   * delegate list of the block's own round instead, and do not refuse the block.
   */
  readonly refuseLeavingForgers: boolean;
}

export interface BlockRules extends Pick<
  Rules,
  | 'blockSignatureChecks'
  | 'screenBlock'
  | 'validateBlock'
  | 'verifySlotOwner'
  | 'applyBlock'
  | 'applyGenesis'
  | 'forgers'
> {
  /** The reward, in beddows, of the block with this header. The block must follow the tip of the state. */
  rewardOwed(state: StateReader, header: BftHeader): bigint;
}

/** @param transactionRules.applyGenesisTransactions applies the genesis block's transactions without checks */
export function createBlockRules(
  params: ChainParams,
  format: BlockFormat,
  transactionRules: BlockTransactionRules &
    Pick<Rules, 'validateTransaction' | 'primarySignatureChecks'> & {
      applyGenesisTransactions(state: StateWriter, genesis: Block): void;
    },
  options: BlockRulesOptions,
): BlockRules {
  const limits = bftLimits(params.activeDelegates);
  const offsetAt = (height: number): number =>
    versionAt(height, BLOCK_VERSION, params) === BLOCK_VERSION ? params.delegateListRoundOffset : 0;

  function blockSignatureChecks(block: Block): readonly SignatureCheck[] {
    return [
      headerSignatureCheck(block, format),
      ...block.transactions.flatMap((transaction) => transactionRules.primarySignatureChecks(transaction)),
    ];
  }

  function validateHeader(block: Block, verify: SignatureOracle, context?: BlockContext): void {
    if (!isVersionKnown(block.version, BLOCK_VERSION, params)) {
      throw rejected(block, 'BLOCK_VERSION_INVALID', 'Block processing version is not registered');
    }
    if (block.version !== versionAt(block.height, BLOCK_VERSION, params)) {
      throw rejected(block, 'BLOCK_VERSION_INVALID', 'Invalid version');
    }
    if (!hasProperPrevious(block, params)) throw rejected(block, 'BLOCK_PREVIOUS_INVALID', 'Invalid previous block');
    if (!verify(headerSignatureCheck(block, format))) {
      throw rejected(block, 'BLOCK_SIGNATURE_INVALID', 'Invalid block signature');
    }
    if (context !== undefined) verifyReward(block, rewardOwed(context.state, block), params);
  }

  function validatePayload(block: Block): void {
    for (const fault of payloadFaults(block, params, format)) throw rejected(block, 'BLOCK_PAYLOAD_INVALID', fault);
  }

  function screenBlock(block: Block, verify: SignatureOracle, context?: BlockContext): void {
    validateHeader(block, verify, context);
    validatePayload(block);
  }

  function validateBlock(block: Block, verify: SignatureOracle, context?: BlockContext): void {
    validateHeader(block, verify, context);
    validateTransactions(block, transactionRules.validateTransaction, verify);
    validatePayload(block);
  }

  function rewardOwed(state: StateReader, header: BftHeader): bigint {
    const full = rewardAt(header.height, params.rewards);
    if (versionAt(header.height, BLOCK_VERSION, params) !== BLOCK_VERSION) return full;
    return isCompliant(bftStateBelow(state, header.height), header, limits) ? full : full / REDUCED_REWARD_DIVISOR;
  }

  function verifySlotOwner(state: StateReader, block: BlockHeader): void {
    if (params.exceptions.ignoreDelegateListCacheForRounds.has(roundOf(block.height, params))) return;
    const order = forgingOrder(state, block.height, offsetAt(block.height), params);
    verifyForger(block, order, params, (slot) => forgerText(block, slot, order !== undefined));
  }

  function applyBlock(state: StateWriter, block: Block, context: ApplyContext): void {
    const parent = parentOf(state, block);
    verifyReward(block, rewardOwed(state, block), params);
    verifySlot(block, parent, context.nowS, params);
    verifySlotOwner(state, block);

    const votes = block.version === BLOCK_VERSION;
    const bftState = bftStateBelow(state, block.height);
    const fault = votes ? headerFault(bftState, block, limits) : undefined;
    if (fault !== undefined) throw rejected(block, 'BLOCK_BFT_INVALID', fault);

    refuseConfirmed(state, block);
    applyTransactions(state, block, context, params, transactionRules);
    const offset = offsetAt(block.height);
    applyDpos(state, block, params, offset);
    if (votes) saveBftState(state, addHeader(bftState, block, activeSince(state, block, offset), limits));
  }

  /**
   * Applies the genesis block, and counts the prevote of its header for the genesis block itself. The reference
   * (lisk-sdk) counts this prevote when the node starts, and therefore always before the node applies the second block.
   */
  function applyGenesis(state: StateWriter, genesis: Block): void {
    transactionRules.applyGenesisTransactions(state, genesis);
    applyDpos(state, genesis, params, offsetAt(genesis.height));
    saveBftState(state, addHeader(emptyBftState(FINALIZED_AT_START), genesis, 1, limits));
  }

  function activeSince(state: StateReader, block: Block, offset: number): number {
    const after = minHeightActive(
      state,
      block.generatorPublicKey,
      newestListAfter(block.height, params),
      offset,
      params,
    );
    if (after !== undefined) return after;
    if (options.refuseLeavingForgers) {
      // For the last block of a round, lisk-sdk 3.0.2 looks up the generator in the delegate list of the next round. If
      // the list does not contain the generator, nodes of lisk-sdk 3.0.2 refuse the block.
      throw rejected(block, 'BLOCK_FORGER_LEAVES', 'The generator is not active in the round after this block');
    }
    const round = roundOf(block.height, params);
    return minHeightActive(state, block.generatorPublicKey, round, offset, params) ?? block.height;
  }

  function forgers(state: StateReader, height: number): readonly PublicKey[] {
    return forgingOrder(state, height, offsetAt(height), params) ?? [];
  }

  return {
    blockSignatureChecks,
    screenBlock,
    validateBlock,
    verifySlotOwner,
    applyBlock,
    applyGenesis,
    forgers,
    rewardOwed,
  };
}

/**
 * The BFT state before the block at this height. The BFT state contains the genesis header (of any version) and headers
 * of version 2, but no other headers. If the BFT state lacks the header directly below this height, the result contains
 * no headers, because no header votes for heights below a missing header. Even then, the result keeps the highest
 * prevoted height and the finalized height of the BFT state.
 */
function bftStateBelow(state: StateReader, height: number): BftState {
  const bftState = loadBftState(state) ?? emptyBftState(FINALIZED_AT_START);
  return lastHeightIn(bftState) === height - 1
    ? bftState
    : { ...emptyBftState(bftState.finalized), maxPrevoted: bftState.maxPrevoted };
}

function forgerText(block: BlockHeader, slot: number, isListKnown: boolean): string {
  return isListKnown
    ? `Failed to verify slot: ${slot}. Block ID: ${block.id}. Block Height: ${block.height}`
    : `Failed to verify slot: ${slot} for block ID: ${block.id} - No delegateList was found`;
}

function rejected(block: BlockHeader, code: BlockRejectionCode, message: string): BlockRejected {
  return new BlockRejected(code, message, {
    blockId: block.id,
    height: block.height,
    generator: block.generatorPublicKey,
  });
}

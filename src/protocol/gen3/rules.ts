/**
 * Creates the rules of generation 3: block version 2, transaction types 8 to 12, network identifier and finality. With
 * the exceptions of a live network, these rules also accept the old blocks of this network. The old blocks have older
 * block versions, and contain transactions of types 0 to 7.
 */

import { defaultEd25519, type Ed25519 } from '../../crypto/ed25519.ts';
import type { ChainParams } from '../params.ts';
import type { Rules } from '../rules.ts';
import { poolFault } from '../tx/unsigned-json.ts';
import { contradictionOf } from './bft.ts';
import { createBlockRules } from './blocks.ts';
import { createGen3Codec, headerBytes, transactionBytes } from './codec.ts';
import { forgeBlock } from './forge.ts';
import { forkStatus, isBetterChain } from './fork-choice.ts';
import { handOver } from './hand-over.ts';
import { finalityOf } from './bft-state.ts';
import { createTransactionRules } from './transactions.ts';

export interface Gen3Options {
  /**
   * The Ed25519 implementation that signs forged blocks and checks the signatures of the transactions in these blocks.
   * The default is the result of `defaultEd25519`.
   */
  readonly ed25519?: Ed25519;
  /**
   * If true, the node refuses the last block of a round if the generator of this block is not active in the next round.
   * The default is true, as in lisk-sdk 3.0.2. All nodes of a network must have the same value.
   */
  readonly refuseLeavingForgers?: boolean;
}

export function createGen3Rules(params: ChainParams, options: Gen3Options = {}): Rules {
  const codec = createGen3Codec(params);
  const format = { headerBytes, transactionBytes };
  const { tryTransaction, applyInSequence, applyGenesisTransactions, ...transactionRules } = createTransactionRules(
    params,
    codec,
  );
  const appliers = { ...transactionRules, tryTransaction, applyInSequence, applyGenesisTransactions };
  const { rewardOwed, ...blockRules } = createBlockRules(params, format, appliers, {
    refuseLeavingForgers: options.refuseLeavingForgers ?? true,
  });

  return {
    params,
    codec,
    ...transactionRules,
    ...blockRules,
    forkStatus: (tip, received) => forkStatus(tip, received, params),
    prefersTip: (announced, than) => isBetterChain(than, announced),
    hasFinality: true,
    finalizedHeight: (state) => finalityOf(state).finalized,
    maxHeightPrevoted: (state) => finalityOf(state).maxPrevoted,
    forge: (state, tip, request) =>
      forgeBlock(state, tip, request, {
        params,
        format,
        ed25519: options.ed25519 ?? defaultEd25519(),
        transactionRules: appliers,
        applyBlock: blockRules.applyBlock,
        rewardOwed,
        mayBeForged: (transaction) => poolFault(transaction) === undefined,
      }),
    contradiction: (earlier, header) =>
      earlier.blockId === header.blockId ? undefined : contradictionOf(earlier, header),
    handOver: (state, tip, request) => handOver(state, tip, request, params),
  };
}

/**
 * Creates the rules of generation 2: block version 1, transaction types 0 to 4, vote weights that change once in a
 * round, and no finality. The history of live networks also contains transaction types 5 to 7.
 */

import { defaultEd25519, type Ed25519 } from '../../crypto/ed25519.ts';
import type { ChainParams } from '../params.ts';
import type { Rules } from '../rules.ts';
import { createBlockRules } from './blocks.ts';
import { createGen2Codec, headerBytes, transactionBytes } from './codec.ts';
import { contradictionWith, forgeBlock } from './forge.ts';
import { forkStatus, isLonger } from './fork-choice.ts';
import { createTransactionRules, forgingFault } from './transactions.ts';

export interface Gen2Options {
  /**
   * The Ed25519 implementation that signs forged blocks and checks the signatures of the transactions in these blocks.
   * The default is the result of `defaultEd25519`.
   */
  readonly ed25519?: Ed25519;
}

export function createGen2Rules(params: ChainParams, options: Gen2Options = {}): Rules {
  const codec = createGen2Codec(params);
  const format = { headerBytes, transactionBytes };
  const { tryTransaction, applyInSequence, applyGenesisTransactions, ...transactionRules } = createTransactionRules(
    params,
    codec,
  );
  const appliers = { ...transactionRules, tryTransaction, applyInSequence, applyGenesisTransactions };
  const blockRules = createBlockRules(params, format, appliers);

  return {
    params,
    codec,
    ...transactionRules,
    ...blockRules,
    forkStatus,
    prefersTip: isLonger,
    hasFinality: false,
    finalizedHeight: () => 0,
    maxHeightPrevoted: () => 0,
    forge: (state, tip, request) =>
      forgeBlock(state, tip, request, {
        params,
        format,
        ed25519: options.ed25519 ?? defaultEd25519(),
        transactionRules: appliers,
        applyBlock: blockRules.applyBlock,
        mayBeForged: (transaction) => forgingFault(transaction) === undefined,
      }),
    contradiction: (earlier, header) => {
      if (earlier.blockId === header.blockId) return undefined;
      const [last, next] = earlier.timestamp <= header.timestamp ? [earlier, header] : [header, earlier];
      return contradictionWith(last, next, params);
    },
    // It is possible that a delegate has signed headers that this node does not know. In this case, `handOver` of
    // generation 3 makes the delegate wait until a block is final that is newer than all these headers. Generation 2
    // has no finality, so `handOver` of generation 2 never asks for a wait. If it is possible that another node signs
    // headers of the delegate, the engine (`DoubleForgingGuard`) first leaves some slots of the delegate unused. The
    // delegate signs a block only after these slots.
    handOver: (_state, _tip, { last }) => ({ ready: true, previouslyForged: last }),
  };
}

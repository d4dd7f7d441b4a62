/** Default values for protocol tests. */

import { NO_EXCEPTIONS, type ChainParams } from '../../src/protocol/params.ts';
import type { BlockHeader } from '../../src/protocol/types.ts';

/**
 * Returns parameters that no real network has. A slot lasts 2 s. The reward milestones are those of mainnet, but the
 * rewards begin at height 2160.
 */
export function paramsWith(changes: Partial<ChainParams> = {}): ChainParams {
  return {
    generation: 3,
    epochMs: 1_464_109_200_000,
    blockTimeS: 2,
    activeDelegates: 101,
    transactionsPerBlockMax: 25,
    rewards: {
      milestones: [500_000_000n, 400_000_000n, 300_000_000n, 200_000_000n, 100_000_000n],
      offset: 2160,
      distance: 3_000_000,
    },
    delegateListRoundOffset: 2,
    genesisBlockId: '1',
    nethash: '00'.repeat(32),
    communityIdentifier: 'Test',
    networkIdentifier: '11'.repeat(32),
    exceptions: NO_EXCEPTIONS,
    ...changes,
  };
}

/** A header with default values, except for the members that a test sets. */
export function headerWith(changes: Partial<BlockHeader> = {}): BlockHeader {
  return {
    id: '10',
    version: 2,
    height: 10,
    timestamp: 20,
    previousBlockId: '9',
    numberOfTransactions: 0,
    totalAmount: 0n,
    totalFee: 0n,
    reward: 0n,
    payloadLength: 0,
    payloadHash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    generatorPublicKey: keyNumber(1),
    blockSignature: '00'.repeat(64),
    maxHeightPreviouslyForged: 0,
    maxHeightPrevoted: 0,
    ...changes,
  };
}

/** Returns a key of 64 hexadecimal digits. The order of the keys is the order of their numbers. */
export function keyNumber(number: number): string {
  return number.toString(16).padStart(64, '0');
}

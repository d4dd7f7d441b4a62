/**
 * Answers the requests of peers. A peer can ask for the tip, for blocks, for transactions, and for the signatures that
 * members of multisignature accounts have made for pending transactions. A peer can also ask for the highest common
 * block: the highest block that both the chain of this node and the chain of the peer contain.
 */

import { isU64Decimal } from '../primitives/bytes.ts';
import { ProtocolError } from '../primitives/errors.ts';
import type { ChainReader } from '../ports/store.ts';
import { COMMON_BLOCK_IDS_MAX, PeerOffence, type PeerRequest } from '../ports/transport.ts';
import type { Rules } from '../protocol/rules.ts';
import type { JsonObject, TransactionId } from '../protocol/types.ts';
import { DEFAULT_PROFILE } from './generation-profile.ts';
import type { PeerHandlers } from './peers/manager.ts';
import type { TransactionPool } from './pool/pool.ts';

export interface AnswerDependencies {
  readonly store: ChainReader;
  readonly rules: Rules;
  readonly pool: Pick<TransactionPool, 'get' | 'forSharing' | 'pendingSignatures'>;
  readonly limits?: Partial<AnswerLimits>;
}

export interface AnswerLimits {
  /** Maximum number of blocks in one answer. */
  readonly blocksMax: number;
  /**
   * Maximum total size of the blocks in one answer, in bytes of JSON. If the first block is larger than this maximum,
   * the answer contains only this block.
   */
  readonly blocksBytesMax: number;
  /**
   * Maximum number of transactions in one answer to a peer that asks for transactions of the pool, or for the members'
   * signatures of pending transactions.
   */
  readonly sharedMax: number;
}

const DEFAULT_LIMITS: AnswerLimits = {
  blocksMax: DEFAULT_PROFILE.blocksPerAnswerMax,
  blocksBytesMax: DEFAULT_PROFILE.blocksAnswerBytesMax,
  sharedMax: DEFAULT_PROFILE.sharedPerAnswerMax,
};

/** Maximum number of transactions that a peer can name in one request. */
const TRANSACTION_IDS_MAX = 25;

/**
 * Creates the function that answers peers' requests. The promise of the created function rejects with `PeerOffence` for
 * a malformed request, and with `ProtocolError` in these cases:
 *
 * - `BLOCK_UNKNOWN`: a peer asks for the blocks after a block that this node's chain does not contain;
 * - `TOO_MANY_BLOCK_IDS`: a request for the highest common block has more than `COMMON_BLOCK_IDS_MAX` ids;
 * - `STORE_EMPTY`: a peer asks for the tip, and the store has no block
 */
export function createRequestAnswerer(dependencies: AnswerDependencies): PeerHandlers['answer'] {
  const { store, rules, pool } = dependencies;
  const { codec } = rules;
  const limits: AnswerLimits = { ...DEFAULT_LIMITS, ...dependencies.limits };

  return async (_peerId, request) => {
    switch (request.kind) {
      case 'tip':
        return tip();
      case 'blocksAfter':
        return blocksAfter(idOf(request.blockId));
      case 'highestCommonBlock':
        return highestCommonBlock(idsOf(request.blockIds, 1));
      case 'transactions':
        return transactions(request);
      case 'signatures':
        return pool.pendingSignatures(limits.sharedMax);
    }
  };

  function tip(): JsonObject {
    const header = store.tip();
    const block = header === undefined ? undefined : store.block(header.height);
    if (block === undefined) throw new ProtocolError('STORE_EMPTY');
    return codec.blockToJson(block);
  }

  function blocksAfter(blockId: string): readonly JsonObject[] {
    const height = store.heightOf(blockId);
    if (height === undefined) {
      throw new ProtocolError('BLOCK_UNKNOWN', { blockId }, `Invalid lastBlockId requested: ${blockId}`);
    }
    const answer: JsonObject[] = [];
    let bytes = 0;
    while (answer.length < limits.blocksMax) {
      const block = store.block(height + answer.length + 1);
      if (block === undefined) break;
      const json = codec.blockToJson(block);
      bytes += Buffer.byteLength(JSON.stringify(json)) + 1;
      if (bytes > limits.blocksBytesMax && answer.length > 0) break;
      answer.push(json);
    }
    return answer;
  }

  function highestCommonBlock(blockIds: readonly string[]): JsonObject | undefined {
    if (blockIds.length > COMMON_BLOCK_IDS_MAX) {
      throw new ProtocolError('TOO_MANY_BLOCK_IDS', { count: blockIds.length, countMax: COMMON_BLOCK_IDS_MAX });
    }
    let highest = 0;
    for (const id of blockIds) highest = Math.max(highest, store.heightOf(id) ?? 0);
    const header = highest === 0 ? undefined : store.header(highest);
    return header === undefined ? undefined : codec.headerToJson(header);
  }

  function transactions(request: Extract<PeerRequest, { kind: 'transactions' }>): readonly JsonObject[] {
    if (request.ids === undefined)
      return pool.forSharing(limits.sharedMax).map((each) => codec.transactionToJson(each));
    const ids = idsOf(request.ids, 0);
    if (ids.length > TRANSACTION_IDS_MAX) throw malformed('Received invalid request.');
    const pooled = ids.flatMap((id) => pool.get(id) ?? []);
    const confirmed = ids.flatMap((id) => (pool.get(id) === undefined ? (confirmedTransaction(id) ?? []) : []));
    return [...pooled, ...confirmed].map((each) => codec.transactionToJson(each));
  }

  function confirmedTransaction(id: TransactionId) {
    const place = store.transactionPlace(id);
    return place === undefined ? undefined : store.transaction(place);
  }
}

function idOf(value: unknown): string {
  if (typeof value !== 'string' || !isU64Decimal(value)) throw malformed('id should be a decimal id');
  return value;
}

/**
 * Checks a list of ids. The check for repeated ids is for other transports: the transport in `p2p/` already refuses or
 * removes repeated ids.
 */
function idsOf(value: unknown, countMin: number): readonly string[] {
  if (!Array.isArray(value) || value.length < countMin) throw malformed(`ids should be a list of at least ${countMin}`);
  const ids = value.map(idOf);
  if (new Set(ids).size !== ids.length) throw malformed('ids should be unique');
  return ids;
}

function malformed(detail: string): PeerOffence {
  return new PeerOffence('MALFORMED_MESSAGE', detail);
}

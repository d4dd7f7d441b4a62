/** Packs and reads the requests and answers of generation 3. */

import { isIpv4 } from '../primitives/ip.ts';
import { isU64Decimal } from '../primitives/bytes.ts';
import {
  COMMON_BLOCK_IDS_MAX,
  type ChainRequest,
  type PeerAnswers,
  type PeerId,
  type PeerInfo,
  type PeerRequest,
} from '../ports/transport.ts';
import type { AnsweredCall, AnswerVerdict, Conversation, IncomingCall, Outgoing } from './dialect.ts';
import { INFO_MEMBERS, infoOf } from './info-gen3.ts';
import {
  answered,
  BLOCKS_PER_ANSWER_MAX,
  CALL,
  ITEMS_MAX,
  malformed,
  parseCall,
  readCommonBlock,
  readPendingSignatures,
  readTransactions,
  resultOf,
} from './call-shapes.ts';
import {
  distinctTexts,
  type Fields,
  INFO_BYTES_MAX,
  isListOfRecords,
  isRecord,
  jsonBytes,
  own,
  PEER_LIST_MAX,
  portOf,
  textsOnce,
} from './frame-validation.ts';

/** Sends a request as one call, and reads the answer. */
export function* ask<R extends PeerRequest>(request: R): Conversation<PeerAnswers[R['kind']]> {
  return readAnswer(request, yield packRequest(request));
}

function packRequest(request: PeerRequest): Outgoing {
  const call = (procedure: string, data?: object): Outgoing => ({
    event: CALL,
    data: data === undefined ? { procedure } : { procedure, data },
    call: true,
  });
  switch (request.kind) {
    case 'peers':
      return call('getPeers');
    case 'tip':
      return call('getLastBlock');
    case 'blocksAfter':
      return call('getBlocksFromId', { blockId: request.blockId });
    case 'highestCommonBlock':
      return call('getHighestCommonBlock', { ids: request.blockIds });
    case 'transactions':
      return call('getTransactions', request.ids === undefined ? undefined : { transactionIds: request.ids });
    case 'signatures':
      return call('getSignatures');
  }
}

export function readCall(data: unknown): IncomingCall {
  const asked = parseCall(data);
  if (asked.kind === 'refused') return asked;
  const { name, fields } = asked;
  const refused: IncomingCall = {
    kind: 'refused',
    name,
    error: { message: 'Received invalid request.' },
    offence: 'MALFORMED_MESSAGE',
  };
  switch (name) {
    case 'getNodeInfo':
      return { kind: 'info', name };
    case 'getPeers':
      return { kind: 'peers', name };
    case 'getLastBlock':
      return { kind: 'request', name, request: { kind: 'tip' } };
    case 'getBlocksFromId': {
      const blockId = own(fields, 'blockId');
      if (typeof blockId !== 'string' || !isU64Decimal(blockId)) return refused;
      return { kind: 'request', name, request: { kind: 'blocksAfter', blockId } };
    }
    case 'getHighestCommonBlock': {
      const blockIds = distinctTexts(own(fields, 'ids'), 1, COMMON_BLOCK_IDS_MAX, isU64Decimal);
      if (blockIds === undefined) return refused;
      return { kind: 'request', name, request: { kind: 'highestCommonBlock', blockIds } };
    }
    case 'getTransactions': {
      const given = own(fields, 'transactionIds');
      if (given === undefined) return { kind: 'request', name, request: { kind: 'transactions' } };
      const ids = textsOnce(given, 0, ITEMS_MAX, isU64Decimal);
      return ids === undefined ? refused : { kind: 'request', name, request: { kind: 'transactions', ids } };
    }
    case 'getSignatures':
      return { kind: 'request', name, request: { kind: 'signatures' } };
    default:
      return asked.unknown;
  }
}

/**
 * Contains, for each kind of request, the function that packs the result of the request. If lisk-sdk 3.0.2 has the kind
 * of request, the packed result has the same form as in lisk-sdk 3.0.2.
 */
const PACK_RESULT: Readonly<Record<ChainRequest['kind'], (result: unknown) => unknown>> = {
  tip: (block) => block,
  blocksAfter: (blocks) => blocks,
  highestCommonBlock: (block) => block,
  transactions: (transactions) => ({ transactions }),
  signatures: (signatures) => ({ signatures }),
};

export function packAnswer(call: AnsweredCall, result: unknown, peerId: PeerId): object {
  return { data: packResult(call, result), peerId };
}

function packResult(call: AnsweredCall, result: unknown): unknown {
  switch (call.kind) {
    case 'peers':
      return { success: true, peers: (result as readonly PeerInfo[]).slice(0, PEER_LIST_MAX).map(packPeer) };
    case 'info':
    case 'push':
      return result;
    case 'request':
      return PACK_RESULT[call.request.kind](result);
  }
}

/**
 * Packs an entry of a peer list: first IP address, port and height, then the other members that `peer` has, in the
 * order of `INFO_MEMBERS`.
 */
function packPeer(peer: PeerInfo): object {
  const entry: Record<string, unknown> = { ipAddress: peer.ip, wsPort: peer.wsPort };
  if (peer.height !== undefined) entry['height'] = peer.height;
  const known: Fields = { ...peer };
  for (const name of INFO_MEMBERS) {
    if (name !== 'wsPort' && name !== 'height' && known[name] !== undefined) entry[name] = known[name];
  }
  return entry;
}

// ---- answers -----------------------------------------------------------------------------------------------------

export function readAnswer<R extends PeerRequest>(request: R, answer: unknown): AnswerVerdict<PeerAnswers[R['kind']]> {
  // Each branch of `readResult` handles one kind of request, and returns the answer type of this kind. TypeScript
  // cannot infer this from the union type `PeerRequest`.
  return readResult(request, resultOf(answer)) as AnswerVerdict<PeerAnswers[R['kind']]>;
}

function readResult(request: PeerRequest, result: unknown): AnswerVerdict<unknown> {
  const fields: Fields = isRecord(result) ? result : {};
  switch (request.kind) {
    case 'peers':
      return readPeerList(own(fields, 'peers'));
    case 'tip':
      return isRecord(result) ? answered(result) : malformed('the last block is not an object');
    case 'blocksAfter':
      return isListOfRecords(result, BLOCKS_PER_ANSWER_MAX) ? answered(result) : malformed('blocks are not a list');
    case 'highestCommonBlock':
      return result === undefined || result === null ? answered(undefined) : readCommonBlock(fields);
    case 'transactions':
      return readUnconfirmed(fields);
    case 'signatures':
      return readPendingSignatures(fields);
  }
}

/**
 * Reads the transactions in an answer, and skips each transaction that is already in a block. A node of lisk-sdk 3.0.2
 * sends such a transaction without most of its asset. If this node did not skip the incomplete transaction, this node
 * would penalise an honest peer for invalid data. This node does not need such a transaction in an answer, because this
 * node gets the block with the whole transaction.
 */
function readUnconfirmed(fields: Fields): AnswerVerdict<PeerAnswers['transactions']> {
  const verdict = readTransactions(fields);
  if (verdict.kind !== 'answer') return verdict;
  const isConfirmed = (transaction: unknown): boolean =>
    isRecord(transaction) && typeof own(transaction, 'blockId') === 'string';
  return answered(verdict.answer.filter((transaction) => !isConfirmed(transaction)));
}

/**
 * Reads a peer list, and skips each entry that is too large, has no valid IPv4 address, or has no valid port. A peer
 * that opens a connection can claim any address and port in the parameter `options` of the WebSocket URL. A lisk-sdk
 * node passes this address and port on to every node that asks for the peer list. If one bad entry made the whole list
 * invalid, an attacker could make this node ban every honest node that passes the entry on.
 */
function readPeerList(entries: unknown): AnswerVerdict<readonly PeerInfo[]> {
  const bad = (reason: string): AnswerVerdict<never> => ({ kind: 'malformed', offence: 'MALFORMED_PEER_LIST', reason });
  if (!Array.isArray(entries)) return bad('the peer list is not a list');
  if (entries.length > PEER_LIST_MAX) return bad(`${String(entries.length)} peers in one list`);
  const peers: PeerInfo[] = [];
  for (const entry of entries as readonly unknown[]) {
    if (!isRecord(entry)) continue;
    const ip = own(entry, 'ipAddress');
    const wsPort = portOf(own(entry, 'wsPort'));
    if (isIpv4(ip) && wsPort !== undefined && jsonBytes(entry) <= INFO_BYTES_MAX) {
      peers.push(infoOf(entry, { ip, wsPort }));
    }
  }
  return answered(peers);
}

/** Packs and reads the requests and answers of generation 2. */

import { isIpv4 } from '../primitives/ip.ts';
import { isU64Decimal } from '../primitives/bytes.ts';
import { ProtocolError } from '../primitives/errors.ts';
import {
  COMMON_BLOCK_IDS_MAX,
  type ChainRequest,
  type PeerAnswers,
  type PeerInfo,
  type PeerRequest,
} from '../ports/transport.ts';
import type { AnsweredCall, AnswerVerdict, Conversation, Failure, IncomingCall, Outgoing } from './dialect.ts';
import { infoOf, packPeer } from './info-gen2.ts';
import {
  answered,
  BLOCKS_PER_ANSWER_MAX,
  CALL,
  malformed,
  parseCall,
  readCommonBlock,
  readPendingSignatures,
  readTransactions,
  resultOf,
} from './call-shapes.ts';
import { type Fields, INFO_BYTES_MAX, isRecord, jsonBytes, own, PEER_LIST_MAX, portOf } from './frame-validation.ts';
import { blocksOf, rowsOf } from './rows-gen2.ts';

/** If a request for blocks has no valid block id, this node answers with a failure that has this code. */
const BLOCKS_UNSOLICITED = 'BLOCKS_UNSOLICITED';

export function call(procedure: string, data?: object): Outgoing {
  const packet = { type: '/RPCRequest', procedure };
  return { event: CALL, data: data === undefined ? packet : { ...packet, data }, call: true };
}

// ---- requests of this node ------------------------------------------------------------------------------------------

export function* ask<R extends PeerRequest>(request: R): Conversation<PeerAnswers[R['kind']]> {
  // For each kind of request, `converse` returns an answer of the type that belongs to this kind. TypeScript cannot
  // infer this from the union type `PeerRequest`, so the code casts the result.
  return (yield* converse(request)) as AnswerVerdict<PeerAnswers[R['kind']]>;
}

function* converse(request: PeerRequest): Conversation<unknown> {
  switch (request.kind) {
    case 'peers':
      return unlessFailed('peers', yield call('list'), readPeerList);
    case 'blocksAfter':
      return unlessFailed('blocks', yield call('blocks', { lastBlockId: request.blockId }), readBlocks);
    case 'highestCommonBlock':
      return yield* highestCommonBlock(request.blockIds);
    case 'transactions':
      if (request.ids !== undefined) throw unsupported(request.kind);
      return unlessFailed('transactions', yield call('getTransactions'), readTransactions);
    case 'signatures':
      return unlessFailed('signatures', yield call('getSignatures'), readPendingSignatures);
    case 'tip':
      throw unsupported(request.kind);
  }
}

/**
 * Asks a peer for the highest of the given blocks that the peer also has. A peer of generation 2 looks up only one id
 * in each request. The ids are in ascending order of height, and a peer that has one of the given blocks also has all
 * given blocks with a lower height. The node can therefore use a binary search, with at most eleven calls for 1,000
 * ids. The search begins with the last id, because most peers have the block of this id.
 */
function* highestCommonBlock(blockIds: readonly string[]): Conversation<PeerAnswers['highestCommonBlock']> {
  let known: PeerAnswers['highestCommonBlock'];
  let low = 0;
  let high = Math.min(blockIds.length, COMMON_BLOCK_IDS_MAX) - 1;
  let probe = high;
  while (low <= high) {
    const id = blockIds[probe] ?? '';
    const result = fieldsOf(yield call('blocksCommon', { ids: id }));
    if (!isRecord(own(result, 'common')) && own(result, 'success') !== true) return refused(result);
    const common = own(result, 'common');
    if (isRecord(common)) {
      const verdict = readCommonBlock(common);
      if (verdict.kind !== 'answer') return verdict;
      if (verdict.answer?.id !== id) return malformed('the common block is another one');
      known = verdict.answer;
      low = probe + 1;
    } else high = probe - 1;
    probe = (low + high) >> 1;
  }
  return answered(known);
}

/** Reads a successful answer. An answer that reports a failed call becomes a refusal. */
function unlessFailed<A>(
  member: string,
  answer: unknown,
  read: (result: Fields) => AnswerVerdict<A>,
): AnswerVerdict<A> {
  const result = fieldsOf(answer);
  return isFailure(result, member) ? refused(result) : read(result);
}

/**
 * True if an answer reports a failed call in its data. The answers of `packFailure` have this form. Even an honest peer
 * can send such an answer, for example while the peer is busy or shuts down.
 *
 * @param member name of a member that every successful answer has
 */
function isFailure(result: Fields, member: string): boolean {
  // Lisk nodes of version 1 misspell the name `success` as `sucess`.
  if (own(result, 'success') === false || own(result, 'sucess') === false) return true;
  return own(result, member) === undefined && typeof own(result, 'message') === 'string';
}

/** @throws ProtocolError `CALL_FAILED` if the answer reports a failed call */
export function openInfoAnswer(answer: unknown): unknown {
  const result = fieldsOf(answer);
  if (!isFailure(result, 'version')) return resultOf(answer);
  const { reason } = refused(result);
  throw new ProtocolError('CALL_FAILED', { reason }, reason);
}

function readBlocks(result: Fields): AnswerVerdict<PeerAnswers['blocksAfter']> {
  const blocks = blocksOf(own(result, 'blocks'));
  if (blocks === undefined) return malformed('blocks are not a list of rows');
  if (blocks.length > BLOCKS_PER_ANSWER_MAX) return malformed(`${String(blocks.length)} blocks in one answer`);
  return answered(blocks);
}

/**
 * Reads a peer list, and skips each entry that is too large, has no valid IPv4 address, or has no valid port. A list of
 * more than `PEER_LIST_MAX` entries is an offence. An answer without a list counts as a refusal.
 */
function readPeerList(result: Fields): AnswerVerdict<readonly PeerInfo[]> {
  const entries = own(result, 'peers');
  if (!Array.isArray(entries)) return { kind: 'refused', reason: 'the peer list is not a list' };
  if (entries.length > PEER_LIST_MAX) {
    return { kind: 'malformed', offence: 'MALFORMED_PEER_LIST', reason: `${String(entries.length)} peers in one list` };
  }
  const peers: PeerInfo[] = [];
  for (const entry of entries as readonly unknown[]) {
    if (!isRecord(entry)) continue;
    const ip = own(entry, 'ip');
    const wsPort = portOf(own(entry, 'wsPort'));
    if (isIpv4(ip) && wsPort !== undefined && jsonBytes(entry) <= INFO_BYTES_MAX) {
      peers.push(infoOf(entry, { ip, wsPort }));
    }
  }
  return answered(peers);
}

function fieldsOf(answer: unknown): Fields {
  const result = resultOf(answer);
  return isRecord(result) ? result : {};
}

function refused(result: Fields): { readonly kind: 'refused'; readonly reason: string } {
  const message = own(result, 'message');
  return { kind: 'refused', reason: typeof message === 'string' ? message.slice(0, 200) : 'the peer cannot say' };
}

function unsupported(kind: string): ProtocolError {
  return new ProtocolError('REQUEST_UNSUPPORTED', { kind }, `generation 2 peers have no answer to ${kind}`);
}

// ---- requests of the peer -------------------------------------------------------------------------------------------

export function readCall(data: unknown): IncomingCall {
  const asked = parseCall(data);
  if (asked.kind === 'refused') return asked;
  const { name, argument, fields } = asked;
  const request = (each: ChainRequest): IncomingCall => ({ kind: 'request', name, request: each });
  switch (name) {
    case 'updateMyself':
      return { kind: 'push', name, value: argument };
    case 'status':
      return { kind: 'info', name };
    case 'list':
      return { kind: 'peers', name };
    case 'blocks': {
      const blockId = own(fields, 'lastBlockId');
      if (typeof blockId !== 'string' || !isU64Decimal(blockId))
        return failing(name, 'Invalid lastBlockId requested', BLOCKS_UNSOLICITED);
      return request({ kind: 'blocksAfter', blockId });
    }
    case 'blocksCommon':
      return readIds(name, own(fields, 'ids'), request);
    case 'getTransactions':
      return request({ kind: 'transactions' });
    case 'getSignatures':
      return request({ kind: 'signatures' });
    default:
      return asked.unknown;
  }
}

/**
 * Reads the ids in a request for a common block. The parameter `ids` is one string, in which commas separate the ids.
 * Quotation marks can enclose each id. Like all nodes of generation 2, this node looks up only the first valid id.
 */
function readIds(name: string, ids: unknown, request: (asked: ChainRequest) => IncomingCall): IncomingCall {
  if (typeof ids !== 'string') return failing(name, 'Invalid block id sequence');
  const texts = ids.split(',', COMMON_BLOCK_IDS_MAX + 1);
  if (texts.length > COMMON_BLOCK_IDS_MAX) return failing(name, 'ids property contains more than 1000 values');
  const [first] = texts.map((text) => text.replaceAll(/['"]/g, '')).filter(isU64Decimal);
  if (first === undefined) return failing(name, 'Invalid block id sequence');
  return request({ kind: 'highestCommonBlock', blockIds: [first] });
}

function failing(name: string, message: string, code = ''): IncomingCall {
  return { kind: 'refused', name, error: { message, code } };
}

export function packAnswer(asked: AnsweredCall, result: unknown): object {
  const packed = packResult(asked, result);
  return packed === undefined ? {} : { data: packed };
}

function packResult(asked: AnsweredCall, result: unknown): unknown {
  if (asked.kind === 'push') return undefined;
  if (asked.kind === 'info') return result;
  if (asked.kind === 'peers') {
    const peers = (result as readonly PeerInfo[]).slice(0, PEER_LIST_MAX).flatMap((peer) => packPeer(peer) ?? []);
    return { success: true, peers };
  }
  switch (asked.request.kind) {
    case 'blocksAfter':
      return { blocks: rowsOf(result as readonly unknown[]), success: true };
    case 'highestCommonBlock':
      return { success: true, common: result === undefined ? null : commonOf(result as Fields) };
    case 'transactions':
      return { success: true, transactions: result };
    case 'signatures':
      return { success: true, signatures: result };
    case 'tip':
      return result;
  }
}

function commonOf({ id, height, previousBlock = null, timestamp }: Fields): object {
  return { id, height, previousBlock, timestamp };
}

/**
 * Packs the failure of a peer's call as the data of an ordinary answer. Returns undefined if this node must send the
 * failure as an error instead.
 *
 * If a node of lisk-sdk 2.3.8 requests blocks and gets `success: false`, the lisk-sdk node reverts its own tip. On
 * inbound connections, and on connections that this node dialled, this node therefore answers a request for blocks with
 * `success: false` in only two cases. Either this node does not have the block with the requested id (`BLOCK_UNKNOWN`),
 * or the request has no valid block id (`BLOCKS_UNSOLICITED`).
 *
 * On an inbound connection, this node sends only these two failures as data, and all other failures as errors. On a
 * connection that this node dialled, this node sends all failures as data, because a lisk-sdk 2.3.8 peer bans a node
 * that dialled the peer and sends an error. If a request for blocks on a dialled connection fails for a reason other
 * than these two, the data contain a message, but no member `success`.
 */
export function packFailure(
  asked: AnsweredCall | undefined,
  { code, message }: Failure,
  direction: 'inbound' | 'outbound',
): object | undefined {
  const isBlocks = asked?.kind === 'request' && asked.request.kind === 'blocksAfter';
  if (isBlocks && code === 'BLOCK_UNKNOWN') return { data: { blocks: [], message, success: false } };
  if (code === BLOCKS_UNSOLICITED) return { data: { success: false, message } };
  if (direction === 'inbound') return undefined;
  return { data: isBlocks ? { message } : { success: false, message } };
}

/** The words of generation 3 (release 3.0.2). Names, member orders and close texts are those seen on its wire. */

import { isU64Decimal } from '../primitives/bytes.ts';
import type {
  NodeInfo,
  PeerAddress,
  PeerAnswers,
  PeerId,
  PeerInfo,
  PeerMessage,
  PeerRequest,
} from '../ports/transport.ts';
import type { MemberSignature } from '../protocol/types.ts';
import {
  type AnsweredCall,
  type AnswerVerdict,
  type Budget,
  CLOSE,
  type IncomingCall,
  type IncomingEvent,
  type InfoVerdict,
  type Outgoing,
  type QueryVerdict,
  type WireDialect,
} from './dialect.ts';
import {
  distinctTexts,
  type Fields,
  INFO_BYTES_MAX,
  infoCount,
  infoText,
  isIpv4,
  isRecord,
  jsonBytes,
  own,
  parseJson,
  PEER_LIST_MAX,
  portOf,
} from './packets.ts';

export interface Gen3DialectOptions {
  /** Identifier of the network, 64 hexadecimal digits. */
  readonly networkIdentifier: string;
  /** Oldest application version that this node claims to accept; informational in generation 3. Default `1.0.0`. */
  readonly minVersion?: string;
  /** `major.minor` that must agree in its major with the peer's. */
  readonly protocolVersion: string;
}

/** Items of an announcement, of a signatures message and of a request by ids. */
const ITEMS_MAX = 25;
/** A peer sends 34; more than this many in one answer is no answer of a node. */
const BLOCKS_PER_ANSWER_MAX = 100;
const TRANSACTIONS_PER_ANSWER_MAX = 100;
/** The reference asks for 202 ids at most and sets no bound of its own. */
const COMMON_BLOCK_IDS_MAX = 1_000;

const ENVELOPE = 'remote-message';
const CALL = 'rpc-request';
const REQUIRED = ['wsPort', 'version', 'networkId', 'protocolVersion'] as const;
const INFO_MEMBERS = [
  'os',
  'version',
  'wsPort',
  'httpPort',
  'minVersion',
  'protocolVersion',
  'height',
  'blockVersion',
  'maxHeightPrevoted',
  'networkId',
  'lastBlockId',
  'advertiseAddress',
  'nonce',
] as const;

/** Two infos or peer lists within a second are not answered; three pulls or announcements in ten seconds are free. */
const BUDGETS: ReadonlyMap<string, Budget> = new Map([
  ['getNodeInfo', { windowMs: 1_000, usesMax: 1, drops: true }],
  ['getPeers', { windowMs: 1_000, usesMax: 1, drops: true }],
  ['getTransactions', { windowMs: 10_000, usesMax: 3, drops: false }],
  ['postTransactionsAnnouncement', { windowMs: 10_000, usesMax: 3, drops: false }],
  ['postSignatures', { windowMs: 10_000, usesMax: 3, drops: false }],
]);

export function gen3Dialect(options: Gen3DialectOptions): WireDialect {
  const { networkIdentifier, protocolVersion, minVersion = '1.0.0' } = options;

  function packInfo(info: NodeInfo): object {
    return {
      os: info.os,
      version: info.version,
      wsPort: info.wsPort,
      httpPort: info.httpPort,
      minVersion,
      protocolVersion: info.protocolVersion,
      height: info.height,
      blockVersion: info.blockVersion ?? 0,
      maxHeightPrevoted: info.maxHeightPrevoted ?? 0,
      networkId: networkIdentifier,
      ...(info.lastBlockId === undefined ? {} : { lastBlockId: info.lastBlockId }),
      ...(info.advertiseAddress === undefined ? {} : { advertiseAddress: info.advertiseAddress }),
      nonce: info.nonce,
    };
  }

  /** Why a peer with this info cannot be ours; undefined when it can. */
  function incompatibility(info: PeerInfo): string | undefined {
    if (info.networkId !== networkIdentifier) return CLOSE.networkG3.reason;
    const major = majorOf(info.protocolVersion);
    return major === undefined || major < 1 || major !== majorOf(protocolVersion) ? CLOSE.protocol.reason : undefined;
  }

  return {
    path: '/rpc/',
    bansAtUpgrade: false,
    events: [ENVELOPE],
    budgets: BUDGETS,
    mayAnswerErrors: () => true,
    packInfo,

    query(info) {
      const packed = packInfo(info) as Record<string, string | number | boolean>;
      const query: Record<string, string> = {};
      for (const name of INFO_MEMBERS) {
        // The reference writes an absent advertiseAddress with an empty value and leaves other absent members out.
        if (packed[name] !== undefined || name === 'advertiseAddress') query[name] = String(packed[name] ?? '');
      }
      return { ...query, options: JSON.stringify(packed) };
    },

    readQuery(query, ip, ownNonce): QueryVerdict {
      if (query.get('nonce') === ownNonce) return { accepted: false, close: CLOSE.self };
      if (REQUIRED.some((name) => !query.get(name))) return { accepted: false, close: CLOSE.query };
      const text = query.get('options');
      const parsed = text ? parseJson(text) : {};
      if (!isRecord(parsed)) return { accepted: false, close: CLOSE.query };
      const said: Record<string, unknown> = {};
      for (const name of INFO_MEMBERS) said[name] = own(parsed, name) ?? query.get(name) ?? undefined;
      if (said['nonce'] === ownNonce) return { accepted: false, close: CLOSE.self };
      const wsPort = portOf(said['wsPort']);
      if (wsPort === undefined || jsonBytes(parsed) > INFO_BYTES_MAX || jsonBytes(said) > INFO_BYTES_MAX) {
        return { accepted: false, close: CLOSE.info, body: { name: CLOSE.info.reason } };
      }
      const info = infoOf(said, { ip, wsPort });
      const reason = incompatibility(info);
      return reason === undefined
        ? { accepted: true, info }
        : { accepted: false, close: { code: CLOSE.protocol.code, reason } };
    },

    readInfo(value, address): InfoVerdict {
      if (!isRecord(value)) return { kind: 'malformed', reason: 'node info is not an object' };
      const bytes = jsonBytes(value);
      if (bytes > INFO_BYTES_MAX) return { kind: 'tooLarge', reason: `node info of ${String(bytes)} bytes` };
      const info = infoOf(value, address);
      const reason = incompatibility(info);
      return reason === undefined ? { kind: 'accepted', info } : { kind: 'incompatible', reason };
    },

    infoPush: (packed) => ({ event: ENVELOPE, data: { event: 'postNodeInfo', data: packed }, call: false }),
    infoCall: () => ({ event: CALL, data: { procedure: 'getNodeInfo' }, call: true }),
    openInfoAnswer: resultOf,
    packRequest,
    readAnswer,
    readCall,
    packAnswer,
    packMessage,
    readEvent,
  };
}

// ---- calls ------------------------------------------------------------------------------------------------------------

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

function readCall(data: unknown): IncomingCall {
  if (!isRecord(data)) return { kind: 'refused', name: '', error: { message: 'Invalid request' } };
  const procedure = own(data, 'procedure');
  if (typeof procedure !== 'string') {
    const error = { message: 'Request procedure name is not a string', name: 'InvalidRPCRequestError' };
    return { kind: 'refused', name: '', error };
  }
  const name = procedure.startsWith('chain:') ? procedure.slice('chain:'.length) : procedure;
  const argument = own(data, 'data');
  const fields = isRecord(argument) ? argument : {};
  const malformed: IncomingCall = {
    kind: 'refused',
    name,
    error: { message: 'Received invalid request.' },
    fault: 'MALFORMED_MESSAGE',
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
      if (typeof blockId !== 'string' || !isU64Decimal(blockId)) return malformed;
      return { kind: 'request', name, request: { kind: 'blocksAfter', blockId } };
    }
    case 'getHighestCommonBlock': {
      const blockIds = distinctTexts(own(fields, 'ids'), 1, COMMON_BLOCK_IDS_MAX, isU64Decimal);
      if (blockIds === undefined) return malformed;
      return { kind: 'request', name, request: { kind: 'highestCommonBlock', blockIds } };
    }
    case 'getTransactions': {
      const given = own(fields, 'transactionIds');
      if (given === undefined) return { kind: 'request', name, request: { kind: 'transactions' } };
      const ids = distinctTexts(given, 0, ITEMS_MAX, isU64Decimal);
      return ids === undefined ? malformed : { kind: 'request', name, request: { kind: 'transactions', ids } };
    }
    case 'getSignatures':
      return { kind: 'request', name, request: { kind: 'signatures' } };
    default: {
      const action = (procedure.includes(':') ? procedure : `chain:${procedure}`).slice(0, 128);
      return { kind: 'refused', name: '', error: { message: `Action '${action}' is not registered to bus.` } };
    }
  }
}

function packAnswer(call: AnsweredCall, result: unknown, peerId: PeerId): object {
  return { data: packResult(call, result), peerId };
}

function packResult(call: AnsweredCall, result: unknown): unknown {
  if (call.kind === 'peers') {
    return { success: true, peers: (result as readonly PeerInfo[]).slice(0, PEER_LIST_MAX).map(packPeer) };
  }
  if (call.kind === 'request' && call.request.kind === 'transactions') return { transactions: result };
  if (call.kind === 'request' && call.request.kind === 'signatures') return { signatures: result };
  return result;
}

/** A list entry: address and height first, then what else is known, in the order of the reference. */
function packPeer(peer: PeerInfo): object {
  const entry: Record<string, unknown> = { ipAddress: peer.ip, wsPort: peer.wsPort };
  if (peer.height !== undefined) entry['height'] = peer.height;
  const known = peer as unknown as Fields;
  for (const name of INFO_MEMBERS) {
    if (name !== 'wsPort' && name !== 'height' && known[name] !== undefined) entry[name] = known[name];
  }
  return entry;
}

// ---- answers ----------------------------------------------------------------------------------------------------------

function resultOf(answer: unknown): unknown {
  return isRecord(answer) ? own(answer, 'data') : undefined;
}

function readAnswer<R extends PeerRequest>(request: R, answer: unknown): AnswerVerdict<PeerAnswers[R['kind']]> {
  // Each branch gives the answer of its own kind of question, which the compiler cannot follow through the union.
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
    case 'highestCommonBlock': {
      if (result === undefined || result === null) return answered(undefined);
      const id = own(fields, 'id');
      const height = own(fields, 'height');
      if (typeof id !== 'string' || !isU64Decimal(id) || typeof height !== 'number' || !Number.isSafeInteger(height)) {
        return malformed('the common block has no id or height');
      }
      return answered({ id, height });
    }
    case 'transactions': {
      const transactions = own(fields, 'transactions');
      if (!isListOfRecords(transactions, TRANSACTIONS_PER_ANSWER_MAX)) return malformed('transactions are not a list');
      return answered(transactions);
    }
    case 'signatures': {
      const signatures = own(fields, 'signatures');
      if (!isListOfRecords(signatures, TRANSACTIONS_PER_ANSWER_MAX)) return malformed('signatures are not a list');
      const read = signatures.map(readPendingSignatures);
      return read.includes(undefined) ? malformed('signatures without transaction') : answered(read);
    }
  }
}

function readPeerList(entries: unknown): AnswerVerdict<readonly PeerInfo[]> {
  const bad = (reason: string): AnswerVerdict<never> => ({ kind: 'malformed', fault: 'MALFORMED_PEER_LIST', reason });
  if (!Array.isArray(entries)) return bad('the peer list is no list');
  if (entries.length > PEER_LIST_MAX) return bad(`${String(entries.length)} peers in one list`);
  const peers: PeerInfo[] = [];
  for (const entry of entries as readonly unknown[]) {
    if (!isRecord(entry)) return bad('a listed peer is not an object');
    const ip = own(entry, 'ipAddress');
    const wsPort = portOf(own(entry, 'wsPort'));
    if (wsPort === undefined) return bad('a listed peer has no possible port');
    if (jsonBytes(entry) > INFO_BYTES_MAX) return bad('a listed peer is too large');
    if (isIpv4(ip)) peers.push(infoOf(entry, { ip, wsPort }));
    // Generation 3 accepts IPv6 in lists without being able to use it; it is passed over, not punished.
    else if (typeof ip !== 'string' || !/^[0-9a-f.:]{2,45}$/i.test(ip)) return bad('a listed peer has no address');
  }
  return answered(peers);
}

function readPendingSignatures(value: Fields): PeerAnswers['signatures'][number] | undefined {
  const transaction = own(value, 'transaction');
  const signatures = distinctTexts(own(value, 'signatures'), 0, 64, isSignature);
  if (typeof transaction !== 'string' || !isU64Decimal(transaction) || signatures === undefined) return undefined;
  return { transaction, signatures };
}

function answered<A>(answer: A): AnswerVerdict<A> {
  return { kind: 'answer', answer };
}

function malformed(reason: string): AnswerVerdict<never> {
  return { kind: 'malformed', fault: 'MALFORMED_MESSAGE', reason };
}

function isListOfRecords(value: unknown, max: number): value is readonly Fields[] {
  return Array.isArray(value) && value.length <= max && value.every(isRecord);
}

// ---- messages ---------------------------------------------------------------------------------------------------------

function packMessage(message: PeerMessage): Outgoing | undefined {
  const emit = (event: string, data: object): Outgoing => ({ event: ENVELOPE, data: { event, data }, call: false });
  switch (message.kind) {
    case 'block':
      return emit('postBlock', { block: message.block });
    case 'transactionIds':
      return emit('postTransactionsAnnouncement', { transactionIds: message.ids });
    case 'signatures':
      return emit('postSignatures', { signatures: message.signatures });
    case 'transactions':
      // Generation 3 never sends whole transactions: it announces ids.
      return undefined;
  }
}

function readEvent(event: string, data: unknown): IncomingEvent {
  const name = isRecord(data) ? own(data, 'event') : undefined;
  if (event !== ENVELOPE || !isRecord(data) || typeof name !== 'string') return { kind: 'ignored' };
  const body = own(data, 'data');
  const fields: Fields = isRecord(body) ? body : {};
  switch (name) {
    case 'postNodeInfo':
      return { kind: 'push', name, value: body };
    case 'postBlock': {
      const block = own(fields, 'block');
      if (!isRecord(block)) return { kind: 'malformed', name, reason: 'the block is not an object' };
      return { kind: 'message', name, message: { kind: 'block', block } };
    }
    case 'postTransactionsAnnouncement': {
      const ids = distinctTexts(own(fields, 'transactionIds'), 1, ITEMS_MAX, isU64Decimal);
      if (ids === undefined) return { kind: 'malformed', name, reason: 'transactionIds are not 1 to 25 distinct ids' };
      return { kind: 'message', name, message: { kind: 'transactionIds', ids } };
    }
    case 'postSignatures': {
      const signatures = readMemberSignatures(own(fields, 'signatures'));
      if (signatures === undefined) return { kind: 'malformed', name, reason: 'signatures are not 1 to 25 signatures' };
      return { kind: 'message', name, message: { kind: 'signatures', signatures } };
    }
    default:
      return { kind: 'ignored' };
  }
}

function readMemberSignatures(value: unknown): readonly MemberSignature[] | undefined {
  if (!isListOfRecords(value, ITEMS_MAX) || value.length === 0) return undefined;
  const signatures: MemberSignature[] = [];
  for (const item of value) {
    const transactionId = own(item, 'transactionId');
    const publicKey = own(item, 'publicKey');
    const signature = own(item, 'signature');
    if (typeof transactionId !== 'string' || !isU64Decimal(transactionId)) return undefined;
    if (typeof publicKey !== 'string' || !/^[0-9a-fA-F]{64}$/.test(publicKey)) return undefined;
    if (typeof signature !== 'string' || !isSignature(signature)) return undefined;
    signatures.push({ transactionId, publicKey, signature });
  }
  return signatures;
}

function isSignature(text: string): boolean {
  return /^[0-9a-fA-F]{128}$/.test(text);
}

// ---- infos ------------------------------------------------------------------------------------------------------------

function infoOf(said: Fields, address: PeerAddress): PeerInfo {
  const info: Record<string, unknown> = { ip: address.ip, wsPort: address.wsPort };
  const keep = (name: string, value: unknown): void => {
    if (value !== undefined) info[name] = value;
  };
  for (const name of ['os', 'version', 'protocolVersion', 'networkId', 'lastBlockId', 'nonce']) {
    keep(name, infoText(own(said, name)));
  }
  for (const name of ['httpPort', 'height', 'blockVersion', 'maxHeightPrevoted']) {
    keep(name, infoCount(own(said, name)));
  }
  const advertise = own(said, 'advertiseAddress');
  // Of a text only `false` means no; an empty value, as the reference sends when unset, means yes.
  if (advertise === false || advertise === 'false') info['advertiseAddress'] = false;
  else if (advertise !== undefined && advertise !== null) info['advertiseAddress'] = true;
  return info as unknown as PeerInfo;
}

function majorOf(protocolVersion: string | undefined): number | undefined {
  const match = /^([0-9]{1,4})(?:\.[0-9]{1,6})*$/.exec(protocolVersion ?? '');
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/**
 * Implements the wire dialect of generation 3. Names, member orders and close reasons are the same as in lisk-sdk
 * 3.0.2.
 */

import { isU64Decimal } from '../primitives/bytes.ts';
import type { NodeInfo, PeerInfo, PeerMessage } from '../ports/transport.ts';
import { ask, packAnswer, readCall } from './calls-gen3.ts';
import {
  CLOSE,
  type IncomingEvent,
  type InfoVerdict,
  type Outgoing,
  type QueryVerdict,
  type WireDialect,
} from './dialect.ts';
import { INFO_MEMBERS, infoOf } from './info-gen3.ts';
import { isProtocolCompatible, readQueryInfo } from './info.ts';
import { CALL, ITEMS_MAX, readMemberSignatures, resultOf } from './call-shapes.ts';
import { type Fields, INFO_BYTES_MAX, isRecord, jsonBytes, own, portOf, textsOnce } from './frame-validation.ts';

export interface Gen3DialectOptions {
  /** Identifier of the network, 64 hexadecimal digits. */
  readonly networkIdentifier: string;
  /**
   * Value of the member `minVersion` in the info of this node: the oldest application version that peers should have.
   * In generation 3, no node checks this value. The default is `1.0.0`.
   */
  readonly minVersion?: string;
  /** Protocol version of this node as `major.minor`. A peer must have the same major number. */
  readonly protocolVersion: string;
}

const ENVELOPE = 'remote-message';
const REQUIRED = ['wsPort', 'version', 'networkId', 'protocolVersion'] as const;

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

  /** Returns the reason why a peer with this info is incompatible, or undefined if the peer is compatible. */
  function incompatibility(info: PeerInfo): string | undefined {
    if (info.networkId !== networkIdentifier) return CLOSE.networkG3.reason;
    return isProtocolCompatible(info.protocolVersion, protocolVersion) ? undefined : CLOSE.protocol.reason;
  }

  return {
    path: '/rpc/',
    bansAtUpgrade: false,
    events: [ENVELOPE],
    generation: 3,
    packFailure: () => undefined,
    packInfo,

    query(info) {
      const packed = packInfo(info) as Record<string, string | number | boolean>;
      const query: Record<string, string> = {};
      for (const name of INFO_MEMBERS) {
        // A node of lisk-sdk 3.0.2 sends an empty text for a missing `advertiseAddress`, and omits all other missing
        // members.
        if (packed[name] !== undefined || name === 'advertiseAddress') query[name] = String(packed[name] ?? '');
      }
      return { ...query, options: JSON.stringify(packed) };
    },

    readQuery(query, ip, ownNonce): QueryVerdict {
      const read = readQueryInfo(query, ownNonce, INFO_MEMBERS, REQUIRED);
      const invalid: QueryVerdict = { accepted: false, close: CLOSE.info, body: { name: CLOSE.info.reason } };
      if (read.peerFields === undefined) {
        return read.close === CLOSE.info ? invalid : { accepted: false, close: read.close };
      }
      const { peerFields, options: parsed } = read;
      const wsPort = portOf(peerFields['wsPort']);
      if (wsPort === undefined || jsonBytes(parsed) > INFO_BYTES_MAX || jsonBytes(peerFields) > INFO_BYTES_MAX) {
        return invalid;
      }
      const info = infoOf(peerFields, { ip, wsPort });
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
    ask,
    readCall,
    packAnswer,
    packMessage,
    readEvent,
  };
}

// ---- messages ----------------------------------------------------------------------------------------------------

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
      // Generation 3 has no message with whole transactions. A node announces the ids of transactions, and sends whole
      // transactions only in its answers to requests.
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
      // Repeated ids are no fault: lisk-sdk nodes accept them, and earlier builds of this node could send them.
      const ids = textsOnce(own(fields, 'transactionIds'), 1, ITEMS_MAX, isU64Decimal);
      if (ids === undefined) return { kind: 'malformed', name, reason: 'transactionIds are not 1 to 25 ids' };
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

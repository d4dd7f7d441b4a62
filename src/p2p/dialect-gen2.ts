/**
 * Implements the wire dialect of generation 2. Names, member orders and close reasons are the same as in lisk-sdk
 * 2.3.8.
 */

import type { NodeInfo, PeerInfo, PeerMessage } from '../ports/transport.ts';
import { ask, call, openInfoAnswer, packAnswer, packFailure, readCall } from './calls-gen2.ts';
import { CLOSE, type IncomingEvent, type InfoVerdict, type QueryVerdict, type WireDialect } from './dialect.ts';
import { INFO_MEMBERS, infoOf, isAtLeast, isVersion, STATE } from './info-gen2.ts';
import { isProtocolCompatible, readQueryInfo } from './info.ts';
import { ITEMS_MAX, readMemberSignatures } from './call-shapes.ts';
import { INFO_BYTES_MAX, isRecord, jsonBytes, own, portOf } from './frame-validation.ts';

export interface Gen2DialectOptions {
  /** Payload hash of the genesis block, 64 hexadecimal digits. */
  readonly nethash: string;
  /**
   * Protocol version of this node as `major.minor`. If a peer sends a protocol version, the major numbers of both
   * versions must be equal.
   */
  readonly protocolVersion: string;
  /** Oldest application version that this node accepts if a peer sends no protocol version. The default is `1.0.0`. */
  readonly minVersion?: string;
  /** Nonce with which this node identifies itself in messages: 16 characters. */
  readonly nonce: string;
}

const ENVELOPE = 'remote-message';
const MESSAGES = ['postBlock', 'postTransactions', 'postSignatures'] as const;
const REQUIRED = ['wsPort', 'version', 'nethash'] as const;
const NONCE_LENGTH = 16;

export function gen2Dialect(options: Gen2DialectOptions): WireDialect {
  const { nethash, protocolVersion, minVersion = '1.0.0', nonce } = options;

  function packInfo(info: NodeInfo): object {
    return {
      os: info.os,
      version: info.version,
      wsPort: info.wsPort,
      httpPort: info.httpPort,
      minVersion,
      protocolVersion: info.protocolVersion,
      height: info.height,
      nethash,
      // The default is the nethash, which is the broadhash of a chain with only the genesis block.
      broadhash: info.broadhash ?? nethash,
      nonce: info.nonce,
      state: STATE,
    };
  }

  /** Returns the reason why a peer with this info is incompatible, or undefined if the peer is compatible. */
  function incompatibility(info: PeerInfo): string | undefined {
    if (info.nethash !== nethash) return CLOSE.networkG2.reason;
    const isCompatible =
      info.protocolVersion === undefined
        ? isAtLeast(info.version, minVersion)
        : isProtocolCompatible(info.protocolVersion, protocolVersion);
    return isCompatible ? undefined : CLOSE.protocol.reason;
  }

  return {
    path: '/socketcluster/',
    bansAtUpgrade: true,
    events: [ENVELOPE, ...MESSAGES],
    generation: 2,
    packFailure,
    packInfo,

    query(info) {
      const packed = packInfo(info) as Record<string, string | number>;
      const query = Object.fromEntries(INFO_MEMBERS.map((name) => [name, String(packed[name])]));
      return { ...query, options: JSON.stringify(packed) };
    },

    readQuery(query, ip, ownNonce): QueryVerdict {
      const read = readQueryInfo(query, ownNonce, INFO_MEMBERS, REQUIRED);
      if (read.peerFields === undefined) {
        // Nodes of lisk-sdk 2.3.8 do not have the close code 4105.
        return { accepted: false, close: read.close === CLOSE.info ? CLOSE.query : read.close };
      }
      const { peerFields } = read;
      // Nodes of lisk-sdk accept any text as a port. This node refuses an invalid port, because a peer without a valid
      // port has no id.
      const wsPort = portOf(peerFields['wsPort']);
      if (wsPort === undefined) return { accepted: false, close: CLOSE.query };
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
      if (!isVersion(own(value, 'version'))) return { kind: 'malformed', reason: 'node info has no version' };
      if (portOf(own(value, 'wsPort')) === undefined) return { kind: 'malformed', reason: 'node info has no port' };
      const info = infoOf(value, address);
      const reason = incompatibility(info);
      return reason === undefined ? { kind: 'accepted', info } : { kind: 'incompatible', reason };
    },

    infoPush: (packed) => call('updateMyself', packed),
    infoCall: () => call('status'),
    openInfoAnswer,
    ask,
    readCall,
    packAnswer,

    packMessage(message) {
      const emit = (event: (typeof MESSAGES)[number], data: object) => ({
        event,
        data: { ...data, nonce },
        call: false,
      });
      switch (message.kind) {
        case 'block':
          return emit('postBlock', { block: message.block });
        case 'transactions':
          return emit('postTransactions', { transactions: message.transactions });
        case 'signatures':
          return emit('postSignatures', { signatures: message.signatures });
        case 'transactionIds':
          // In generation 2, nodes send whole transactions, and never announce the ids of transactions.
          return undefined;
      }
    },

    readEvent(event, data): IncomingEvent {
      if (event !== ENVELOPE) return readMessage(event, data);
      // The data of an event `ENVELOPE` contain the name and the data of another event. Nodes of lisk-sdk accept such
      // events, but do not send them. This node does the same.
      const name = isRecord(data) ? own(data, 'event') : undefined;
      return isRecord(data) && typeof name === 'string' ? readMessage(name, own(data, 'data')) : { kind: 'ignored' };
    },
  };
}

/** Reads a message. Ignores unknown members, because lisk-sdk releases before 2.3.8 send additional members. */
function readMessage(name: string, data: unknown): IncomingEvent {
  const bad = (reason: string): IncomingEvent => ({ kind: 'malformed', name, reason });
  if (!(MESSAGES as readonly string[]).includes(name)) return { kind: 'ignored' };
  if (!isRecord(data)) return bad('the message is not an object');
  const nonce = own(data, 'nonce');
  if (nonce !== undefined && (typeof nonce !== 'string' || nonce.length !== NONCE_LENGTH)) {
    return bad('the nonce is not a string of 16 characters');
  }
  const message = messageOf(name, data);
  return typeof message === 'string' ? bad(message) : { kind: 'message', name, message };
}

/** Returns the message, or the reason why `data` is malformed. */
function messageOf(name: string, data: Readonly<Record<string, unknown>>): PeerMessage | string {
  if (name === 'postBlock') {
    const block = own(data, 'block');
    return isRecord(block) ? { kind: 'block', block } : 'the block is not an object';
  }
  if (name === 'postTransactions') {
    const items = own(data, 'transactions');
    const isList = Array.isArray(items) && items.length > 0 && items.length <= ITEMS_MAX;
    if (!isList) return 'transactions are not a list of 1 to 25';
    // Skips items that are not objects, as a node of lisk-sdk 2.3.8 does.
    return { kind: 'transactions', transactions: items.filter(isRecord) };
  }
  const signatures = readMemberSignatures(own(data, 'signatures'));
  return signatures === undefined ? 'signatures are not 1 to 25 signatures' : { kind: 'signatures', signatures };
}

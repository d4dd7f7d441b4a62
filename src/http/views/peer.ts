/**
 * Makes the JSON objects that show peers to clients of the HTTP API, and their schema. Clients get only those members
 * of a peer info that this file names. If the node does not know the value of a member, the object does not contain the
 * member.
 */

import type { PeerEntry } from '../../ports/node-api.ts';
import type { ChainParams } from '../../protocol/params.ts';
import { extendedMembers, extendedShape, type HttpDialect } from '../dialect.ts';
import { omitUndefined } from '../omit-undefined.ts';
import type { Schema } from '../schema.ts';
import * as shape from './shapes.ts';

/**
 * @param network hashes of this node's network
 */
export function peerView(entry: PeerEntry, dialect: HttpDialect, network: Network): Readonly<Record<string, unknown>> {
  const { info } = entry;
  const common = {
    ip: info.ip,
    wsPort: info.wsPort,
    httpPort: info.httpPort,
    height: info.height,
    os: info.os,
    version: info.version,
    protocolVersion: info.protocolVersion,
  };
  const { broadhash, nonce } = info;
  if (dialect.generation === 2) {
    const own = omitUndefined({ ...common, state: STATE_NUMBERS[entry.state], broadhash, nonce });
    // A peer of generation 2 can send the nethash instead of the network identifier. If this nethash is the nethash of
    // this network, the peer's network identifier is the one of this network.
    const networkId = info.networkId ?? (info.nethash === network.nethash ? network.networkIdentifier : undefined);
    return extendedMembers(dialect, own, omitUndefined({ networkId }));
  }
  const own = omitUndefined({ ...common, state: entry.state, networkId: info.networkId });
  return extendedMembers(dialect, own, omitUndefined({ broadhash, nonce }));
}

/** The two hashes that identify a network. */
export type Network = Pick<ChainParams, 'nethash' | 'networkIdentifier'>;

/**
 * Numbers with which the HTTP API of generation 2 shows the states of peers. Generation 2 also defines the number 0,
 * but no peer of this node ever has the state with this number.
 */
export const STATE_NUMBERS: Readonly<Record<PeerEntry['state'], number>> = { connected: 2, disconnected: 1 };

export function peerShape(dialect: HttpDialect): Schema {
  const state: Schema =
    dialect.generation === 2
      ? { type: 'integer', minimum: 0, maximum: 2 }
      : { type: 'string', enum: ['connected', 'disconnected'] };
  const info = {
    httpPort: shape.COUNT,
    height: shape.COUNT,
    os: shape.TEXT,
    version: shape.TEXT,
    protocolVersion: shape.TEXT,
  };
  const info2 = { broadhash: shape.HEX, nonce: shape.TEXT };
  const info3 = { networkId: shape.HEX };
  const [own, other] = dialect.generation === 2 ? [info2, info3] : [info3, info2];
  const always = { ip: { type: 'string', format: 'ip' }, wsPort: shape.COUNT, state } as const;
  const optional = Object.keys({ ...info, ...info2, ...info3 });
  return extendedShape(dialect, { ...always, ...info, ...own }, other, optional);
}

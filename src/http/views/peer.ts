/** Peers as clients read them: a fixed table of fields, each only when the peer told it. */

import type { PeerEntry } from '../../ports/node-api.ts';
import type { Dialect } from '../dialect.ts';
import type { Schema } from '../schema.ts';
import * as shape from './shapes.ts';

export function peerView(entry: PeerEntry, dialect: Dialect): Readonly<Record<string, unknown>> {
  const { info } = entry;
  const own = dialect.generation === 2;
  const fields: Readonly<Record<string, unknown>> = {
    ip: info.ip,
    wsPort: info.wsPort,
    httpPort: info.httpPort,
    height: info.height,
    os: info.os,
    version: info.version,
    protocolVersion: info.protocolVersion,
    state: own ? STATE_NUMBERS[entry.state] : entry.state,
    ...(own ? { broadhash: info.broadhash, nonce: info.nonce } : {}),
    networkId: info.networkId,
    ...(own ? {} : { broadhash: info.broadhash, nonce: info.nonce }),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Generation 2's numbers; it also knows 0, which no peer ever has. */
export const STATE_NUMBERS: Readonly<Record<PeerEntry['state'], number>> = { connected: 2, disconnected: 1 };

export function peerShape(dialect: Dialect): Schema {
  const state: Schema =
    dialect.generation === 2
      ? { type: 'integer', minimum: 0, maximum: 2 }
      : { type: 'string', enum: ['connected', 'disconnected'] };
  const told = {
    httpPort: shape.COUNT,
    height: shape.COUNT,
    os: shape.TEXT,
    version: shape.TEXT,
    protocolVersion: shape.TEXT,
    broadhash: shape.HEX,
    nonce: shape.TEXT,
    networkId: shape.HEX,
  };
  return shape.objectOf(
    { ip: { type: 'string', format: 'ip' }, wsPort: shape.COUNT, state, ...told },
    Object.keys(told),
  );
}

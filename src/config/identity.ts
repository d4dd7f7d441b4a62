/**
 * Reads known facts of the public networks, such as the nethash. The package contains these facts, but not the genesis
 * blocks. A user imports a genesis block with `bloomery network import`, which compares the block with the facts.
 */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BlockId } from '../protocol/types.ts';
import { readBounded } from './bounded-file.ts';
import { packageDirectory } from './package.ts';
import { RecordReader } from './record.ts';

/** The facts in a file `networks/NAME/identity.json`. */
export interface NetworkIdentity {
  readonly name: string;
  /** The moment from which the network counts its timestamps, as ISO 8601 text. */
  readonly epoch: string;
  readonly communityIdentifier: string;
  readonly nethash: string;
  readonly genesisBlockId: BlockId;
  /** The network identifier as 64 hexadecimal digits. */
  readonly networkIdentifier: string;
  readonly rewardsOffset: number;
  /** Height of the last block whose header has version 0. */
  readonly version0EndHeight: number;
  readonly wsPort: number;
  readonly httpPort: number;
}

const FILE = 'identity.json';
const FILE_BYTES_MAX = 1024 * 1024;

/** Returns the facts of all public networks for which the package has an `identity.json`. */
export function knownIdentities(): readonly NetworkIdentity[] {
  const networks = join(packageDirectory(), 'networks');
  return readdirSync(networks)
    .map((name) => join(networks, name, FILE))
    .filter((file) => existsSync(file))
    .map(readIdentity);
}

function readIdentity(file: string): NetworkIdentity {
  const record = new RecordReader(
    JSON.parse(readBounded(file, { bytesMax: FILE_BYTES_MAX }).toString('utf8')) as unknown,
    file,
    'NETWORK_INVALID',
  );
  const identity: NetworkIdentity = {
    name: record.text('name'),
    epoch: record.text('epoch'),
    communityIdentifier: record.text('communityIdentifier'),
    nethash: record.text('nethash'),
    genesisBlockId: record.text('genesisBlockId'),
    networkIdentifier: record.text('networkIdentifier'),
    rewardsOffset: record.integer('rewardsOffset', 1),
    version0EndHeight: record.integer('version0EndHeight', 1),
    wsPort: record.integer('wsPort', 1, 65_535),
    httpPort: record.integer('httpPort', 1, 65_535),
  };
  record.end();
  return identity;
}

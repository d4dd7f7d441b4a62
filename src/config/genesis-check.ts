/**
 * Checks the height and the id of a genesis block and, from block version 2 on, its payload hash. The check does not
 * verify signatures, because no node of a Lisk network verifies the signatures of the genesis block.
 */

import { ProtocolError, messageOf } from '../primitives/errors.ts';
import { headerId } from '../protocol/block/header.ts';
import { payloadHashOf } from '../protocol/block/validate.ts';
import { createGen2Codec } from '../protocol/gen2/codec.ts';
import { createGen3Codec, headerBytes, transactionBytes } from '../protocol/gen3/codec.ts';
import type { ChainParams } from '../protocol/params.ts';
import type { Block } from '../protocol/types.ts';

/**
 * First block version in which the payload hash of a genesis block is the hash of its transactions. In a genesis block
 * of a lower version, the payload hash is not the hash of the transactions.
 */
const HASHED_VERSION = 2;

/**
 * @param json content of `genesis.json`
 * @param file path of the file, for errors
 * @throws ProtocolError `NETWORK_INVALID` when the content is not a genesis block, or when the height, the id or (from
 *   `HASHED_VERSION` on) the payload hash is wrong
 */
export function checkGenesis(json: unknown, params: ChainParams, file: string): void {
  const block = read(json, params, file);
  if (block.height !== 1) throw wrong(file, 'height', '1');
  const id = headerId(block);
  if (id !== params.genesisBlockId) throw wrong(file, 'id', `${id}, which the header has`);
  if (block.version < HASHED_VERSION) return;
  const payloadHash = payloadHashOf(block.transactions, { headerBytes, transactionBytes });
  if (payloadHash !== params.nethash) throw wrong(file, 'payloadHash', `${payloadHash}, which the transactions have`);
}

function read(json: unknown, params: ChainParams, file: string): Block {
  try {
    const codec = params.generation === 2 ? createGen2Codec(params) : createGen3Codec(params);
    return codec.genesisFromJson(json);
  } catch (error) {
    throw new ProtocolError('NETWORK_INVALID', { file }, `${file}: is not a genesis block: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function wrong(file: string, key: string, expected: string): ProtocolError {
  return new ProtocolError('NETWORK_INVALID', { file, key, expected }, `${file}: ${key} must be ${expected}`);
}

/**
 * Converts block headers to bytes and back. The id of the previous block is big-endian; all other integers are
 * little-endian. LIP-0014 defines big-endian heights, but lisk-sdk 3.0.2 signs little-endian heights.
 */

import { idOf } from '../../crypto/hash.ts';
import { bytesOfHex, hexOf } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { BlockHeader, BlockId } from '../types.ts';

const BYTES_BEFORE_HEIGHT = 16;
const BYTES_OF_HEIGHTS = 12;
/** Number of signed bytes of a header of version 0 or 1. These bytes do not contain the height. */
const OLD_HEADER_BYTES = 112;
const SIGNATURE_BYTES = 64;

/**
 * The bytes that the generator signs: the header without its signature. The result has 112 bytes in versions 0 and 1,
 * and 124 bytes in version 2.
 */
export function headerBytes(header: BlockHeader): Buffer {
  const heights = header.version < 2 ? 0 : BYTES_OF_HEIGHTS;
  const bytes = Buffer.alloc(OLD_HEADER_BYTES + heights);
  bytes.writeUInt32LE(header.version, 0);
  bytes.writeUInt32LE(header.timestamp, 4);
  bytes.writeBigUInt64BE(BigInt(header.previousBlockId ?? '0'), 8);
  if (heights > 0) {
    bytes.writeUInt32LE(header.height, BYTES_BEFORE_HEIGHT);
    bytes.writeUInt32LE(header.maxHeightPreviouslyForged, BYTES_BEFORE_HEIGHT + 4);
    bytes.writeUInt32LE(header.maxHeightPrevoted, BYTES_BEFORE_HEIGHT + 8);
  }
  const rest = bytes.subarray(BYTES_BEFORE_HEIGHT + heights);
  rest.writeUInt32LE(header.numberOfTransactions, 0);
  rest.writeBigUInt64LE(header.totalAmount, 4);
  rest.writeBigUInt64LE(header.totalFee, 12);
  rest.writeBigUInt64LE(header.reward, 20);
  rest.writeUInt32LE(header.payloadLength, 28);
  rest.write(header.payloadHash, 32, 32, 'hex');
  rest.write(header.generatorPublicKey, 64, 32, 'hex');
  return bytes;
}

/**
 * The header of a block: all members except the transactions. The function copies the members one by one, because
 * spreading a block that reads its transactions on demand (`unpackBlock`) is slow.
 */
export function headerOf(block: BlockHeader): BlockHeader {
  const { previousBlockId } = block;
  const header: { -readonly [K in keyof BlockHeader]: BlockHeader[K] } = {
    id: block.id,
    version: block.version,
    height: block.height,
    timestamp: block.timestamp,
    numberOfTransactions: block.numberOfTransactions,
    totalAmount: block.totalAmount,
    totalFee: block.totalFee,
    reward: block.reward,
    payloadLength: block.payloadLength,
    payloadHash: block.payloadHash,
    generatorPublicKey: block.generatorPublicKey,
    blockSignature: block.blockSignature,
    maxHeightPreviouslyForged: block.maxHeightPreviouslyForged,
    maxHeightPrevoted: block.maxHeightPrevoted,
  };
  if (previousBlockId !== undefined) header.previousBlockId = previousBlockId;
  return header;
}

/** Computes the id of a block from its header, which contains the signature of the block. */
export function headerId(header: BlockHeader): string {
  return idOf(Buffer.concat([headerBytes(header), bytesOfHex(header.blockSignature)]));
}

/**
 * Returns the signed bytes, followed by the signature. If the signed bytes do not contain the height, the height
 * follows as four bytes.
 */
export function encodeHeader(header: BlockHeader): Buffer {
  const parts = [headerBytes(header), bytesOfHex(header.blockSignature)];
  if (header.version < 2) {
    const height = Buffer.alloc(4);
    height.writeUInt32LE(header.height);
    parts.push(height);
  }
  return Buffer.concat(parts);
}

/**
 * @param knownId the id of the block; without this argument, the function computes the id
 * @throws ProtocolError `HEADER_BYTES_INVALID` if the length is wrong for the version
 */
export function decodeHeader(stored: Uint8Array, knownId?: BlockId): BlockHeader {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  const version = bytes.length >= 4 ? bytes.readUInt32LE(0) : 0;
  const heights = version < 2 ? 0 : BYTES_OF_HEIGHTS;
  const signedBytes = OLD_HEADER_BYTES + heights + SIGNATURE_BYTES;
  if (bytes.length !== signedBytes + (version < 2 ? 4 : 0)) {
    throw new ProtocolError('HEADER_BYTES_INVALID', { version, length: bytes.length });
  }
  const rest = bytes.subarray(BYTES_BEFORE_HEIGHT + heights);
  const previous = bytes.readBigUInt64BE(8);
  return {
    id: knownId ?? idOf(bytes.subarray(0, signedBytes)),
    version,
    height: bytes.readUInt32LE(version < 2 ? signedBytes : BYTES_BEFORE_HEIGHT),
    timestamp: bytes.readUInt32LE(4),
    ...(previous === 0n ? {} : { previousBlockId: previous.toString() }),
    numberOfTransactions: rest.readUInt32LE(0),
    totalAmount: rest.readBigUInt64LE(4),
    totalFee: rest.readBigUInt64LE(12),
    reward: rest.readBigUInt64LE(20),
    payloadLength: rest.readUInt32LE(28),
    payloadHash: hexOf(rest.subarray(32, 64)),
    generatorPublicKey: hexOf(rest.subarray(64, 96)),
    blockSignature: hexOf(rest.subarray(96, 96 + SIGNATURE_BYTES)),
    maxHeightPreviouslyForged: version < 2 ? 0 : bytes.readUInt32LE(BYTES_BEFORE_HEIGHT + 4),
    maxHeightPrevoted: version < 2 ? 0 : bytes.readUInt32LE(BYTES_BEFORE_HEIGHT + 8),
  };
}

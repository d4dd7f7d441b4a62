/**
 * Converts the BFT state to the bytes that the chain state stores, and back. Each time the node applies a block of
 * version 2, the node replaces these bytes. The bytes contain only data that block headers do not have, so a BFT state
 * takes only 5 KB with 101 delegates.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { StateReader, StateWriter } from '../state.ts';
import type { BlockHeader } from '../types.ts';
import type { BftState } from './bft.ts';

/**
 * Version of the layout of the stored bytes. The bytes consist of these parts in this order. All integers are
 * little-endian.
 *
 * - version (1 byte)
 * - number of headers, first height, highest prevoted height, finalized height (4 bytes each)
 * - for each header, `minHeightActive` (4 bytes)
 * - for each header, `lastPrecommit` (4 bytes)
 * - for each header, `prevotes` (1 byte)
 * - for each header, `precommits` (1 byte)
 */
const BFT_STATE_VERSION = 1;
const HEAD_BYTES = 17;
const HEADER_BYTES = 10;
const MAX_PREVOTED_AT = 9;
const FINALIZED_AT = 13;

/**
 * True if this machine is little-endian, as the stored integers are. With 101 delegates, a BFT state has about a
 * thousand 4-byte integers. The encoder copies these integers as bytes, because copying is faster than converting each
 * integer. On a big-endian machine, the encoder reverses the bytes of each integer after the copy.
 */
const IS_LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

// Caches the decoded BFT state. The chain state returns the same bytes object until the BFT state changes. Because of
// the cache, the node does not decode bytes that the node itself has just encoded.
const decoded = new WeakMap<Uint8Array, BftState>();

/**
 * The BFT state that the chain state contains; undefined before the node has applied the genesis block.
 *
 * @throws ProtocolError `BFT_STATE_UNREADABLE` (see `decodeBftState`)
 */
export function loadBftState(state: StateReader): BftState | undefined {
  const bytes = state.bftState();
  if (bytes === undefined) return undefined;
  const known = decoded.get(bytes);
  if (known !== undefined) return known;
  const bftState = decodeBftState(bytes, (height) => state.header(height));
  decoded.set(bytes, bftState);
  return bftState;
}

export function saveBftState(state: StateWriter, bftState: BftState): void {
  const bytes = encodeBftState(bftState);
  decoded.set(bytes, bftState);
  state.setBftState(bytes);
}

/**
 * Reads the highest prevoted height and the finalized height without decoding the whole BFT state. Both heights are 0
 * before the genesis block.
 */
export function finalityOf(state: StateReader): { readonly maxPrevoted: number; readonly finalized: number } {
  const bytes = state.bftState();
  if (bytes === undefined) return { maxPrevoted: 0, finalized: 0 };
  const view = viewOf(bytes);
  return { maxPrevoted: view.getUint32(MAX_PREVOTED_AT, true), finalized: view.getUint32(FINALIZED_AT, true) };
}

export function encodeBftState(bftState: BftState): Uint8Array {
  const count = bftState.generators.length;
  const bytes = new Uint8Array(HEAD_BYTES + count * HEADER_BYTES);
  const view = viewOf(bytes);
  bytes[0] = BFT_STATE_VERSION;
  [count, bftState.firstHeight, bftState.maxPrevoted, bftState.finalized].forEach((value, index) => {
    view.setUint32(1 + index * 4, value, true);
  });
  let offset = HEAD_BYTES;
  for (const values of [bftState.minHeightActive, bftState.lastPrecommit]) {
    const list = bytes.subarray(offset, offset + values.byteLength);
    list.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    if (!IS_LITTLE_ENDIAN) Buffer.from(list.buffer, list.byteOffset, list.byteLength).swap32();
    offset += values.byteLength;
  }
  bytes.set(bftState.prevotes, offset);
  bytes.set(bftState.precommits, offset + count);
  return bytes;
}

/**
 * @param headerAt returns the header at a height of the chain to which the BFT state belongs
 * @throws ProtocolError `BFT_STATE_UNREADABLE` if the bytes have a wrong version or length, or if a header is missing
 */
export function decodeBftState(bytes: Uint8Array, headerAt: (height: number) => BlockHeader | undefined): BftState {
  const view = viewOf(bytes);
  if (bytes.length < HEAD_BYTES || bytes[0] !== BFT_STATE_VERSION) {
    throw new ProtocolError('BFT_STATE_UNREADABLE', { version: bytes[0], bytes: bytes.length });
  }
  const count = view.getUint32(1, true);
  if (bytes.length !== HEAD_BYTES + count * HEADER_BYTES) {
    throw new ProtocolError('BFT_STATE_UNREADABLE', { headers: count, bytes: bytes.length });
  }
  const firstHeight = view.getUint32(5, true);
  const headers = Array.from({ length: count }, (_, index) => {
    const header = headerAt(firstHeight + index);
    if (header === undefined) throw new ProtocolError('BFT_STATE_UNREADABLE', { headerMissing: firstHeight + index });
    return header;
  });
  const words = (from: number): Uint32Array =>
    Uint32Array.from({ length: count }, (_, index) => view.getUint32(from + index * 4, true));
  const votesAt = HEAD_BYTES + count * 8;
  return {
    firstHeight,
    generators: headers.map((header) => header.generatorPublicKey),
    maxHeightPreviouslyForged: Uint32Array.from(headers, (header) => header.maxHeightPreviouslyForged),
    maxHeightPrevoted: Uint32Array.from(headers, (header) => header.maxHeightPrevoted),
    minHeightActive: words(HEAD_BYTES),
    lastPrecommit: words(HEAD_BYTES + count * 4),
    prevotes: Uint8Array.from(bytes.subarray(votesAt, votesAt + count)),
    precommits: Uint8Array.from(bytes.subarray(votesAt + count)),
    maxPrevoted: view.getUint32(MAX_PREVOTED_AT, true),
    finalized: view.getUint32(FINALIZED_AT, true),
  };
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

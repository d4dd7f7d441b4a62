/**
 * Signs and checks messages that are not part of the chain. The format of the signed bytes is the same as in
 * lisk-cryptography, so that wallets for Lisk accept the signatures.
 */

import { bytesOfHex, hexOf, utf8 } from '../primitives/bytes.ts';
import type { Ed25519, Ed25519KeyPair } from './ed25519.ts';
import { sha256 } from './hash.ts';

/** A signed message. The public key and the signature are hexadecimal, as wallets show them. */
export interface SignedMessage {
  readonly message: string;
  readonly publicKey: string;
  readonly signature: string;
}

const PREFIX = 'Lisk Signed Message:\n';

/**
 * Computes the digest that a signature of a message covers. `PREFIX` is part of the input of the digest, so the
 * signature of a message is never a valid signature of a transaction. The length that precedes the message is the
 * number of UTF-16 code units of the message (not the number of bytes), as in lisk-cryptography.
 *
 * @returns 32 bytes
 */
export function messageDigest(message: string): Uint8Array {
  return sha256(
    sha256(Buffer.concat([compactSize(PREFIX.length), utf8(PREFIX), compactSize(message.length), utf8(message)])),
  );
}

export function signMessage(message: string, keyPair: Ed25519KeyPair, ed25519: Ed25519): SignedMessage {
  const signature = ed25519.sign(messageDigest(message), keyPair.privateKey);
  return { message, publicKey: hexOf(keyPair.publicKey), signature: hexOf(signature) };
}

/**
 * @param signed a message, its public key (64 hexadecimal digits) and its signature (128 hexadecimal digits)
 * @returns true if the signature is valid. The result is false for an invalid signature, and for a key or a signature
 *   of a wrong length
 * @throws ProtocolError `HEX_INVALID` if the key or the signature is not hexadecimal
 */
export function isMessageSigned({ message, publicKey, signature }: SignedMessage, ed25519: Ed25519): boolean {
  return ed25519.verify({
    publicKey: bytesOfHex(publicKey),
    message: messageDigest(message),
    signature: bytesOfHex(signature),
  });
}

/** Encodes an integer in Bitcoin's variable-length form (CompactSize), little-endian. */
function compactSize(value: number): Buffer {
  if (value < 0xfd) return Buffer.from([value]);
  const bytes = Buffer.alloc(value <= 0xffff ? 3 : 5);
  bytes.writeUInt8(value <= 0xffff ? 0xfd : 0xfe);
  if (value <= 0xffff) bytes.writeUInt16LE(value, 1);
  else bytes.writeUInt32LE(value, 1);
  return bytes;
}

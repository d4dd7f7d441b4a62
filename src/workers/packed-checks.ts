/**
 * Packs many signature checks into one byte array, which can be transferred to another thread. If a caller posted the
 * check objects to the thread instead, Node.js would have to copy each object.
 */

import type { SignatureCheck } from '../protocol/types.ts';

const LENGTH_BYTES = 4;
const PUBLIC_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const FIXED_BYTES = LENGTH_BYTES + PUBLIC_KEY_BYTES + SIGNATURE_BYTES;

/**
 * Packs checks. The form of each check is: length of the message (u32, little-endian), public key (32 bytes), signature
 * (64 bytes), message. The caller must make sure that all public keys and signatures have these lengths. The packed
 * bytes have their own buffer, so the buffer can be transferred.
 */
export function packChecks(checks: readonly SignatureCheck[]): Uint8Array<ArrayBuffer> {
  const size = checks.reduce((sum, check) => sum + FIXED_BYTES + check.message.length, 0);
  const packed = new Uint8Array(size);
  const view = new DataView(packed.buffer);
  let at = 0;
  for (const { publicKey, message, signature } of checks) {
    view.setUint32(at, message.length, true);
    packed.set(publicKey, at + LENGTH_BYTES);
    packed.set(signature, at + LENGTH_BYTES + PUBLIC_KEY_BYTES);
    packed.set(message, at + FIXED_BYTES);
    at += FIXED_BYTES + message.length;
  }
  return packed;
}

/** Unpacks the checks. The byte arrays of the checks are views into `packed`. */
export function unpackChecks(packed: Uint8Array): SignatureCheck[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const checks: SignatureCheck[] = [];
  for (let at = 0; at < packed.length;) {
    const end = at + FIXED_BYTES + view.getUint32(at, true);
    checks.push({
      publicKey: packed.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + PUBLIC_KEY_BYTES),
      signature: packed.subarray(at + LENGTH_BYTES + PUBLIC_KEY_BYTES, at + FIXED_BYTES),
      message: packed.subarray(at + FIXED_BYTES, end),
    });
    at = end;
  }
  return checks;
}

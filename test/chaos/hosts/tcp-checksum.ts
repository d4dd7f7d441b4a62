/**
 * Writes the TCP checksum of a frame. On a link within one machine, the kernel leaves the checksum to a network card,
 * but no network card exists. A program outside the kernel that forwards frames of such a link must therefore write the
 * checksum itself.
 */

const ETHERNET_BYTES = 14;
const IPV4 = 0x0800;
const TCP = 6;
const CHECKSUM_AT = 16;

/** Writes the checksum if the frame contains a TCP segment over IPv4. */
export function writeTcpChecksum(frame: Buffer): void {
  if (frame.length < ETHERNET_BYTES + 20 || frame.readUInt16BE(12) !== IPV4) return;
  const ip = frame.subarray(ETHERNET_BYTES);
  const headerBytes = ((ip[0] ?? 0) & 15) * 4;
  const segment = ip.subarray(headerBytes, ip.readUInt16BE(2));
  if (ip[9] !== TCP || segment.length < 20) return;
  segment.writeUInt16BE(0, CHECKSUM_AT);
  // Besides the segment, the checksum covers both IP addresses, the protocol number and the length of the segment.
  const sum = sumOf(ip.subarray(12, 20)) + TCP + segment.length + sumOf(segment);
  segment.writeUInt16BE(~folded(sum) & 0xffff, CHECKSUM_AT);
}

function sumOf(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at + 1 < bytes.length; at += 2) sum += bytes.readUInt16BE(at);
  return bytes.length % 2 === 0 ? sum : sum + (bytes[bytes.length - 1] ?? 0) * 256;
}

function folded(sum: number): number {
  let left = sum;
  while (left > 0xffff) left = (left & 0xffff) + Math.floor(left / 0x10000);
  return left;
}

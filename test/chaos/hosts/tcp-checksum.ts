/**
 * The checksum of TCP in a frame. Where both ends of a link are of one machine the kernel leaves it to a network card that is
 * not there, and who takes frames out of the kernel and back has to write it.
 */

const ETHERNET_BYTES = 14;
const IPV4 = 0x0800;
const TCP = 6;
const CHECKSUM_AT = 16;

/** Writes it where the frame is a whole packet of TCP over IPv4. */
export function writeTcpChecksum(frame: Buffer): void {
  if (frame.length < ETHERNET_BYTES + 20 || frame.readUInt16BE(12) !== IPV4) return;
  const ip = frame.subarray(ETHERNET_BYTES);
  const headerBytes = ((ip[0] ?? 0) & 15) * 4;
  const segment = ip.subarray(headerBytes, ip.readUInt16BE(2));
  if (ip[9] !== TCP || segment.length < 20) return;
  segment.writeUInt16BE(0, CHECKSUM_AT);
  // Both addresses, the protocol and the length go into it.
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

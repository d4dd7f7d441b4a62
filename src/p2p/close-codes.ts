/** Returns the labels that metrics use for the close codes of connections. */

import { CLOSE } from './dialect.ts';

/**
 * Close codes that have a label of their own. The set contains the codes 1000 to 1015 of WebSocket (RFC 6455, 7.4.1,
 * and later registrations). The set also contains the codes that this node, the SocketCluster library and the lisk-sdk
 * nodes of both generations use.
 */
const LABELLED_CODES: ReadonlySet<number> = new Set([
  ...Array.from({ length: 16 }, (_, index) => 1000 + index),
  ...Array.from({ length: 10 }, (_, index) => 4000 + index),
  ...Object.values(CLOSE).map(({ code }) => code),
  ...[4100, 4102, 4103, 4418, 4420, 4429, 4500, 4501],
]);

/**
 * A peer can send any close code. All codes without their own label share the label `other`, to limit the number of
 * time series.
 */
export function codeLabel(code: number): string {
  return LABELLED_CODES.has(code) ? String(code) : 'other';
}

/** Ports for a devnet that nobody names any for. */

import { ProtocolError } from '../../primitives/errors.ts';
import { checkPortsFree } from '../ports.ts';
import { DEVNET_HOST } from './plan.ts';

/** Above the ports of well-known servers and those that `fetch` refuses to ask, below those that most systems give to connections (Linux from 32,768). */
const FIRST = 17_000;
const LAST = 31_000;
const TRIES = 50;

/**
 * The first of `count` neighbouring ports that are free now.
 *
 * @param fraction uniform in [0, 1): several devnets that start at once should not try the same ones
 * @throws ProtocolError `PORT_IN_USE` when none were found
 */
export async function freePorts(count: number, fraction: () => number): Promise<number> {
  for (let left = TRIES; ; left -= 1) {
    const first = FIRST + Math.floor(fraction() * (LAST - FIRST - count));
    try {
      await checkPortsFree(Array.from({ length: count }, (_, index) => ({ host: DEVNET_HOST, port: first + index })));
      return first;
    } catch (error) {
      if (left === 0 || !(error instanceof ProtocolError)) throw error;
    }
  }
}

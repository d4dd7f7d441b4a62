/** Finds ports for a devnet when the user gives none. */

import { ProtocolError } from '../../primitives/errors.ts';
import { checkPortsFree } from '../ports.ts';
import { DEVNET_HOST } from './plan.ts';

/**
 * First and last candidate port. The candidates are above the ports of well-known servers and the ports that `fetch`
 * refuses. They are below the ports that most systems use for outgoing connections (on Linux, ports from 32,768 on).
 */
const FIRST = 17_000;
const LAST = 31_000;
const TRIES = 50;

/**
 * Finds `count` consecutive ports that are free now, and returns the lowest port.
 *
 * @param fraction returns random numbers in [0, 1), so that devnets that start at the same time try different ports
 * @throws ProtocolError `PORT_IN_USE` or `PORT_UNUSABLE` when all attempts failed
 */
export async function freePorts(count: number, fraction: () => number): Promise<number> {
  for (let left = TRIES - 1; ; left -= 1) {
    const first = FIRST + Math.floor(fraction() * (LAST - FIRST - count));
    try {
      await checkPortsFree(Array.from({ length: count }, (_, index) => ({ host: DEVNET_HOST, port: first + index })));
      return first;
    } catch (error) {
      if (left === 0 || !(error instanceof ProtocolError)) throw error;
    }
  }
}

/** Finds ports for a devnet when the user gives no ports. */

import { ProtocolError } from '../../primitives/errors.ts';
import { checkPortsFree } from '../ports.ts';
import { DEVNET_HOST } from './plan.ts';

/**
 * Bounds of the candidate ports. The candidates are above the ports that `fetch` refuses, and below the ports that most
 * systems use for outgoing connections (on Linux, ports from 32,768 on).
 */
const FIRST = 17_000;
const LAST = 31_000;
const TRIES = 50;

/**
 * Finds `count` consecutive ports that are free now, and returns the lowest port.
 *
 * @param fraction function that returns a random number in [0, 1). This number selects the lowest port of an attempt.
 *   With random ports, devnets that start at the same time rarely try the same ports
 * @throws ProtocolError `PORT_IN_USE` or `PORT_UNUSABLE` of the last attempt, when all `TRIES` attempts failed
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

/** Queries the multisignature group of an account. */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Source } from './chain-source.ts';
import { GROUPS, type GroupJson } from './shapes.ts';

const NOT_FOUND = 404;

/**
 * Returns the multisignature group of an account; undefined if the account has none.
 *
 * @throws ProtocolError in the same cases as `Source.ask`
 */
export async function groupOfAccount(address: string, source: Source): Promise<GroupJson | undefined> {
  try {
    return (await source.ask<readonly GroupJson[]>(`accounts/${address}/multisignature_groups`, GROUPS))[0];
  } catch (error) {
    if (error instanceof ProtocolError && error.data['status'] === NOT_FOUND) return undefined;
    throw error;
  }
}

/** Seed peers are configured by host name; peers are known by IPv4 address. */

import { lookup } from 'node:dns/promises';
import { messageOf } from '../primitives/errors.ts';
import type { Observer } from '../ports/observer.ts';
import type { PeerAddress } from '../ports/transport.ts';

/** Resolves the hosts once. One that cannot be resolved is told and left out: the others serve as well. */
export async function resolveSeeds(
  seeds: readonly { readonly host: string; readonly wsPort: number }[],
  observer: Observer,
): Promise<readonly PeerAddress[]> {
  const resolved = await Promise.all(
    seeds.map(async ({ host, wsPort }) => {
      try {
        const { address } = await lookup(host, { family: 4 });
        return [{ ip: address, wsPort }];
      } catch (error) {
        observer.log('warn', 'SEED_UNRESOLVED', 'a seed peer has no address', { host, reason: messageOf(error) });
        return [];
      }
    }),
  );
  return resolved.flat();
}

/** Every route of the interface. */

import type { Dialect } from '../dialect.ts';
import type { Route } from '../route.ts';
import { accountRoutes } from './accounts.ts';
import { blockRoutes } from './blocks.ts';
import { delegateRoutes } from './delegates.ts';
import { nodeRoutes } from './node.ts';
import { peerRoutes } from './peers.ts';
import { poolRoutes } from './pool.ts';
import { signatureRoutes } from './signatures.ts';
import { transactionRoutes } from './transactions.ts';
import { voterRoutes } from './voters.ts';

export function allRoutes(dialect: Dialect): readonly Route[] {
  return [
    ...accountRoutes(dialect),
    ...blockRoutes(dialect),
    ...delegateRoutes(dialect),
    ...nodeRoutes(dialect),
    ...poolRoutes(dialect),
    ...peerRoutes(dialect),
    ...signatureRoutes(),
    ...transactionRoutes(dialect),
    ...voterRoutes(),
  ];
}

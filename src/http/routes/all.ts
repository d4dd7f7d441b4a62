/** Lists all routes of the HTTP API. */

import type { DevnetControls } from '../../ports/devnet-controls.ts';
import type { HttpDialect } from '../dialect.ts';
import type { ApiDocsPage } from '../api-docs.ts';
import type { Route } from '../route.ts';
import { accountRoutes } from './accounts.ts';
import { blockRoutes } from './blocks.ts';
import { dappsRoute } from './dapps.ts';
import { delegateRoutes } from './delegates.ts';
import { devnetRoutes } from './devnet.ts';
import { eventsRoute } from './events.ts';
import { forgingStatisticsRoute } from './forging-statistics.ts';
import { HEALTH_ROUTE, READINESS_ROUTE } from './health.ts';
import { indexRoute } from './index-route.ts';
import { METRICS_ROUTE } from './metrics.ts';
import { nodeRoutes } from './node.ts';
import { peerRoutes } from './peers.ts';
import { poolRoutes } from './pool.ts';
import { secondSignatureRoutes } from './second-signature.ts';
import { signatureRoutes } from './signatures.ts';
import { specRoutes } from './spec.ts';
import { transactionRoutes } from './transactions.ts';
import { voterRoutes } from './voters.ts';

/** Optional parts of the HTTP API. `legacySignatures` and `metrics` are enabled by default. */
export interface RouteOptions {
  readonly legacySignatures?: { readonly enabled: boolean };
  readonly metrics?: boolean;
  readonly devnet?: DevnetControls;
  /** Folder with the files of the dashboard. The node serves the dashboard at `/`. */
  readonly dashboardDirectory?: string;
  /**
   * The page of the interactive API documentation. If this member is absent, `/docs` always shows a plain page without
   * scripts.
   */
  readonly apiDocsPage?: ApiDocsPage;
}

export function allRoutes(dialect: HttpDialect, options: RouteOptions = {}): readonly Route[] {
  const routes: readonly Route[] = [
    ...accountRoutes(dialect),
    ...blockRoutes(dialect),
    dappsRoute(dialect),
    ...delegateRoutes(dialect),
    forgingStatisticsRoute(dialect),
    ...nodeRoutes(dialect),
    ...poolRoutes(dialect),
    ...peerRoutes(dialect),
    ...signatureRoutes(),
    ...transactionRoutes(dialect),
    ...(options.legacySignatures?.enabled === false ? [] : secondSignatureRoutes(dialect)),
    ...voterRoutes(dialect),
    eventsRoute({ ...dialect, strict: false }),
    HEALTH_ROUTE,
    READINESS_ROUTE,
    ...(options.metrics === false ? [] : [METRICS_ROUTE]),
    ...(options.devnet === undefined || dialect.strict ? [] : devnetRoutes(options.devnet)),
  ];
  const described = withIndex(routes, dialect, options);
  return [...described, ...specRoutes(described, dialect, options.apiDocsPage)];
}

/**
 * Adds the route for the path `/api` itself, unless the dialect is strict. The strict dialect answers like a lisk-sdk
 * node, and such a node has no such route.
 */
function withIndex(routes: readonly Route[], dialect: HttpDialect, options: RouteOptions): readonly Route[] {
  if (dialect.strict) return routes;
  return [...routes, indexRoute(routes, options.dashboardDirectory !== undefined)];
}

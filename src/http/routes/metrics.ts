/** Declares the route of the metrics for Prometheus. */

import type { Route } from '../route.ts';

export const METRICS_ROUTE: Route = {
  kind: 'plain',
  method: 'GET',
  path: '/metrics',
  summary: 'Shows the metrics of the node in the text format of Prometheus.',
  parameters: [],
  unknownParameters: 'ignored',
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  answers: { 200: { type: 'string' }, 503: { type: 'string' } },
  errors: {},
  respond: async (api) => {
    const text = await api.metricsText();
    return text === undefined ? { status: 503, body: '# the node keeps no metrics\n' } : { status: 200, body: text };
  },
};

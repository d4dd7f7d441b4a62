/**
 * `npm run metrics -- [--generation N]`: what the nodes of a devnet tell of themselves, held to `promtool check metrics`, and
 * every query and choice of the Grafana file asked of a Prometheus that scrapes them. Before that, each alarm of the rules
 * file is held to figures with and without its fault. Needs both programs; all of it stays
 * on the loopback address.
 */

import { parseArgs } from 'node:util';
import { checkRules } from './rules.ts';
import { askGrafanaQueries } from './prometheus.ts';

const { values } = parseArgs({
  options: {
    generation: { type: 'string', multiple: true },
    prometheus: { type: 'string', default: 'prometheus' },
    promtool: { type: 'string', default: 'promtool' },
  },
});

try {
  console.log(`${checkRules(values.promtool)} alarms fire on their fault, and not without`);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
for (const generation of values.generation ?? ['3', '2']) {
  const { prometheus, promtool } = values;
  try {
    const { queries, choices, lines, alarms } = await askGrafanaQueries({
      generation: generation === '2' ? 2 : 3,
      prometheus,
      promtool,
    });
    console.log(
      `generation ${generation}: ${lines} lines are clean; ${queries} queries and ${choices} choices find data; of ${alarms} alarms none fires, and that of a node that ends does`,
    );
  } catch (error) {
    console.error(`generation ${generation}: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}

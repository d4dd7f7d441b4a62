/**
 * `npm run metrics` has three parts. First, it tests each alert of the Prometheus rules file on invented time series,
 * with and without the fault that the alert reports. Second, it checks the metrics of a devnet with `promtool check
 * metrics`. A Prometheus server scrapes this devnet, and must find data for every query and variable of the Grafana
 * file. Third, the command causes faults of running nodes. Each fault must raise its alert. For this third part, the
 * command uses a copy of the Prometheus rules in which the alerts with the member `for` need less time to fire. The
 * command needs `prometheus` and `promtool`, and uses only the loopback address.
 */

import type { Generation } from '../../src/protocol/params.ts';
import { generationsIn, testProgram } from '../support/program.ts';
import { induceFaults } from './induced.ts';
import { checkRules, RULE_CASES } from './rules.ts';
import { askGrafanaQueries } from './prometheus.ts';

interface Flags {
  readonly generation?: readonly Generation[];
  readonly induced?: true;
  readonly prometheus: string;
  readonly promtool: string;
}

const {
  generation: chosen = [3, 2],
  induced,
  prometheus,
  promtool,
} = testProgram(
  'metrics',
  'Tests the alerts and the Grafana file: on invented series, on a devnet, and on faults of running nodes',
)
  .option('--generation <numbers...>', 'protocol generations of the devnet (default: 3, then 2)', generationsIn)
  .option('--induced', 'leave out the devnet')
  .option('--prometheus <file>', 'executable of Prometheus', 'prometheus')
  .option('--promtool <file>', 'executable of promtool', 'promtool')
  .parse()
  .opts<Flags>();

try {
  console.log(`${checkRules(promtool)} alerts fire with their fault, and do not fire without it`);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
for (const generation of induced === true ? [] : chosen) {
  try {
    const { queries, choices, lines, alerts } = await askGrafanaQueries({
      generation,
      prometheus,
      promtool,
    });
    console.log(
      `generation ${generation}: ${lines} lines are clean; ${queries} queries and ${choices} choices find data; of ${alerts} alerts, none fires while all nodes run, and BloomeryDown fires for a node that has ended, and for no other node`,
    );
  } catch (error) {
    console.error(`generation ${generation}: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
try {
  const { fired, left } = await induceFaults({ prometheus, log: (line) => console.log(line) });
  console.log(`${fired.length} of ${RULE_CASES.length} alerts fired on a fault of real nodes, windows shortened`);
  for (const [alert, reason] of left)
    console.log(`${alert} was tested only on invented series, not on a real node: ${reason}`);
  const lost = RULE_CASES.filter(({ alert }) => !fired.includes(alert) && !left.has(alert));
  if (lost.length > 0) throw new Error(`no fault was made for ${lost.map(({ alert }) => alert).join(', ')}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

/** Runs a devnet for several minutes, and prints and judges the results. */

import { tableLines } from '../../src/cli/table.ts';
import { runDevnetWithFaults, type NodeFigures, type DevnetRunOptions } from './devnet-run.ts';

/** Maximum number of consecutive empty slots without an outage. A busy machine can cause a few such slots. */
const UNEXPLAINED_IN_A_ROW_MAX = 2;

/** @returns whether the devnet passed. @throws Error that names the first broken guarantee */
export async function reportDevnetRun(options: DevnetRunOptions): Promise<boolean> {
  const { log } = options;
  const report = await runDevnetWithFaults(options);
  for (const line of tableLines<NodeFigures>(
    [
      { heading: 'node', of: ({ node }) => `${node}` },
      { heading: 'stood still', of: ({ stopped }) => `${stopped}`, isNumber: true },
      { heading: 'killed', of: ({ killed }) => `${killed}`, isNumber: true },
      { heading: 'back within', of: ({ backMs }) => `${backMs} ms`, isNumber: true },
      { heading: 'height', of: ({ height }) => `${height}`, isNumber: true },
      { heading: 'block', of: ({ blockId }) => blockId },
    ],
    report.nodes,
  )) {
    log(line);
  }
  const { slots, emptySlots, longestMs, unexplainedSlots, unexplainedInARow, machinePauses } = report;
  log(`${slots} slots, ${emptySlots} of them empty, at most ${longestMs / 1000} s from one block to the next`);
  log(`${unexplainedSlots} empty slots while no node was down, at most ${unexplainedInARow} in a row`);
  log(`the machine stood still ${machinePauses} times; all nodes have the state ${report.digest}`);
  const { signedHeaders, contradictions, exitCode } = report;
  log(
    `${signedHeaders} signed headers, ${contradictions.length} contradictions; the devnet ended with exit code ${exitCode}`,
  );
  for (const contradiction of contradictions) log(contradiction);
  const isOneChain = unexplainedInARow <= UNEXPLAINED_IN_A_ROW_MAX && signedHeaders > 0 && contradictions.length === 0;
  return isOneChain && exitCode === 0;
}

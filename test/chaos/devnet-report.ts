/** Runs a devnet with faults for several minutes, prints the results, and decides whether the devnet passed. */

import { tableLines } from '../../src/cli/table.ts';
import { runDevnetWithFaults, type NodeFigures, type DevnetRunOptions } from './devnet-run.ts';

/** Maximum of `unexplainedInARow` with which the devnet passes. A busy machine can cause a few unexplained slots. */
const UNEXPLAINED_IN_A_ROW_MAX = 2;

/**
 * @returns whether the devnet passed
 * @throws Error with the first failed check and the last lines of the nodes' logs
 */
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

/** `bloomery devnet run`: runs a scenario on a temporary devnet. */

import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { bloomeryHome } from '../../config/network.ts';
import { systemRandom } from '../../node/system.ts';
import { messageOf } from '../../primitives/errors.ts';
import { lockDevnetFolder, placedNetwork, writeDevnetFolder } from '../devnet/folder.ts';
import { freePorts } from '../devnet/free-ports.ts';
import { chooseNetwork } from '../devnet/network.ts';
import { blockTimingOf } from '../devnet/block-timing.ts';
import { DEVNET_HOST, planDevnet } from '../devnet/plan.ts';
import { junitOf } from '../devnet/scenario/junit.ts';
import { readScenarioFile } from '../devnet/scenario/read-scenario.ts';
import { runScenario, type StepResult } from '../devnet/scenario/run-scenario.ts';
import type { Scenario } from '../devnet/scenario/scenario.ts';
import { runSession, type RunningSession } from '../devnet/session.ts';
import type { ScenarioFlags } from '../flags.ts';
import { counted, printStderr, printJson, printLine } from '../output.ts';
import { checkPortsFree } from '../ports.ts';
import { EXIT, usageError } from '../error-lines.ts';
import { STOP_SIGNALS } from '../stop-request.ts';

/**
 * Runs a scenario. If a step fails, the function does not throw, but reports the step and sets the exit code to 1.
 *
 * @throws ProtocolError for wrong flags, an unreadable or invalid scenario, ports in use, or a failure of the devnet
 */
export async function devnetRun(file: string, flags: ScenarioFlags): Promise<void> {
  const scenario = readScenarioFile(file);
  if (flags.junit !== undefined) checkWritable(flags.junit);
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-scenario-'));
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  const results: StepResult[] = [];
  let error: Error | undefined;
  let isWhole = false;
  let hasBegun = false;
  try {
    const begins = (): void => void (hasBegun = true);
    isWhole = await play({ scenario, file, directory, flags, stop, results, begins });
  } catch (thrown) {
    error = thrown instanceof Error ? thrown : new Error(messageOf(thrown));
  }
  const failed = results.some(({ failure }) => failure !== undefined);
  const hasPassed = isWhole && !failed && error === undefined;
  // If the run is incomplete although no step failed and no error occurred, the user has stopped the run.
  const isStopped = !isWhole && !failed && error === undefined;
  if (hasPassed || isStopped || !hasBegun) rmSync(directory, { recursive: true, force: true });
  else printStderr(`the logs of the nodes are in ${directory}`);
  if (flags.junit !== undefined) {
    const reason = error === undefined ? (isStopped ? 'the run was stopped' : undefined) : messageOf(error);
    writeFileSync(flags.junit, junitOf({ scenario, results, ...(reason === undefined ? {} : { error: reason }) }));
  }
  if (error !== undefined) throw error;
  if (flags.json === true) {
    const steps = results.map(({ step: { line, text }, tookMs, failure }) => {
      return { line, text, tookMs: Math.round(tookMs), ...(failure === undefined ? {} : { failure }) };
    });
    printJson({ scenario: scenario.name, hasPassed, stepCount: scenario.steps.length, steps });
  } else if (hasPassed) printLine(`passed: ${scenario.name}, ${results.length} steps`);
  else if (!isStopped) printLine(`failed: ${scenario.name}, at step ${results.length} of ${scenario.steps.length}`);
  if (isStopped) printStderr(`stopped after ${results.length} of ${scenario.steps.length} steps`);
  if (!hasPassed) process.exitCode = EXIT.failed;
}

/**
 * Checks before the run that the file of `--junit` can be opened for writing. Without this check, the results of a long
 * run would be lost if the file could not be opened at the end.
 *
 * @throws ProtocolError `USAGE`
 */
function checkWritable(file: string): void {
  try {
    closeSync(openSync(file, 'a'));
  } catch (error) {
    throw usageError(`${file}: the results cannot be written there: ${messageOf(error)}`);
  }
}

interface Play {
  readonly scenario: Scenario;
  readonly file: string;
  readonly directory: string;
  readonly flags: ScenarioFlags;
  readonly stop: AbortController;
  /** List to which the run adds the result of each step. */
  readonly results: StepResult[];
  /** Called before the first node is started. */
  readonly begins: () => void;
}

/** @returns true when all steps were run or a step failed; false when the user stopped the run */
async function play({ scenario, file, directory, flags, stop, results, begins }: Play): Promise<boolean> {
  const { devnet } = scenario;
  const network = devnet.network?.startsWith('.') === true ? resolve(dirname(file), devnet.network) : devnet.network;
  const { network: _, ...others } = devnet;
  const chosen = await chooseNetwork(
    { ...others, ...(network === undefined ? {} : { network }) },
    bloomeryHome(process.env),
  );
  try {
    const blockTiming = blockTimingOf(devnet.blockTime, devnet.mine);
    const placed = placedNetwork(chosen, blockTiming.slotS, directory);
    const { httpPort, wsPort } = await portsOf(flags, scenario);
    const logFormat = 'json';
    const request = { nodes: devnet.nodes, httpPort, wsPort, directory, network: placed, logFormat } as const;
    const nodes = planDevnet(request);
    await checkPortsFree(
      nodes.flatMap((node) => [node.httpPort, node.wsPort]).map((port) => ({ host: DEVNET_HOST, port })),
    );
    // Steps that expect log lines need the log format that this function chooses, not the format in the environment.
    delete process.env['BLOOMERY_LOG_FORMAT'];
    const lock = lockDevnetFolder(directory);
    try {
      writeDevnetFolder(directory, nodes, chosen.network, placed);
      const print = flags.json === true ? printStderr : printLine;
      print(
        `${scenario.name}: ${counted(devnet.nodes, 'node')} of ${placed.name} ${devnet.nodes === 1 ? 'starts' : 'start'}`,
      );
      begins();
      let played: Promise<boolean> | undefined;
      await runSession({
        ...{ directory, network: placed, nodes, httpPort, wsPort, stop, logFormat },
        // If a node ends although no step of the scenario ended this node, the devnet does not restart the node. Such
        // an end is a failure of the scenario.
        restart: 'never',
        mode: devnet.mine,
        screen: { show: () => undefined, print: printStderr },
        ...(blockTiming.intervalMs === undefined ? {} : { intervalMs: blockTiming.intervalMs }),
        onReady: (__, session) => {
          played = steps(scenario, session, { stop: stop.signal, results, print }).finally(() => stop.abort());
          // This function awaits `played` only after the devnet has ended. If the steps throw earlier, this handler
          // prevents an unhandled rejection.
          played.catch(() => undefined);
        },
      });
      return (await played) ?? false;
    } finally {
      lock.release();
    }
  } finally {
    chosen.dispose();
  }
}

/**
 * @returns false when the user stopped the run
 */
async function steps(
  scenario: Scenario,
  session: RunningSession,
  { stop, results, print }: { readonly stop: AbortSignal; readonly results: StepResult[]; print(line: string): void },
): Promise<boolean> {
  await runScenario({
    scenario,
    session,
    stop,
    onResult: (result, number) => {
      results.push(result);
      const { step, tookMs, failure } = result;
      const place = `${number} of ${scenario.steps.length}  ${step.text}`;
      if (failure === undefined) print(`ok      ${place}  (${(tookMs / 1000).toFixed(1)} s)`);
      else print(`FAILED  ${place}  (line ${step.line}): ${failure}`);
    },
  });
  return !stop.aborted;
}

async function portsOf(flags: ScenarioFlags, { devnet, steps: all }: Scenario) {
  // Each `add` step of the scenario starts a node on the next HTTP port and the next P2P port.
  const added = all.filter(({ work }) => work.kind === 'operation' && work.operation === 'add').length;
  const count = devnet.nodes + added;
  const { httpPort, wsPort } = flags;
  if ((httpPort === undefined) !== (wsPort === undefined)) {
    throw usageError('give both --http-port and --ws-port, or neither for free ports');
  }
  if (httpPort !== undefined && wsPort !== undefined) return { httpPort, wsPort };
  const first = await freePorts(2 * count, () => systemRandom.fraction());
  return { httpPort: first, wsPort: first + count };
}

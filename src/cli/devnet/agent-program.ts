/**
 * The program of a node of a devnet: what `bloomery start` runs, and an agent that does what the supervisor asks over the
 * channel between parent and child. No command leads here, and no other program opens such a channel: a node that
 * `bloomery start` runs has the clock of the machine and takes no word of this kind.
 */

import { once } from 'node:events';
import { join } from 'node:path';
import { loadConfig } from '../../config/load.ts';
import { loadNetwork } from '../../config/network.ts';
import { startNode, type RunningNode } from '../../node/node.ts';
import { systemClock } from '../../node/system.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import { createObserver } from '../../telemetry/logger.ts';
import { MetricsRegistry } from '../../telemetry/metrics.ts';
import { logOptionsOf } from '../log-options.ts';
import { note, printLine } from '../output.ts';
import { EXIT, problemOf, usageError } from '../problems.ts';
import { nameSourcesInTraces } from '../stack-traces.ts';
import { stopRequest, type StopRequest } from '../stop-request.ts';
import type { AgentEvent, AgentStart, NumberedAnswer, NumberedRequest } from './messages.ts';
import { NodeAgent } from './node-agent.ts';

/** Longest that a graceful stop may take; the data on disk is whole at any moment. */
const STOP_MS_MAX = 10_000;

/** Why the program ends. */
interface Ending extends StopRequest {
  readonly error: ProtocolError;
}

nameSourcesInTraces();
try {
  await run(process.argv.slice(2));
  process.exit(process.exitCode ?? EXIT.ok);
} catch (error) {
  const problem = problemOf(error);
  note(problem.line);
  process.exit(problem.exitCode);
}

async function run([networkDirectory, directory, configFile]: readonly string[]): Promise<void> {
  if (process.send === undefined || networkDirectory === undefined || directory === undefined) {
    throw usageError('this program runs a node of bloomery devnet: it is started by that command alone');
  }
  const [first] = (await once(process, 'message')) as [AgentStart];
  const network = loadNetwork(networkDirectory);
  const file = configFile === undefined ? {} : { file: configFile };
  const config = loadConfig({ network, environment: process.env, flags: new Map(), ...file });
  const metrics = new MetricsRegistry({ isOfProcess: true });
  const observer = createObserver({ metrics, ...logOptionsOf(config.log) });
  const stop = stopRequest((signal) => observer.log('warn', 'NODE_ENDED', 'the node is ended at once', { by: signal }));
  process.on('uncaughtException', (error) => {
    observer.log('error', 'NODE_FAILED', 'the node stops at a defect of its own', { stack: error.stack });
    note(problemOf(error).line);
    process.exit(EXIT.failed);
  });
  const dataDirectory = join(directory, network.name);
  let node: RunningNode | undefined;
  let damage: (ending: Ending) => void = () => undefined;
  const damaged = new Promise<Ending>((resolve) => (damage = resolve));
  const open = async (): Promise<void> => {
    node = await startNode({ network, dataDirectory, config, observer, metrics, control: agent });
    void node.damaged.then((error) => damage({ by: error.code, exitCode: EXIT.failed, error }));
  };
  const close = async (): Promise<void> => {
    await node?.close();
    node = undefined;
  };
  const place = { dataDirectory, open, close };
  const agent = new NodeAgent({ ...first, clock: systemClock, tell, place });
  process.on('message', (message: NumberedRequest) => {
    void answer(agent, message);
  });
  await open();
  printLine(`${network.name}: a node of a devnet, data in ${dataDirectory}`);
  agent.ready();

  const ending = await Promise.race([stop, damaged]);
  observer.log('info', 'NODE_STOPPING', 'the node stops', { by: ending.by });
  const patience = setTimeout(() => {
    note('bloomery: the node did not stop in time and was ended');
    process.exit(EXIT.failed);
  }, STOP_MS_MAX);
  await close();
  clearTimeout(patience);
  observer.log('info', 'NODE_STOPPED', 'the node stopped', { by: ending.by });
  observer.close();
  process.exitCode = ending.exitCode;
  if ('error' in ending) throw ending.error;
}

async function answer(agent: NodeAgent, { number, request }: NumberedRequest): Promise<void> {
  try {
    tell({ number, state: await agent.handle(request) });
  } catch (error) {
    const code = error instanceof ProtocolError ? error.code : 'DEVNET_NODE_FAILED';
    tell({ number, error: { code, message: messageOf(error) } });
  }
}

/** The supervisor may be gone: the node ends then. */
function tell(message: NumberedAnswer | AgentEvent): void {
  if (process.connected) process.send?.(message, undefined, {}, () => undefined);
}

/**
 * The program of a devnet node. The program runs the same node as `bloomery start`, together with an agent, in one
 * process. The agent executes the requests that the supervisor (the parent process) sends over the IPC channel. Only a
 * devnet starts the agent program, and no other program handles requests of a supervisor. Therefore a node of
 * `bloomery start` always uses the clock of the machine, and no supervisor can set the node's clock or inject faults.
 */

import { once } from 'node:events';
import { join } from 'node:path';
import { loadConfig } from '../../config/load.ts';
import { loadNetwork } from '../../config/network.ts';
import { startNode, type RunningNode } from '../../node/node.ts';
import { systemClock, systemRandom } from '../../node/system.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import { beginNodeProgram } from '../node-program.ts';
import { printStderr, printLine } from '../output.ts';
import { EXIT, errorLineOf, usageError } from '../error-lines.ts';
import { nameSourcesInTraces } from '../stack-traces.ts';
import type { AgentEvent, AgentStart, NumberedAnswer, NumberedRequest } from './messages.ts';
import { NodeAgent } from './node-agent.ts';

nameSourcesInTraces();
try {
  await run(process.argv.slice(2));
  process.exit(process.exitCode ?? EXIT.ok);
} catch (error) {
  const errorLine = errorLineOf(error);
  printStderr(errorLine.line);
  process.exit(errorLine.exitCode);
}

async function run([networkDirectory, directory, configFile]: readonly string[]): Promise<void> {
  if (process.send === undefined || networkDirectory === undefined || directory === undefined) {
    throw usageError('this program runs a node of bloomery devnet: it is started by that command alone');
  }
  const [first] = (await once(process, 'message')) as [AgentStart];
  const network = loadNetwork(networkDirectory);
  const file = configFile === undefined ? {} : { file: configFile };
  const config = loadConfig({ network, environment: process.env, flags: new Map(), ...file });
  const program = beginNodeProgram(config);
  const { metrics, observer, onProgress } = program;
  const dataDirectory = join(directory, network.name);
  let node: RunningNode | undefined;
  let damage: (error: ProtocolError) => void = () => undefined;
  const damaged = new Promise<ProtocolError>((resolve) => (damage = resolve));
  const open = async (): Promise<void> => {
    node = await startNode({ network, dataDirectory, config, observer, metrics, onProgress, control: agent });
    void node.damaged.then(damage);
  };
  const close = async (): Promise<void> => {
    await node?.close();
    node = undefined;
  };
  const host = { dataDirectory, open, close };
  const agent = new NodeAgent({ ...first, clock: systemClock, random: systemRandom, emit: send, host });
  process.on('message', (message: NumberedRequest) => {
    void answer(agent, message);
  });
  if ((await program.whenStarted(open().then(() => ({ close })))) === undefined) return;
  printLine(`${network.name}: a node of a devnet, data in ${dataDirectory}`);
  agent.ready();

  await program.untilEnd({ damaged, close });
}

async function answer(agent: NodeAgent, { number, request }: NumberedRequest): Promise<void> {
  try {
    send({ number, state: await agent.handle(request) });
  } catch (error) {
    const code = error instanceof ProtocolError ? error.code : 'DEVNET_NODE_FAILED';
    send({ number, error: { code, message: messageOf(error) } });
  }
}

/**
 * Sends a message to the supervisor. The function ignores a failure to send: if the supervisor has ended, the node
 * stops anyway.
 */
function send(message: NumberedAnswer | AgentEvent): void {
  if (process.connected) process.send?.(message, undefined, {}, () => undefined);
}

/**
 * The operations of a running devnet by name. Commands request operations over the control port (`control-server.ts`).
 * The dashboard requests operations through `page-controls.ts`. A scenario (`scenario/`) calls the operations directly.
 */

import { usageError } from '../error-lines.ts';
import type { ControlOperation, ControlParameters } from './control-server.ts';
import { parseTime } from './parse-time.ts';
import type { FaultControl } from './fault-control.ts';
import type { DevnetAccounts } from './devnet-accounts.ts';
import type { Snapshots } from './snapshots.ts';
import type { SupervisedNode } from './supervised-node.ts';
import { MINED_SLOTS_MAX, MINING_MODES, type MiningMode } from './mining.ts';
import type { Timekeeper } from './timekeeper.ts';
import { waitForAgent } from './wait-for-agent.ts';

export interface OperationParts {
  readonly nodes: () => readonly SupervisedNode[];
  readonly timekeeper: Pick<
    Timekeeper,
    'mode' | 'setting' | 'nowMs' | 'mine' | 'setMode' | 'warp' | 'freeze' | 'resume'
  >;
  readonly snapshots: Pick<Snapshots, 'create' | 'revert' | 'list'>;
  readonly accounts: Pick<DevnetAccounts, 'fund' | 'send' | 'payers' | 'impersonate'>;
  readonly faults: Pick<FaultControl, 'partition' | 'delay' | 'lose' | 'skew' | 'heal' | 'active'>;
  /** Starts an additional node, which does not forge (`planFollower`). */
  readonly add: () => Promise<SupervisedNode>;
  /** Called when a node has continued after a pause and answers again. */
  readonly resumed: (node: SupervisedNode) => void;
  /** Starts the shutdown of the devnet, and returns before the devnet has ended. */
  readonly stop: () => void;
  /** Called after each successful operation that can move the chain clock of the devnet. */
  readonly clockMoved: () => void;
}

export function operationsOf(parts: OperationParts): ReadonlyMap<string, ControlOperation> {
  const { nodes, timekeeper, snapshots, accounts, faults, add, resumed, stop, clockMoved } = parts;
  const nodeOf = (parameters: ControlParameters): SupervisedNode => {
    const { node: index } = parameters;
    const found = nodes().find(({ node }) => node.index === index);
    if (found === undefined)
      throw usageError(`there is no node ${String(index)}: the last one is ${nodes().length - 1}`);
    return found;
  };
  const moved = async <T extends object>(change: Promise<T>): Promise<T> => {
    const result = await change;
    clockMoved();
    return result;
  };
  return new Map<string, ControlOperation>([
    ['list', () => Promise.resolve(devnetOf(parts))],
    [
      'stop',
      () => {
        // With `setImmediate`, the control server sends the answer before the devnet ends.
        setImmediate(stop);
        return Promise.resolve({});
      },
    ],
    [
      'kill',
      async (parameters) => {
        const node = nodeOf(parameters);
        await node.kill();
        return rowOf(node);
      },
    ],
    [
      'restart',
      async (parameters) => {
        const node = nodeOf(parameters);
        await node.restart();
        await waitForAgent(node);
        return rowOf(node);
      },
    ],
    [
      'pause',
      (parameters) => {
        const node = nodeOf(parameters);
        node.pause(true);
        return Promise.resolve(rowOf(node));
      },
    ],
    [
      'resume',
      async (parameters) => {
        if (parameters['node'] === undefined) return moved(timekeeper.resume());
        const node = nodeOf(parameters);
        node.pause(false);
        await waitForAgent(node);
        resumed(node);
        return rowOf(node);
      },
    ],
    [
      'add',
      async () => {
        const node = await add();
        await waitForAgent(node);
        return rowOf(node);
      },
    ],
    ['partition', ({ parts: groups }) => faults.partition(groups)],
    ['delay', ({ delayMs, nodes: named }) => faults.delay(delayMs, named)],
    ['loss', ({ loss, nodes: named }) => faults.lose(loss, named)],
    ['skew', ({ node, skewMs }) => faults.skew(node, skewMs)],
    ['heal', () => faults.heal()],
    ['mine', (parameters) => moved(timekeeper.mine(slotsOf(parameters)))],
    [
      'mode',
      async (parameters) => {
        const mode = modeOf(parameters);
        await timekeeper.setMode(mode);
        return { mode };
      },
    ],
    ['warp', (parameters) => moved(timekeeper.warp(parseTime(String(parameters['to']), timekeeper.nowMs())))],
    ['freeze', () => moved(timekeeper.freeze())],
    ['snapshot', (parameters) => moved(snapshots.create(textOf(parameters, 'name')))],
    ['revert', (parameters) => moved(snapshots.revert(textOf(parameters, 'name')))],
    ['fund', (parameters) => moved(accounts.fund(textOf(parameters, 'address'), textOf(parameters, 'amount')))],
    [
      'send',
      (parameters) => {
        const [from, address, amount, data] = ['from', 'address', 'amount', 'data'].map((name) =>
          textOf(parameters, name),
        );
        return accounts.send({ from: from ?? '', address: address ?? '', amount: amount ?? '', data: data ?? '' });
      },
    ],
    ['accounts', () => Promise.resolve({ accounts: accounts.payers() })],
    ['impersonate', (parameters) => accounts.impersonate(textOf(parameters, 'address'))],
    ['snapshots', () => Promise.resolve({ snapshots: snapshots.list() })],
  ]);
}

function textOf(parameters: ControlParameters, name: string): string {
  const value = parameters[name];
  return typeof value === 'string' ? value : '';
}

function slotsOf({ slots = 1 }: ControlParameters): number {
  if (Number.isInteger(slots) && Number(slots) >= 1 && Number(slots) <= MINED_SLOTS_MAX) return Number(slots);
  throw usageError(`the number of slots must be an integer from 1 to ${MINED_SLOTS_MAX}`);
}

function modeOf({ mode }: ControlParameters): MiningMode {
  const found = MINING_MODES.find((each) => each === mode);
  if (found === undefined) throw usageError(`the mode must be one of ${MINING_MODES.join(', ')}`);
  return found;
}

function devnetOf({ nodes, timekeeper, faults }: OperationParts) {
  return {
    mode: timekeeper.mode,
    clock: timekeeper.setting.kind,
    time: new Date(timekeeper.nowMs()).toISOString(),
    nodes: nodes().map(rowOf),
    faults: faults.active(),
  };
}

/**
 * Returns the state of a node whose process runs and is not paused. The state is `starting` until the node is ready,
 * and `silent` if the node does not answer.
 */
function answeringState(link: { readonly isReady: boolean; readonly isUsable: boolean } | undefined) {
  if (link === undefined || link.isUsable) return 'running';
  return link.isReady ? 'silent' : 'starting';
}

function rowOf({ node, process, stateName }: SupervisedNode) {
  return {
    index: node.index,
    state: stateName === 'running' ? answeringState(process?.link) : stateName,
    http: node.httpPort,
    ws: node.wsPort,
    delegates: node.delegates.length,
    ...(process?.pid === undefined ? {} : { pid: process.pid }),
  };
}

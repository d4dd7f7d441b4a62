/** `bloomery devnet list`, `mine`, `warp` and the other commands for a running devnet. */

import { setTimeout as sleep } from 'node:timers/promises';
import { lskText } from '../../primitives/amount.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { ANSWERS, type Answer, type ControlNode } from '../devnet/control-answers.ts';
import { askDevnet } from '../devnet/control-client.ts';
import { isControlFileThere } from '../devnet/control-file.ts';
import {
  delayMsOfText,
  millisecondsText,
  lossOfText,
  nodesOfText,
  partsOfText,
  skewMsOfText,
} from '../devnet/parse-faults.ts';
import type { ActiveFaults } from '../devnet/faults.ts';
import { devnetDirectory } from '../devnet/folder.ts';
import type { MiningMode } from '../devnet/mining.ts';
import { devnetNetworkName } from '../devnet/network.ts';
import type { SnapshotFacts } from '../devnet/snapshots.ts';
import type { ControlFlags } from '../flags.ts';
import { counted, printJson, printLines } from '../output.ts';
import { usageError } from '../error-lines.ts';

/**
 * Maximum wait for the end of a devnet, in milliseconds. This time is longer than the ten seconds after which the
 * devnet kills nodes that have not stopped.
 */
const STOP_MS_MAX = 30_000;
const STOP_POLL_MS = 50;

export class DevnetControl {
  readonly #flags: ControlFlags;
  readonly #directory: string;

  constructor(flags: ControlFlags) {
    this.#flags = flags;
    this.#directory = devnetDirectory(flags, devnetNetworkName(flags.generation));
  }

  async list(): Promise<void> {
    const answer = await this.#ask('list', {}, ANSWERS.list);
    const { mode, clock, time, nodes, faults } = answer;
    this.#print(answer, [`blocks ${mode}, clock ${clock} at ${time}`, ...nodes.map(nodeLine), ...faultLines(faults)]);
  }

  async stop(): Promise<void> {
    await this.#ask('stop', {}, ANSWERS.stop);
    for (let waitedMs = 0; isControlFileThere(this.#directory); waitedMs += STOP_POLL_MS) {
      if (waitedMs > STOP_MS_MAX) {
        const message = `the devnet in ${this.#directory} has not ended within ${STOP_MS_MAX / 1000} s`;
        throw new ProtocolError('DEVNET_STOP_LATE', {}, message);
      }
      await sleep(STOP_POLL_MS);
    }
    this.#print({}, ['the devnet has ended']);
  }

  async node(operation: 'kill' | 'pause' | 'restart', node: number): Promise<void> {
    this.#printNode(await this.#ask(operation, { node }, ANSWERS.node));
  }

  async resume(node: number | undefined): Promise<void> {
    if (node === undefined) return this.#time('resume', {}, 'the clock continues from');
    this.#printNode(await this.#ask('resume', { node }, ANSWERS.node));
  }

  async add(): Promise<void> {
    this.#printNode(await this.#ask('add', {}, ANSWERS.node));
  }

  partition(parts: readonly string[]): Promise<void> {
    return this.#fault('partition', { parts: partsOfText(parts) });
  }

  delay(delay: string, nodes: readonly string[]): Promise<void> {
    return this.#fault('delay', { delayMs: delayMsOfText(delay), nodes: nodesOfText(nodes) });
  }

  lose(loss: string, nodes: readonly string[]): Promise<void> {
    return this.#fault('loss', { loss: lossOfText(loss), nodes: nodesOfText(nodes) });
  }

  async skew(node: number, skew: string): Promise<void> {
    let skewMs: number;
    try {
      skewMs = skewMsOfText(skew);
    } catch (error) {
      // If the number of the node and the clock offset are both wrong, the error reports the number, because the
      // command would fail even with a valid clock offset.
      await this.#refuseMissing(node);
      throw error;
    }
    await this.#fault('skew', { node, skewMs });
  }

  /**
   * @throws ProtocolError `USAGE` if the running devnet has no node with this index; no error if the devnet does not
   *   answer
   */
  async #refuseMissing(index: number): Promise<void> {
    const nodes = await this.#ask('list', {}, ANSWERS.list).then(
      (list) => list.nodes,
      () => [],
    );
    if (nodes.length === 0 || nodes.some((each) => each.index === index)) return;
    throw usageError(`there is no node ${index}: the last one is ${nodes.length - 1}`);
  }

  heal(): Promise<void> {
    return this.#fault('heal', {});
  }

  async mine(slots: number): Promise<void> {
    const answer = await this.#ask('mine', { slots }, ANSWERS.mine);
    const { emptySlots, height, blockId, time } = answer;
    const empty = emptySlots === 0 ? '' : `, ${emptySlots} of them stayed empty`;
    this.#print(answer, [`${counted(slots, 'slot')}${empty}: height ${height}, block ${blockId}, ${time}`]);
  }

  async mode(mode: MiningMode): Promise<void> {
    const answer = await this.#ask('mode', { mode }, ANSWERS.mode);
    this.#print(answer, [`block mode: ${mode}`]);
  }

  warp(to: string): Promise<void> {
    return this.#time('warp', { to }, 'the clock of all nodes is at');
  }

  freeze(): Promise<void> {
    return this.#time('freeze', {}, 'the clock is stopped at');
  }

  async snapshot(name: string): Promise<void> {
    const answer = await this.#ask('snapshot', { name }, ANSWERS.snapshot);
    this.#print(answer, [`kept ${snapshotLine(answer)}`]);
  }

  async revert(name: string): Promise<void> {
    const answer = await this.#ask('revert', { name }, ANSWERS.snapshot);
    this.#print(answer, [`back at ${snapshotLine(answer)}`]);
  }

  async snapshots(): Promise<void> {
    const answer = await this.#ask('snapshots', {}, ANSWERS.snapshots);
    const lines = answer.snapshots.map(snapshotLine);
    this.#print(answer, lines.length === 0 ? ['no snapshot was made yet'] : lines);
  }

  async fund(address: string, amount: bigint): Promise<void> {
    const answer = await this.#ask('fund', { address, amount: amount.toString() }, ANSWERS.fund);
    const { balance, height } = answer;
    this.#print(answer, [`${address} has ${lskText(BigInt(balance))} LSK at height ${height}`]);
  }

  async impersonate(address: string): Promise<void> {
    const answer = await this.#ask('impersonate', { address }, ANSWERS.impersonate);
    this.#print(answer, [
      `${address}: any 128 hexadecimal digits pass for its signature on the nodes of this devnet`,
      `senderPublicKey ${answer.publicKey}`,
    ]);
  }

  async #fault(operation: string, parameters: object): Promise<void> {
    const answer = await this.#ask(operation, parameters, ANSWERS.faults);
    const lines = faultLines(answer);
    this.#print(answer, lines.length === 0 ? ['no fault is active'] : lines);
  }

  async #time(operation: string, parameters: object, words: string): Promise<void> {
    const answer = await this.#ask(operation, parameters, ANSWERS.time);
    this.#print(answer, [`${words} ${answer.time}`]);
  }

  #printNode(node: ControlNode): void {
    this.#print(node, [nodeLine(node)]);
  }

  #print(answer: object, lines: readonly string[]): void {
    if (this.#flags.json === true) printJson(answer);
    else printLines(lines);
  }

  async #ask<T>(operation: string, parameters: object, answer: Answer<T>): Promise<T> {
    return answer.read(await askDevnet(this.#directory, operation, parameters));
  }
}

function snapshotLine({ name, height, blockId, time }: SnapshotFacts): string {
  return `${name}  height ${height}, block ${blockId}, ${time}`;
}

function nodeLine({ index, state, http, ws, delegates, pid }: ControlNode): string {
  const process = pid === undefined ? '' : `, process ${pid}`;
  return `node ${index}  ${state.padEnd(8)} http ${http}, peers ${ws}, ${counted(delegates, 'delegate')}${process}`;
}

/** Makes one line for each node with faults. If the network is partitioned, the first line describes the partition. */
function faultLines({ parts, nodes }: ActiveFaults): readonly string[] {
  const cut = parts.length === 0 ? [] : [`partition ${parts.map((part) => part.join(',')).join(' | ')}`];
  const own = nodes.map(({ node, delayMs, loss, skewMs }) => {
    const words = [
      ...(delayMs === 0 ? [] : [`delay ${millisecondsText(delayMs)}`]),
      ...(loss === 0 ? [] : [`loss ${Number((loss * 100).toFixed(3))}%`]),
      ...(skewMs === 0 ? [] : [`clock ${skewMs > 0 ? '+' : ''}${millisecondsText(skewMs)}`]),
    ];
    return `node ${node}  ${words.join(', ')}`;
  });
  return [...cut, ...own];
}

/**
 * Looks of the doctor at a healthy network one of whose nodes has caught up twice in one life: first from the genesis block,
 * then after a time alone. It must find nothing, on the disk and over HTTP.
 */

import { examine } from '../../src/cli/doctor/examine.ts';
import type { FaultCode } from '../../src/cli/doctor/catalogue.ts';
import { messageOf } from '../../src/primitives/errors.ts';
import {
  highestHeight,
  lastWords,
  startTestDevnet,
  waitFor,
  waitForAnswer,
  waitForCommonBlock,
  type TestDevnet,
  type TestNode,
} from '../support/devnet.ts';
import { OF_BUSY_MACHINES } from '../support/fault-watch.ts';
import { MachineWatch } from '../support/machine.ts';

export interface LooksOptions {
  readonly looks: number;
  readonly generation: 2 | 3;
  readonly say: (line: string) => void;
}

export interface LooksReport {
  readonly looks: number;
  /** Downloads of the node that caught up, and the blocks that each brought. */
  readonly downloads: readonly number[];
  /** Faults that were named, each with what was seen; what a machine with other work brings about is left out. */
  readonly alarms: readonly string[];
  /** Likewise what it has brought about; empty on a machine that was quick all the time. */
  readonly ofMachine: readonly string[];
}

const NODES = 3;
const START_MS_MAX = 150_000;
/** Blocks that the node finds when it starts, and that it misses when it is cut off. */
const BLOCKS_BEHIND = 12;
const BACK_MS_MAX = 180_000;
const ROOM_BYTES = 1e12;
/** Looks of which the report tells how far it is. */
const LOOKS_TOLD = 100;

export async function runDoctorLooks(options: LooksOptions): Promise<LooksReport> {
  const network = options.generation === 2 ? 'devnet-gen2' : 'devnet';
  const devnet = await startTestDevnet({ network, nodes: NODES, spectators: 1, hasWires: true });
  try {
    return await looksAt(devnet, options);
  } catch (error) {
    throw new Error(`${messageOf(error)}\n${lastWords(devnet)}`, { cause: error });
  } finally {
    await devnet.close();
  }
}

async function looksAt(devnet: TestDevnet, { looks, say }: LooksOptions): Promise<LooksReport> {
  const { nodes } = devnet;
  const machine = new MachineWatch();
  const downloads = await catchUpTwice(devnet);
  say(`a node caught up with ${downloads.join(' and ')} blocks`);
  const alarms: string[] = [];
  const ofMachine: string[] = [];
  let done = 0;
  while (done < looks) {
    // One after the other at each node, as operators and their monitors look.
    const due = nodes.slice(0, looks - done);
    await Promise.all(
      due.map(async (node) => {
        for (const { code, evidence } of await lookAt(devnet, node)) {
          const isOfMachine = OF_BUSY_MACHINES.includes(code) && !machine.wasQuickSoFar;
          (isOfMachine ? ofMachine : alarms).push(`node ${node.plan.index}, ${code}: ${evidence}`);
        }
      }),
    );
    if (Math.floor(done / LOOKS_TOLD) !== Math.floor((done + due.length) / LOOKS_TOLD))
      say(`${done + due.length} looks, ${alarms.length} alarms`);
    done += due.length;
  }
  return { looks: done, downloads, alarms, ofMachine };
}

async function lookAt(
  { network }: TestDevnet,
  { url, plan }: TestNode,
): Promise<readonly { readonly code: FaultCode; readonly evidence: string }[]> {
  return examine({
    url,
    network: network.directory,
    dataDir: plan.directory,
    config: plan.configFile,
    environment: {},
    freeBytesOf: () => ROOM_BYTES,
  });
}

/** @returns blocks of each download */
async function catchUpTwice({ nodes, wires }: TestDevnet): Promise<readonly number[]> {
  const late = nodes[NODES];
  if (late === undefined || wires === undefined) throw new Error('the devnet lacks a node or its wires');
  const others = nodes.slice(0, NODES);
  await waitForCommonBlock(others, BLOCKS_BEHIND, START_MS_MAX);
  late.start();
  await waitForAnswer(late, START_MS_MAX);
  await waitForCommonBlock(nodes, await highestHeight(others), BACK_MS_MAX);
  wires.cut(late.plan.wsPort);
  const { height } = await late.client.status();
  await waitFor(
    'blocks that it misses',
    async () => (await highestHeight(others)) >= height + BLOCKS_BEHIND,
    BACK_MS_MAX,
  );
  wires.mend(late.plan.wsPort);
  await waitForCommonBlock(nodes, await highestHeight(others), BACK_MS_MAX);
  const areConnected = async (): Promise<boolean> => {
    const counts = await Promise.all(nodes.map((node) => node.client.connectedPeers()));
    return counts.every((count) => count >= NODES - 1);
  };
  await waitFor('connections after the cut', areConnected, BACK_MS_MAX);
  return waitFor(
    'two downloads',
    async () => {
      const ended = (await late.client.decisions(500)).filter(({ code }) => code === 'SYNC_ENDED');
      const blocks = ended.map(({ fields }) => Number(fields['blocks'])).filter((count) => count > 0);
      return blocks.length >= 2 ? blocks.reverse() : undefined;
    },
    BACK_MS_MAX,
  );
}

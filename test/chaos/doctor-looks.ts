/**
 * Runs the checks of the doctor (`bloomery doctor`) many times on a healthy network. Each run of the checks on one node
 * is a look. One node of the network has caught up twice without a restart: first from the genesis block, then after a
 * time without connections. The doctor checks each node over HTTP, reads the node's data folder, and must find no
 * fault.
 */

import { runChecks } from '../../src/cli/doctor/run-checks.ts';
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
  readonly log: (line: string) => void;
}

export interface LooksReport {
  readonly looks: number;
  /** Numbers of blocks that the late node (the node that catches up) downloaded in its first and in its second sync. */
  readonly downloads: readonly number[];
  /** Faults that the doctor found, each with its evidence, except the faults in `ofMachine`. */
  readonly alarms: readonly string[];
  /** Faults that a busy machine has perhaps caused, each with its evidence. Empty if the machine was never slow. */
  readonly ofMachine: readonly string[];
}

const NODES = 3;
const START_MS_MAX = 150_000;
/**
 * The test starts the late node when all other nodes have reached this height. After the first sync, the test cuts the
 * connections of the late node. The cut ends when another node has at least this number of blocks above the late node's
 * tip. The cut is so long that the nodes close the stalled connections.
 */
const BLOCKS_BEHIND = 25;
const BACK_MS_MAX = 180_000;
const ROOM_BYTES = 1e12;
/** Faults that the doctor can find because a busy machine gives the nodes no processor time. */
const OF_STARVED_MACHINES: readonly FaultCode[] = [...OF_BUSY_MACHINES, 'NODE_SILENT', 'NETWORK_STANDS_STILL'];
/** Number of looks (runs of the doctor on one node) between two log lines about the progress. */
const PROGRESS_EVERY_LOOKS = 100;

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

async function looksAt(devnet: TestDevnet, { looks, log }: LooksOptions): Promise<LooksReport> {
  const { nodes } = devnet;
  const machine = new MachineWatch();
  const downloads = await syncTwice(devnet);
  log(`a node caught up with ${downloads.join(' and ')} blocks`);
  const alarms: string[] = [];
  const ofMachine: string[] = [];
  let done = 0;
  while (done < looks) {
    // At each node, the looks run one after the other, as when an operator or a monitor runs the doctor.
    const due = nodes.slice(0, looks - done);
    await Promise.all(
      due.map(async (node) => {
        for (const { code, evidence } of await lookAt(devnet, node)) {
          const isOfMachine = OF_STARVED_MACHINES.includes(code) && !machine.wasQuickSoFar;
          const alarm = `node ${node.plan.index}, ${code}: ${evidence}`;
          (isOfMachine ? ofMachine : alarms).push(alarm);
          log(`${new Date().toISOString()} ${alarm}`);
        }
      }),
    );
    if (Math.floor(done / PROGRESS_EVERY_LOOKS) !== Math.floor((done + due.length) / PROGRESS_EVERY_LOOKS))
      log(`${done + due.length} looks, ${alarms.length} alarms`);
    done += due.length;
  }
  return { looks: done, downloads, alarms, ofMachine };
}

async function lookAt(
  { network }: TestDevnet,
  { url, plan }: TestNode,
): Promise<readonly { readonly code: FaultCode; readonly evidence: string }[]> {
  return runChecks({
    url,
    network: network.directory,
    dataDir: plan.directory,
    config: plan.configFile,
    environment: {},
    freeBytesOf: () => ROOM_BYTES,
  });
}

/** @returns the number of blocks of each download */
async function syncTwice({ nodes, wires }: TestDevnet): Promise<readonly number[]> {
  const late = nodes[NODES];
  if (late === undefined || wires === undefined) throw new Error('the devnet lacks a node or its wires');
  const others = nodes.slice(0, NODES);
  await waitForCommonBlock(others, BLOCKS_BEHIND, START_MS_MAX);
  late.start();
  await waitForAnswer(late, START_MS_MAX);
  const first = await downloadOf(late, 0);
  await waitForCommonBlock(nodes, await highestHeight(others), BACK_MS_MAX);
  wires.cut(late.plan.wsPort);
  const { height } = await late.client.status();
  const areAhead = async (): Promise<boolean> => (await highestHeight(others)) >= height + BLOCKS_BEHIND;
  await waitFor('blocks that it misses', areAhead, BACK_MS_MAX);
  wires.mend(late.plan.wsPort);
  const second = await downloadOf(late, first.number);
  await waitForCommonBlock(nodes, await highestHeight(others), BACK_MS_MAX);
  const areConnected = async (): Promise<boolean> => {
    const counts = await Promise.all(nodes.map((node) => node.client.connectedPeers()));
    return counts.every((count) => count >= NODES - 1);
  };
  await waitFor('connections after the cut', areConnected, BACK_MS_MAX);
  return [first.blocks, second.blocks];
}

/**
 * Waits for a diagnostic `SYNC_ENDED` whose number is above `after`. Ignores the diagnostic of a sync that downloaded
 * no blocks.
 */
function downloadOf(node: TestNode, after: number): Promise<{ readonly number: number; readonly blocks: number }> {
  const next = async (): Promise<{ number: number; blocks: number } | undefined> => {
    const diagnostics = await node.client.diagnostics(500);
    const ended = diagnostics.filter(({ code, number }) => code === 'SYNC_ENDED' && number > after);
    const { number = 0, fields = {} } = ended.find(({ fields: figures }) => Number(figures['blocks']) > 0) ?? {};
    return number === 0 ? undefined : { number, blocks: Number(fields['blocks']) };
  };
  return waitFor('a download', next, BACK_MS_MAX);
}

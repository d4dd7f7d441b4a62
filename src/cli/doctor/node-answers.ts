/** Queries a running node for the answers that the checks of the doctor need. */

import { setTimeout as sleep } from 'node:timers/promises';
import { slotConstants } from '../answer-shapes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { nodeAsker, type NodeAsker } from '../ask-node.ts';
import type { DiagnosticState, NodeState, PeerVerdictState } from '../node-client.ts';
import type { RoundConstants, SlotConstants } from '../constants-answer.ts';
import { earlierHeight, type BlockState, type RecentBlocks } from './stale-tip.ts';

export interface NodeRequest {
  readonly url: string;
  /** Pause between two reads of the status, in milliseconds. */
  readonly sampleAgainMs?: number;
  /** Time limit for an answer, in milliseconds; by default the time limit of `nodeAsker`. */
  readonly timeoutMs?: number;
}

interface Constants extends RoundConstants {
  readonly nethash: string;
  readonly protocolVersion: string;
}

interface StatusSample extends NodeState {
  readonly secondsSinceEpoch: number;
  /** Time of the node's clock, as Unix time in milliseconds. */
  readonly currentTime: number;
}

export interface NodeAnswers {
  readonly constants: Constants;
  /**
   * Several answers of `node/status`, oldest first. Some values, such as `consensus`, can be low for a moment. The
   * doctor reports a fault only if such a value is wrong in all answers.
   */
  readonly samples: readonly StatusSample[];
  readonly blocks: RecentBlocks;
  readonly peers: readonly PeerVerdictState[];
  readonly diagnostics: readonly DiagnosticState[];
  readonly forging: readonly {
    readonly publicKey: string;
    readonly forging: boolean;
    readonly waiting?: { readonly code: string; readonly reason: string };
  }[];
  /** Public keys of the owners of the next slots. The set covers as many slots as a round has. */
  readonly active: ReadonlySet<string>;
  readonly blockTimeS: number;
  /**
   * True if the node belongs to a devnet, and one of two conditions holds: the mining mode of this devnet is `instant`
   * or `on-demand`, or the chain clock of this devnet is stopped.
   */
  readonly minesOnRequest: boolean;
}

const SAMPLES = 3;
/**
 * Maximum number of reads of the status. After the first `SAMPLES` reads, the doctor continues to read as long as each
 * answer shows a low `consensus`, a lag, or both (`isOddForNow`). A low `consensus` or a lag is a fault only if the
 * condition lasts. For example, `consensus` (the percentage of peers with the tip of the node) is low while peers have
 * not announced a new block yet.
 */
const SAMPLES_MAX = 9;
const SAMPLE_AGAIN_MS = 700;
/**
 * If a node stays more than this number of blocks below its `networkHeight`, the doctor reports a fault.
 * `networkHeight` is the most frequent of the heights that the connected peers announce. If the node dialled any of
 * these peers, or if the operator named any of them, all other peers do not count (`engine/network-view.ts`). It is
 * possible that fewer than half of the peers announce the height `networkHeight`.
 */
export const LAG_BLOCKS_MAX = 2;
/** If fewer than this percentage of the peers have the same tip as the node, the doctor reports a fault. */
export const CONSENSUS_MIN = 51;

export async function readAnswers(request: NodeRequest): Promise<NodeAnswers> {
  const { url, sampleAgainMs = SAMPLE_AGAIN_MS, timeoutMs } = request;
  const { ask } = nodeAsker(url, { isOwnKind: true, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
  const [constants, first, peers, forging, forgers, blocks] = await Promise.all([
    ask<Constants & SlotConstants>('node/constants', slotConstants),
    ask<StatusSample>('node/status'),
    ask<PeerVerdictState[]>('node/peers?limit=100'),
    ask<NodeAnswers['forging']>('node/status/forging'),
    ask<{ publicKey: string }[]>('delegates/forgers?limit=101'),
    ask<BlockState[]>('blocks?limit=1'),
  ]);
  const samples: StatusSample[] = [first];
  while (samples.length < SAMPLES || (samples.length < SAMPLES_MAX && samples.every(isOddForNow))) {
    await sleep(sampleAgainMs);
    samples.push(await ask<StatusSample>('node/status'));
  }
  // The doctor requests the diagnostics only after the node has answered the requests above. The diagnostics therefore
  // include failures that happened during the earlier requests.
  const diagnostics = await ask<DiagnosticState[]>('node/diagnostics?limit=500');
  const [tip] = blocks;
  const [earlier] = tip === undefined ? [] : await ask<BlockState[]>(`blocks?height=${earlierHeight(tip.height)}`);
  return {
    constants,
    samples,
    blocks: { tip, earlier },
    peers,
    diagnostics,
    forging,
    active: new Set(forgers.map(({ publicKey }) => publicKey)),
    blockTimeS: constants.blockTime,
    minesOnRequest: await isMiningOnRequest(ask),
  };
}

/** Queries the path `devnet`. Only nodes of a devnet serve this path, and only for clients on the same machine. */
async function isMiningOnRequest(ask: NodeAsker['ask']): Promise<boolean> {
  try {
    const { mode, clock } = await ask<{ readonly mode?: unknown; readonly clock?: unknown }>('devnet');
    return mode === 'instant' || mode === 'on-demand' || clock === 'frozen';
  } catch (error) {
    // The answer for the path `devnet` comes from the supervisor of the devnet. The supervisor can be silent although
    // the node answers other requests.
    if (error instanceof ProtocolError) return false;
    throw error;
  }
}

/**
 * True when an answer shows a low `consensus` or a lag behind the peers. False during a sync and for a node that needs
 * no peers, because a low `consensus` or a lag is no fault in these cases.
 */
function isOddForNow({ height, networkHeight, consensus, syncing, isAlone }: StatusSample): boolean {
  if (syncing || isAlone === true) return false;
  return consensus < CONSENSUS_MIN || networkHeight - height > LAG_BLOCKS_MAX;
}

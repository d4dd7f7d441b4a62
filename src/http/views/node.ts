/**
 * Makes the JSON objects that show the status, the constants, the diagnostics, the data for charts (`NodeHistory`) and
 * the slot report (`SlotReport`: the events that the node observed in certain slots) of the node to clients of the HTTP
 * API. Also makes the schemas of these objects. In the status and the constants, the members that lisk-sdk nodes of the
 * generation send come first.
 */

import type { Diagnostic, NodeApi, NodeStatus, ReadersStatus, Reorg } from '../../ports/node-api.ts';
import type { NodeHistory } from '../../ports/node-history.ts';
import type { SlotReport } from '../../ports/slot-report.ts';
import { ACTIVE_DELEGATES, FEES } from '../../protocol/params.ts';
import { milestoneAt, rewardAt, supplyAt } from '../../protocol/rewards.ts';
import { extendedMembers, extendedShape, type HttpDialect } from '../dialect.ts';
import { omitUndefined } from '../omit-undefined.ts';
import type { Schema } from '../schema.ts';
import * as shape from './shapes.ts';

/**
 * The status contains the offset between this node's clock and its peers' clocks only if the offset is at least this
 * number of milliseconds. A smaller offset can come from the error of the estimate, because blocks take time to arrive.
 */
const CLOCK_OFFSET_SHOWN_MS = 2_000;

type View = Readonly<Record<string, unknown>>;

export function statusView(api: NodeApi, status: NodeStatus, dialect: HttpDialect): View {
  const { broadhash, clockOffsetMs, height, syncing, secondsSinceEpoch } = status;
  const consensus = status.consensusPercent;
  const networkHeight = status.networkHeight;
  const currentTime = status.currentTimeMs;
  const chainMaxHeightFinalized = status.finalizedHeight;
  const transactions = transactionCounts(api.chain.transactionCount(), status.pool);
  const loaded = true;
  const times = { currentTime, secondsSinceEpoch, height };
  const [own, other] =
    dialect.generation === 2
      ? [{ broadhash, consensus, ...times, loaded, networkHeight, syncing, transactions }, { chainMaxHeightFinalized }]
      : [
          { ...times, chainMaxHeightFinalized, syncing },
          { broadhash, consensus, loaded, networkHeight, transactions },
        ];
  // Nodes of lisk-sdk do not send the following members. The status leaves out each member that does not apply, for
  // example `reorgs` if there was no reorg.
  const progress = status.sync === undefined ? {} : { syncProgress: status.sync };
  const clock = Math.abs(clockOffsetMs ?? 0) < CLOCK_OFFSET_SHOWN_MS ? {} : { clockOffsetMs };
  const clocks = status.clocksDiffer === undefined ? {} : { clocksDiffer: status.clocksDiffer };
  const { count, latest } = status.reorgs;
  const reorgs = count === 0 ? {} : { reorgs: { count, latest: latest.map(reorgView) } };
  const alone = status.isAlone === true ? { isAlone: true } : {};
  const readers = status.readers === undefined ? {} : { readers: readersView(status.readers) };
  return extendedMembers(dialect, own, {
    ...other,
    ...progress,
    ...clock,
    ...clocks,
    ...reorgs,
    ...alone,
    ...readers,
  });
}

function readersView({ wanted, restarts, each }: ReadersStatus): View {
  return {
    ...{ wanted, restarts },
    each: each.map(({ reader, state, sinceMs, memoryBytes, requests }) => {
      return { reader, state, since: new Date(sinceMs).toISOString(), memoryBytes, requests };
    }),
  };
}

function reorgView({ timeMs, commonHeight, revertedBlocks }: Reorg): View {
  return { time: new Date(timeMs).toISOString(), commonHeight, revertedBlocks };
}

/** Shows the latest diagnostics as JSON. */
export function diagnosticsView(diagnostics: readonly Diagnostic[]): readonly View[] {
  return diagnostics.map(({ number, timeMs, module, code, message, fields }) => {
    return { number, time: new Date(timeMs).toISOString(), module, code, message, fields };
  });
}

/** Shows the data for charts of the last hour or day as JSON. */
export function historyView({ intervalMs, points }: NodeHistory): View {
  return {
    intervalS: intervalMs / 1000,
    points: points.map(({ timeMs, ...point }) => ({ time: new Date(timeMs).toISOString(), ...point })),
  };
}

/**
 * Shows the slot report (the events that this node observed in certain slots, and the owners of these slots) as JSON.
 */
export function slotReportView({ sinceMs, slots, switches, branches, looks, oldOrders }: SlotReport): View {
  const instant = (timeMs: number): string => new Date(timeMs).toISOString();
  return {
    since: instant(sinceMs),
    slots: slots.map(({ slot, facts, forger }) => ({
      slot,
      ...(forger === undefined ? {} : { forger }),
      facts: facts.map(({ timeMs, module, code, message, fields }) => {
        return { time: instant(timeMs), module, code, message, fields };
      }),
    })),
    switches: switches.map(({ timeMs, delegate, on }) => ({ time: instant(timeMs), delegate, on })),
    branches: branches.map(({ timeMs, fromSlot, toSlot, forHeight, forBlockId }) => ({
      ...{ time: instant(timeMs), fromSlot, toSlot },
      ...(forHeight === undefined ? {} : { forHeight, forBlockId }),
    })),
    looks,
    oldOrders,
  };
}

export function constantsView(api: NodeApi, dialect: HttpDialect): View {
  const { params, identity } = api;
  const height = api.chain.tip()?.height ?? 1;
  const { nethash } = params;
  const { build, commit, networkName, nonce } = identity;
  const networkId = params.networkIdentifier;
  const [own, other] =
    dialect.generation === 2 ? [{ nethash, nonce }, { networkId }] : [{ networkId }, { nethash, nonce }];
  // Nodes of lisk-sdk do not send `activeDelegates`. This node sends the member `activeDelegates` only if a round does
  // not have the same number of delegates as in Lisk.
  const { activeDelegates } = params;
  const round = activeDelegates === ACTIVE_DELEGATES ? {} : { activeDelegates };
  const members = {
    // The strict dialect omits `build` and `commit` if they are unknown, as lisk-sdk nodes do.
    ...(dialect.strict ? omitUndefined({ build: build || undefined, commit: commit || undefined }) : { build, commit }),
    epoch: new Date(params.epochMs).toISOString(),
    fees: FEE_VIEW,
    ...own,
    milestone: milestoneAt(height, params.rewards).toString(),
    reward: rewardAt(height, params.rewards).toString(),
    supply: supplyAt(height, params.rewards).toString(),
    version: identity.version,
    protocolVersion: identity.protocolVersion,
  };
  return extendedMembers(dialect, members, { ...other, networkName, blockTime: params.blockTimeS, ...round });
}

const FEE_VIEW = {
  send: FEES.transfer.toString(),
  vote: FEES.vote.toString(),
  secondSignature: FEES.secondSignature.toString(),
  delegate: FEES.delegate.toString(),
  multisignature: FEES.multisignaturePerKey.toString(),
  dappRegistration: FEES.dapp.toString(),
  dappWithdrawal: FEES.outTransfer.toString(),
  dappDeposit: FEES.inTransfer.toString(),
};

const QUEUES = ['ready', 'verified', 'pending', 'validated', 'received'] as const;

const PROGRESS_SHAPE: Schema = shape.objectOf(
  {
    targetHeight: shape.COUNT,
    blocksPerS: { type: 'number', minimum: 0 },
    secondsLeft: shape.COUNT,
  },
  ['secondsLeft'],
);

export const HISTORY_SHAPE: Schema = shape.objectOf({
  intervalS: { type: 'number', minimum: 0, description: 'Length of the interval that each point covers, in seconds.' },
  points: shape.listOf(
    shape.objectOf(
      {
        time: {
          ...shape.INSTANT,
          description:
            'Start of the interval. An interval in which the chain did not change can be missing in the list.',
        },
        blocks: shape.COUNT,
        transactions: { ...shape.COUNT, description: 'Number of transactions in the blocks that `blocks` counts.' },
        missedSlots: {
          ...shape.COUNT,
          description:
            'Number of empty slots directly before the blocks that `blocks` counts. Empty slots before three kinds of blocks do ' +
            'not count: downloaded blocks, the first block after the start of the node, and the first block after a reorg.',
        },
        reorgs: shape.COUNT,
        delayMs: {
          type: 'integer',
          minimum: 0,
          description:
            'Mean time from the start of a slot until the node applied the block of the slot, in milliseconds. Downloaded ' +
            'blocks do not count. Absent if the node applied no block, or only downloaded blocks, in the interval.',
        },
        pool: shape.COUNT,
        peers: shape.COUNT,
      },
      ['delayMs'],
    ),
  ),
});

export const DIAGNOSTIC_SHAPE: Schema = shape.objectOf({
  number: {
    type: 'integer',
    minimum: 1,
    description: 'Number of the diagnostic, counted from 1 at the start of the node.',
  },
  time: shape.INSTANT,
  module: { type: 'string', description: 'Module that logged the diagnostic.' },
  code: { type: 'string', description: 'Stable name of the reason.' },
  message: shape.TEXT,
  fields: shape.ANY_OBJECT,
});

const FORGER_SHAPE: Schema = {
  ...shape.objectOf({
    publicKey: shape.PUBLIC_KEY,
    username: shape.TEXT,
    height: { ...shape.COUNT, description: 'The order of forgers at this height determines the owner of the slot.' },
    isCertain: {
      ...shape.FLAG,
      description:
        'False if it is possible that other nodes have begun a later round. This node does not know the order of forgers ' +
        'of that round.',
    },
  }),
  description: 'Owner of the slot; absent if the slot has no owner, or if the node does not know the owner.',
};

export const SLOT_REPORT_SHAPE: Schema = shape.objectOf({
  since: { ...shape.INSTANT, description: 'Events of slots from before this time can be missing.' },
  slots: shape.listOf(
    shape.objectOf(
      {
        slot: shape.COUNT,
        forger: FORGER_SHAPE,
        facts: shape.listOf(
          shape.objectOf({
            time: shape.INSTANT,
            module: { type: 'string', description: 'Module that logged the event.' },
            code: { type: 'string', description: 'Stable name of the event.' },
            message: shape.TEXT,
            fields: shape.ANY_OBJECT,
          }),
        ),
      },
      ['forger'],
    ),
  ),
  switches: shape.listOf(
    shape.objectOf({
      time: shape.INSTANT,
      delegate: { type: 'string', description: 'Public key of the delegate.' },
      on: shape.FLAG,
    }),
  ),
  branches: shape.listOf(
    shape.objectOf(
      {
        time: { ...shape.INSTANT, description: 'Time when the node left the branch.' },
        fromSlot: shape.COUNT,
        toSlot: shape.COUNT,
        forHeight: shape.COUNT,
        forBlockId: { type: 'string', description: 'Id of the first block of the branch that replaced this branch.' },
      },
      ['forHeight', 'forBlockId'],
    ),
  ),
  looks: {
    ...shape.listOf(shape.objectOf({ fromSlot: shape.COUNT, toSlot: shape.COUNT })),
    description: 'Ranges of slots in which the forging scheduler ran.',
  },
  oldOrders: {
    ...shape.listOf(shape.objectOf({ fromSlot: shape.COUNT, toSlot: shape.COUNT, height: shape.COUNT })),
    description:
      'Ranges of slots in which the node used the order of forgers at `height`. It is possible that other nodes had ' +
      'already begun a later round, which has another order.',
  },
});

const TIMES_SHAPES: Readonly<Record<string, Schema>> = {
  currentTime: shape.INTEGER,
  secondsSinceEpoch: shape.INTEGER,
  height: { type: 'integer', minimum: 1 },
  syncing: shape.FLAG,
};

const STATUS_SHAPES_2: Readonly<Record<string, Schema>> = {
  broadhash: { type: 'string', format: 'hex', minLength: 64, maxLength: 64 },
  consensus: { type: 'number', minimum: 0, maximum: 100 },
  loaded: shape.FLAG,
  networkHeight: shape.COUNT,
  transactions: shape.objectOf(
    Object.fromEntries(['confirmed', ...QUEUES, 'total'].map((name) => [name, shape.COUNT] as const)),
  ),
};

const CLOCK_SHAPE: Schema = {
  type: 'integer',
  description:
    "Time in milliseconds by which the peers' clocks are ahead of this node's clock; negative if the peers' clocks are behind. " +
    `Absent if the difference is unknown or less than ${CLOCK_OFFSET_SHOWN_MS} ms.`,
};

const CLOCKS_SHAPE: Schema = {
  ...shape.objectOf({ peer: shape.TEXT, offsetMs: shape.INTEGER }),
  description:
    "A peer whose clock differs much from this node's clock. Present only while the node cannot determine which of the two " +
    'clocks is wrong.',
};

const REORGS_SHAPE: Schema = {
  ...shape.objectOf({
    count: { type: 'integer', minimum: 1 },
    latest: shape.listOf(
      shape.objectOf({
        time: shape.INSTANT,
        commonHeight: shape.COUNT,
        revertedBlocks: { type: 'integer', minimum: 1 },
      }),
    ),
  }),
  description:
    'Number of reorgs since the start of the node, and the latest reorgs, newest first; absent if there was no reorg.',
};

const ALONE_SHAPE: Schema = {
  type: 'boolean',
  description:
    'True if the node has no peers and needs none; otherwise absent. A node needs no peers if it was started without ' +
    'peers (`p2p.enabled: false`, `--no-peers`). A node also needs no peers if two conditions hold, as in a devnet of ' +
    'one node: no option names a fixed or seed peer other than the node itself, and all delegates of the round forge on ' +
    'this node.',
};

const READERS_SHAPE: Schema = {
  ...shape.objectOf({
    wanted: { type: 'integer', minimum: 1, description: 'Value of `http.processes`.' },
    restarts: { ...shape.COUNT, description: 'Number of readers that were started to replace another reader.' },
    each: shape.listOf(
      shape.objectOf({
        reader: { type: 'integer', minimum: 1 },
        state: {
          type: 'string',
          enum: ['starting', 'up', 'silent'],
          description:
            '`silent`: the node has started another reader, because this reader does not respond or uses too much memory.',
        },
        since: shape.INSTANT,
        memoryBytes: {
          ...shape.COUNT,
          description: "Memory of the reader's process, without the mapped pages of the store.",
        },
        requests: { ...shape.COUNT, description: 'Number of requests to the reader since its start.' },
      }),
    ),
  }),
  description: 'Separate processes that answer HTTP for the node; absent if the process of the node itself answers.',
};

const STATUS_SHAPES_3: Readonly<Record<string, Schema>> = { chainMaxHeightFinalized: shape.COUNT };

/** Shapes of the members of the status that are not always present. */
const RARE_STATUS_SHAPES: Readonly<Record<string, Schema>> = {
  syncProgress: PROGRESS_SHAPE,
  clockOffsetMs: CLOCK_SHAPE,
  clocksDiffer: CLOCKS_SHAPE,
  reorgs: REORGS_SHAPE,
  isAlone: ALONE_SHAPE,
  readers: READERS_SHAPE,
};

export function statusShape(dialect: HttpDialect): Schema {
  const [own, other] =
    dialect.generation === 2 ? [STATUS_SHAPES_2, STATUS_SHAPES_3] : [STATUS_SHAPES_3, STATUS_SHAPES_2];
  const added = { ...other, ...RARE_STATUS_SHAPES };
  return extendedShape(dialect, { ...TIMES_SHAPES, ...own }, added, Object.keys(RARE_STATUS_SHAPES));
}

const ACTIVE_DELEGATES_SHAPE: Schema = {
  type: 'integer',
  minimum: 1,
  description: `Number of delegates in a round; absent if the number is ${ACTIVE_DELEGATES}.`,
};

const BLOCK_TIME_SHAPE: Schema = { type: 'integer', minimum: 1, description: 'Length of a slot in seconds.' };

const NETWORK_NAME_SHAPE: Schema = { type: 'string', description: 'Name by which this node knows the network.' };

const BUILD_SHAPES: Readonly<Record<string, Schema>> = { build: shape.TEXT, commit: shape.TEXT };
const CONSTANTS_SHAPES_2: Readonly<Record<string, Schema>> = {
  nethash: shape.HEX,
  nonce: { type: 'string', minLength: 16, maxLength: 16 },
};
const CONSTANTS_SHAPES_3: Readonly<Record<string, Schema>> = { networkId: shape.HEX };

export function constantsShape(dialect: HttpDialect): Schema {
  const [own, other] =
    dialect.generation === 2 ? [CONSTANTS_SHAPES_2, CONSTANTS_SHAPES_3] : [CONSTANTS_SHAPES_3, CONSTANTS_SHAPES_2];
  const common: Readonly<Record<string, Schema>> = {
    ...BUILD_SHAPES,
    epoch: shape.INSTANT,
    fees: shape.objectOf(Object.fromEntries(Object.keys(FEE_VIEW).map((name) => [name, shape.AMOUNT] as const))),
    milestone: shape.TEXT,
    reward: shape.AMOUNT,
    supply: shape.AMOUNT,
    version: shape.TEXT,
    protocolVersion: shape.TEXT,
  };
  const added = {
    ...other,
    networkName: NETWORK_NAME_SHAPE,
    blockTime: BLOCK_TIME_SHAPE,
    activeDelegates: ACTIVE_DELEGATES_SHAPE,
  };
  const optional = ['activeDelegates', ...(dialect.strict ? Object.keys(BUILD_SHAPES) : [])];
  return extendedShape(dialect, { ...common, ...own }, added, optional);
}

function transactionCounts(confirmed: number, pool: Readonly<Record<(typeof QUEUES)[number], number>>): View {
  const { ready, verified, pending, validated, received } = pool;
  const total = confirmed + ready + verified + pending + validated + received;
  return { confirmed, ready, verified, pending, validated, received, total };
}

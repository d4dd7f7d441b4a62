/**
 * A node of this project with a chain that was recorded from a lisk-sdk node, and with a clock that stands still. The
 * HTTP server of this project answers requests to the node.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import type { HttpOptions } from '../../src/http/options.ts';
import { systemClock } from '../../src/node/system.ts';
import type { LocalNodeApi, NodeApi } from '../../src/ports/node-api.ts';
import { createGen2Rules } from '../../src/protocol/gen2/rules.ts';
import { createGen3Rules } from '../../src/protocol/gen3/rules.ts';
import { networkIdentifierOf } from '../../src/protocol/genesis.ts';
import { NO_EXCEPTIONS, type ChainParams, type Generation } from '../../src/protocol/params.ts';
import type { StateReader } from '../../src/protocol/state.ts';
import { openChainStore, openMemoryChainStore } from '../../src/store/chain/open.ts';
import { openFront } from '../support/http-front.ts';
import { idleNode, type IdleNodeOptions } from '../support/idle-node.ts';

export interface RecordedNode {
  readonly origin: string;
  readonly api: NodeApi;
  readonly state: StateReader;
  close(): Promise<void>;
}

export interface RecordedNodeOptions {
  readonly generation: Generation;
  /** Path of a gzip file with one block in JSON on each line, the genesis block first. */
  readonly chainFile: string;
  /** Unix time in milliseconds. */
  readonly nowMs: number;
  readonly identity: IdleNodeOptions['identity'];
  /** Returns API functions that replace those of the node, for data that the recorded node had besides its chain. */
  readonly override?: (api: NodeApi) => Partial<LocalNodeApi>;
  /** Options of the HTTP server that differ from the defaults. */
  readonly http?: Partial<HttpOptions>;
  /**
   * Number of reading processes (processes that answer HTTP requests for the node). `answerFromProcesses` sets the
   * default.
   */
  readonly processes?: number;
}

export function linesOf(file: string): readonly unknown[] {
  const bytes = readFileSync(file);
  const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

export async function startRecordedNode(options: RecordedNodeOptions): Promise<RecordedNode> {
  const { generation, chainFile, nowMs, identity, processes = recordedProcesses } = options;
  const [genesisJson, ...rest] = linesOf(chainFile);
  const { id, payloadHash } = genesisJson as { readonly id: string; readonly payloadHash: string };
  const params = devnetParams(generation, id, payloadHash);
  const rules = generation === 2 ? createGen2Rules(params) : createGen3Rules(params);
  const genesis = rules.codec.genesisFromJson(genesisJson);
  const { codec } = rules;
  const directory = processes === 0 ? undefined : mkdtempSync(join(tmpdir(), 'bloomery-recorded-'));
  const chain =
    directory === undefined
      ? openMemoryChainStore({ codec, params })
      : await openChainStore({ directory, codec, params, clock: systemClock });
  const ed25519 = selectEd25519();
  const context = { nowS: Math.floor((nowMs - params.epochMs) / 1000), verify: ed25519.verify.bind(ed25519) };
  chain.transact((writer) => {
    writer.append(genesis, (state) => rules.applyGenesis(state, genesis));
    for (const json of rest) {
      const block = rules.codec.blockFromJson(json);
      writer.append(block, (state) => rules.applyBlock(state, block, context));
    }
  });
  const real = idleNode({ chain, rules, genesis, identity, nowMs: () => nowMs });
  const api: LocalNodeApi = { ...real, ...options.override?.(real) };
  const front = await openFront({ api, processes, directory, ...(options.http && { http: options.http }) });
  const close = async (): Promise<void> => {
    await front.close();
    await chain.close();
    if (directory !== undefined) rmSync(directory, { recursive: true });
  };
  return { origin: front.origin, api, state: chain, close };
}

let recordedProcesses = 0;

/**
 * Sets the default number of reading processes (processes that answer HTTP requests for a node) for all later calls of
 * `startRecordedNode`.
 */
export function answerFromProcesses(processes: number): void {
  recordedProcesses = processes;
}

/** Parameters of the public devnet, with the slot length of the recordings. */
export function devnetParams(generation: Generation, genesisBlockId: string, nethash: string): ChainParams {
  return {
    generation,
    epochMs: Date.parse('2016-05-24T17:00:00.000Z'),
    blockTimeS: 10,
    activeDelegates: 101,
    transactionsPerBlockMax: 25,
    rewards: {
      milestones: [500_000_000n, 400_000_000n, 300_000_000n, 200_000_000n, 100_000_000n],
      offset: 2160,
      distance: 3_000_000,
    },
    delegateListRoundOffset: 2,
    genesisBlockId,
    nethash,
    communityIdentifier: 'Lisk',
    networkIdentifier: networkIdentifierOf(nethash, 'Lisk'),
    exceptions: NO_EXCEPTIONS,
  };
}

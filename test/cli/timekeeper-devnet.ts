/**
 * A devnet in one process. The engines have no peers. The timekeeper (`Timekeeper`) controls the time and the blocks of
 * the devnet. Each node has an agent (`NodeAgent`) that executes requests of the timekeeper. The timekeeper calls the
 * agents directly, without messages between processes.
 */

import type { ExecutionContext } from 'ava';
import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import { Engine } from '../../src/engine/engine.ts';
import { DevnetAccounts } from '../../src/cli/devnet/devnet-accounts.ts';
import { NodeAgent } from '../../src/cli/devnet/node-agent.ts';
import { NO_FAULTS } from '../../src/cli/devnet/faults.ts';
import type { AgentLink, AgentRequest } from '../../src/cli/devnet/messages.ts';
import type { MiningMode } from '../../src/cli/devnet/mining.ts';
import { Timekeeper } from '../../src/cli/devnet/timekeeper.ts';
import type { Network } from '../../src/config/network.ts';
import type { ClockSetting } from '../../src/node/movable-clock.ts';
import { createOfflineTransport } from '../../src/node/offline-transport.ts';
import { systemClock, systemRandom } from '../../src/node/system.ts';
import { partsOf } from '../../src/node/generations.ts';
import { SILENT, type Observer } from '../../src/ports/observer.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { createRules } from '../../src/protocol/generations.ts';
import type { StoredChain } from '../../src/store/chain/stored-chain.ts';
import { MemoryKeyValue } from '../../src/store/disk/memory.ts';
import { chainStoreOver } from '../../src/store/chain/open.ts';
import { createInlineVerifier } from '../../src/workers/inline-verifier.ts';
import { makeNetwork, type TestNetwork } from '../support/chain-maker.ts';
import { MemoryJournal } from '../sim/node.ts';

export interface InProcessDevnet {
  readonly network: TestNetwork;
  readonly timekeeper: Timekeeper;
  readonly nodes: readonly InProcessNode[];
  /** Time of the machine, set by the test. */
  readonly machine: { nowMs: number };
  readonly notes: readonly string[];
  close(): Promise<void>;
}

export interface InProcessNode {
  readonly engine: Engine;
  readonly store: StoredChain;
  readonly agent: NodeAgent;
  /** Codes of the log lines that the node has written. */
  readonly codes: string[];
  isRunning: boolean;
  /** Requests that the node does not answer. */
  readonly refused: Set<AgentRequest['op']>;
}

export interface InProcessOptions {
  readonly nodes?: number;
  readonly mode?: MiningMode;
  readonly intervalMs?: number;
  readonly delegates?: number;
  readonly generation?: 2 | 3;
  readonly blockTimeS?: number;
  /** Setting of the chain clock at the end of an earlier run. */
  readonly earlier?: ClockSetting;
}

/** The account that holds the supply of a test network. Its address is not used. */
export const FUNDER = { name: 'genesis', address: '', publicKey: '', passphrase: 'genesis' };

/**
 * Creates a devnet that forges nothing before a call of `timekeeper.begin()`. The timekeeper controls the time and the
 * blocks of the devnet.
 */
export async function inProcessDevnet({
  nodes: count = 3,
  mode = 'on-demand',
  intervalMs,
  delegates = 5,
  generation = 3,
  blockTimeS = 2,
  earlier,
}: InProcessOptions = {}): Promise<InProcessDevnet> {
  const network = makeNetwork({ delegates, activeDelegates: delegates, generation, blockTimeS });
  const { params } = network;
  const machine = { nowMs: params.epochMs + 1_000_000_000 };
  const clock: Clock = { nowMs: () => machine.nowMs, after: (delayMs, work) => systemClock.after(delayMs, work) };
  const notes: string[] = [];
  const verifier = createInlineVerifier(selectEd25519(), 100_000);
  const nodes: InProcessNode[] = [];
  const links = (): readonly AgentLink[] =>
    nodes
      .filter(({ isRunning }) => isRunning)
      .map(({ agent, refused }) => ({
        ask: async (request) => {
          if (refused.has(request.op)) throw new Error(`no answer to ${request.op}`);
          return agent.handle(request);
        },
      }));
  const timekeeper = new Timekeeper({
    params,
    clock,
    mode,
    intervalMs,
    earlier,
    links,
    peersWaitMs: 0,
    print: (line) => void notes.push(line),
  });
  for (let index = 0; index < count; index += 1) {
    const agent = new NodeAgent({
      clock,
      setting: timekeeper.setting,
      isHeld: true,
      impersonated: [],
      faults: NO_FAULTS,
      random: systemRandom,
      emit: (event) => {
        if (event.event === 'transaction') timekeeper.transactionArrived(event.id, event.transaction);
      },
    });
    const codes: string[] = [];
    const observer: Observer = { ...SILENT, module: () => observer, log: (_level, code) => void codes.push(code) };
    const rules = createRules(params);
    const store = chainStoreOver(new MemoryKeyValue(), { codec: rules.codec, params }, 'test');
    const engine = new Engine(
      {
        ...{ store, rules, verifier, clock: systemClock, chainClock: agent.chainClock, random: systemRandom, observer },
        genesis: network.genesis,
        isForgingSuspended: () => agent.isForgingSuspended(),
        transport: createOfflineTransport(),
        journal: new MemoryJournal(),
      },
      {
        identity: {
          ...{ networkName: 'test', version: '3.0.2', protocolVersion: '2.0', build: '', commit: '' },
          nonce: String(index).padStart(16, '0'),
        },
        os: 'test',
        waitThresholdMs: 1000,
        broadcastIntervalMs: 1000,
        transactionsPerQueueMax: 1000,
        riskDoubleForging: true,
        profile: partsOf(params).profile,
        peers: {
          own: { ip: '127.0.0.1', wsPort: 5000 + index },
          ...{ outboundMax: 20, gossipPeersMax: 10 },
          ...{ fixedPeers: [], seedPeers: [], whitelistedPeers: [], blacklistedIps: [] },
        },
      },
    );
    agent.built({ engine, store });
    await engine.start({ wsPort: 0, httpPort: 0 });
    for (const [position, keyPair] of network.delegates.entries()) {
      if (position % count === index) engine.forging.enable(keyPair);
    }
    nodes.push({ engine, store, agent, codes, isRunning: true, refused: new Set() });
  }
  return {
    ...{ network, timekeeper, nodes, machine, notes },
    close: async () => {
      timekeeper.stop();
      await Promise.all(nodes.map(({ engine }) => engine.stop()));
    },
  };
}

/**
 * Creates the `DevnetAccounts` of a devnet, as a start of the devnet does. `FUNDER` is the only account whose
 * passphrase the devnet knows.
 */
export function accountsOf({ network: { params }, timekeeper }: InProcessDevnet): DevnetAccounts {
  const network: Network = {
    ...{ name: 'test', directory: '', params, genesisJson: {}, protocolVersion: '2.0', appVersion: '3.0.2' },
    ...{ wsPort: 0, httpPort: 0, seeds: [] },
  };
  return new DevnetAccounts({ directory: undefined, network, timekeeper, accounts: [FUNDER] });
}

/**
 * Creates a devnet with its accounts, and calls `begin` of its timekeeper (which controls the time and the blocks of
 * the devnet). The devnet closes when the test ends.
 */
export async function begunDevnet(t: ExecutionContext, options?: InProcessOptions) {
  const devnet = await inProcessDevnet(options);
  t.teardown(() => devnet.close());
  await devnet.timekeeper.begin();
  return { ...devnet, accounts: accountsOf(devnet) };
}

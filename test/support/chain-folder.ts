/** Makes chains, stores them in data folders, and writes network folders. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openChain, type ChainLocation } from '../../src/node/chain-tool.ts';
import type { Block } from '../../src/protocol/types.ts';
import { ChainMaker, makeNetwork, type NetworkOptions, type TestNetwork } from './chain-maker.ts';

export const NETWORK_NAME = 'made';

export interface MadeChain {
  readonly maker: ChainMaker;
  readonly network: TestNetwork;
  /** All blocks, from the genesis block on. */
  readonly blocks: readonly Block[];
}

/** Makes a chain of the given height. The third block and every tenth block contain transfers. */
export function madeChain(height: number, options: NetworkOptions = {}): MadeChain {
  const network = makeNetwork(options);
  const maker = new ChainMaker(network);
  const blocks: Block[] = [network.genesis];
  while (blocks.length < height) {
    const next = blocks.length + 1;
    const [from, to] = [network.accounts[next % 10], network.accounts[(next + 3) % 10]];
    const isFilled = (next === 3 || next % 10 === 0) && from !== undefined && to !== undefined;
    const transactions = isFilled ? [1n, 2n, 3n].map((amount) => maker.transfer(from, to, amount * 1000n)) : [];
    blocks.push(maker.forge({ transactions }));
  }
  return { maker, network, blocks };
}

/** The place where a command looks for the chain under a data folder. */
export function locationIn(dataDirectory: string, { params, genesisJson }: TestNetwork): ChainLocation {
  return { network: { name: NETWORK_NAME, params, genesisJson }, dataDirectory: join(dataDirectory, NETWORK_NAME) };
}

/** Stores the whole chain in a new store. @returns the digest of its state */
export async function storeChain(place: ChainLocation, blocks: readonly Block[]): Promise<string> {
  const { chain, store, close } = await openChain(place, true);
  try {
    await chain.append(blocks.slice(1));
    return store.stateDigest();
  } finally {
    await close();
  }
}

/** Writes a network folder that the option `--network` accepts. */
export function writeNetworkFolder(folder: string, { params, genesisJson }: TestNetwork): string {
  mkdirSync(folder, { recursive: true });
  const { rewards } = params;
  const json = {
    name: NETWORK_NAME,
    generation: params.generation,
    epoch: new Date(params.epochMs).toISOString(),
    blockTimeS: params.blockTimeS,
    transactionsPerBlockMax: params.transactionsPerBlockMax,
    rewards: { ...rewards, milestones: rewards.milestones.map(String) },
    delegateListRoundOffset: params.delegateListRoundOffset,
    communityIdentifier: params.communityIdentifier,
    protocolVersion: params.generation === 2 ? '1.1' : '2.0',
    appVersion: '3.0.2',
    wsPort: 5000,
    httpPort: 4000,
    seeds: [],
  };
  writeFileSync(join(folder, 'network.json'), JSON.stringify(json));
  writeFileSync(join(folder, 'genesis.json'), JSON.stringify(genesisJson));
  return folder;
}

/**
 * Measures how long a node without any blocks needs to download the chain of a network that already has many blocks:
 * `npm run sim -- --behind BLOCKS`.
 */

import { Chain } from '../../src/engine/chain.ts';
import { openGenesis } from '../../src/engine/genesis.ts';
import { SILENT } from '../../src/ports/observer.ts';
import type { Block, PublicKey } from '../../src/protocol/types.ts';
import { ownerOfSlot } from '../../src/protocol/rounds.ts';
import type { SignedHeader } from '../../src/protocol/rules.ts';
import { slotAt, slotStartS } from '../../src/protocol/slots.ts';
import { publicKeyOf } from '../support/chain-maker.ts';
import { chainStoreOver } from '../../src/store/chain/open.ts';
import { Disk } from './disk.ts';
import { ScriptedWorld } from './scripted-world.ts';
import { World } from './world.ts';

export interface OutageSync {
  readonly blocks: number;
  /** Number of slots for which the world runs until the late node has the same tip as the other nodes. */
  readonly slots: number;
  readonly isSame: boolean;
}

const NETWORK = { blockTimeS: 10 };
const SLOTS_MAX = 4000;

/** @param blocks number of blocks that the late node lacks; 60,480 blocks are a week */
export async function syncAfterOutage(blocks: number): Promise<OutageSync> {
  const history = await makeHistory(blocks);
  const scripted = await ScriptedWorld.begin({
    nodes: 3,
    network: NETWORK,
    startS: history.endS,
    diskOf: (node) => (node === 2 ? new Disk() : history.disk.copy()),
    // The late node (node 2) has no delegates, so none of its own slots pass during the download.
    forgersOf: (node, delegates) => (node === 2 ? [] : delegates.filter((_, index) => index % 2 === node)),
  });
  let slots = 0;
  while (scripted.apart() > 0 && slots < SLOTS_MAX) {
    await scripted.slots(1);
    slots += 1;
  }
  const [first, , late] = scripted.world.nodes;
  return { blocks, slots, isSame: first!.tip.id === late!.tip.id && first!.disk.digest === late!.disk.digest };
}

/** Makes a chain of the given number of blocks on a simulated disk. The chain has no missed slot. */
async function makeHistory(blocks: number): Promise<{ readonly disk: Disk; readonly endS: number }> {
  const world = new World({ seed: 1, nodes: 0, network: NETWORK });
  const { rules, network, params } = world;
  const disk = new Disk();
  const store = chainStoreOver(disk.mount({ isAlive: true }), { codec: rules.codec, params }, 'history');
  openGenesis(store, rules, network.genesis);
  let nowS = 0;
  const clock = { nowMs: () => params.epochMs + nowS * 1000, after: () => ({ cancel: () => undefined }) };
  const chain = new Chain({ store, rules, verifier: world.verifier, clock, observer: SILENT });
  const keyPairs = new Map(network.delegates.map((keyPair) => [publicKeyOf(keyPair), keyPair]));
  const signed = new Map<PublicKey, SignedHeader>();
  const build = (): Block => {
    const tip = chain.tip.header;
    const slot = slotAt(tip.timestamp, params) + 1;
    nowS = slotStartS(slot, params);
    const owner = ownerOfSlot(rules.forgers(store, tip.height + 1), slot, params)!;
    const request = {
      keyPair: keyPairs.get(owner)!,
      timestamp: nowS,
      transactions: [],
      previouslyForged: signed.get(owner),
    };
    const block = rules.forge(store, tip, request);
    signed.set(owner, { ...block, blockId: block.id });
    return block;
  };
  while (chain.tip.header.height <= blocks) await chain.forge(build);
  return { disk, endS: nowS + params.blockTimeS };
}

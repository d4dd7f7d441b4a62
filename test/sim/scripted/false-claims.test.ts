/**
 * Tests a network with strangers, which are simulated hostile peers without an engine. One stranger after another
 * connects to each node. Each stranger sends several signed blocks, and then answers no request. Each of its blocks
 * seems to be the tip of a better chain, but this chain does not exist.
 */

import test from 'ava';

import type { NodeInfo } from '../../../src/ports/transport.ts';
import type { Generation } from '../../../src/protocol/params.ts';
import { signBlock } from '../../support/chain-maker.ts';
import type { SimNode } from '../node.ts';
import { ScriptedWorld } from '../scripted-world.ts';
import { silentHandlers } from '../silent-handlers.ts';

const BLOCKS_SHOWN = 19;
const SLOTS = 60;

for (const generation of [3, 2] as const) {
  for (const [blockTimeS, signers] of [
    [2, 1],
    [2, 101],
    [10, 1],
  ] as const) {
    const who = signers === 1 ? 'one delegate' : 'any delegate';
    test(`generation ${generation}, slots of ${blockTimeS} s: claims signed by ${who} from ever new addresses cost no slot`, async (t) => {
      const scripted = await begin(generation, blockTimeS);
      const before = scripted.node(0).tip.height;
      const claimants = new Claimants(scripted, signers);
      claimants.start();
      await scripted.slots(SLOTS);
      const forged = scripted.node(0).tip.height - before;
      t.true(claimants.count > SLOTS / 2, `${claimants.count} claimants`);
      t.true(forged >= SLOTS, `${forged} blocks in ${SLOTS} slots`);
      t.is(scripted.apart(), 0);
      await scripted.world.close();
    });
  }

  test(`generation ${generation}: a true better chain is followed in spite of false claims`, async (t) => {
    const scripted = await begin(generation, 10);
    scripted.world.partition([[0], [1, 2, 3]]);
    await scripted.slots(15);
    const claimants = new Claimants(scripted, 101);
    claimants.start();
    await scripted.slots(5);
    t.true(scripted.apart() > 5);
    scripted.world.wire.heal();
    const slots = await scripted.meet();
    t.log(`${slots} slots`);
    // The limit of eight slots is a sum. Two slots are for new connections, because a node dials its peers every ten
    // seconds. Two slots are for the timeout of a request to a silent stranger. In the other four slots, the nodes on
    // the worse branch download the blocks of the better branch.
    t.true(slots <= 8, `${slots} slots`);
    await scripted.world.close();
  });
}

async function begin(generation: Generation, blockTimeS: number): Promise<ScriptedWorld> {
  const scripted = await ScriptedWorld.begin({
    nodes: 4,
    network: { blockTimeS, ...(generation === 2 ? { generation, delegateListRoundOffset: 0 } : {}) },
  });
  await scripted.slots(10);
  return scripted;
}

/**
 * Connects one stranger (a claimant) at a time to each node. The claimant sends its blocks, and disconnects when the
 * tip of the node changes. Then the next claimant connects to this node.
 */
class Claimants {
  readonly #scripted: ScriptedWorld;
  readonly #signers: number;
  count = 0;

  constructor(scripted: ScriptedWorld, signers: number) {
    this.#scripted = scripted;
    this.#signers = signers;
  }

  start(): void {
    for (const { index } of this.#scripted.world.nodes) this.#next(index);
  }

  #next(index: number): void {
    const { world } = this.#scripted;
    const target = world.node(index);
    this.count += 1;
    // The addresses of the claimants differ in their first two octets, so each claimant is in another netgroup.
    const ip = `${20 + (this.count >> 8)}.${this.count & 255}.0.1`;
    const transport = world.wire.transport({ ip, wsPort: 6000 });
    transport.announce(infoOf(target));
    void transport.start(silentHandlers({ answer: () => new Promise(() => undefined) }));
    const leave = (): void => {
      transport.die(0);
      this.#next(index);
    };
    transport.connect(addressOf(target)).then(
      (peerId) => {
        for (let shown = 0; shown < BLOCKS_SHOWN; shown += 1) {
          transport.send(peerId, { kind: 'block', block: this.#block(target, shown) });
        }
        this.#whenMoved(target, target.tip.id, leave);
      },
      () => world.time.schedule(1_000, leave),
    );
  }

  #whenMoved(target: SimNode, tipId: string, leave: () => void): void {
    this.#scripted.world.time.schedule(100, () => {
      if (target.tip.id === tipId) this.#whenMoved(target, tipId, leave);
      else leave();
    });
  }

  #block(target: SimNode, number: number): unknown {
    const { world } = this.#scripted;
    const tip = target.store.block(target.tip.height)!;
    const signer = world.network.delegates[this.count % this.#signers]!;
    const lead = world.params.generation === 3 ? { maxHeightPrevoted: tip.maxHeightPrevoted + 1_000 } : {};
    const far = { height: tip.height + 5, previousBlockId: String(1_000 + number), timestamp: tip.timestamp };
    return world.rules.codec.blockToJson(signBlock(tip, { ...far, ...lead }, signer));
  }
}

function infoOf(target: SimNode): NodeInfo {
  return {
    os: 'sim',
    version: '3.0.2',
    wsPort: 6000,
    httpPort: 0,
    protocolVersion: '2.0',
    nonce: 'claimant00000000',
    height: target.tip.height + 5,
    blockVersion: 2,
    maxHeightPrevoted: target.tip.maxHeightPrevoted + 1_000,
    lastBlockId: '42',
  };
}

function addressOf(node: SimNode): { ip: string; wsPort: number } {
  const [ip = '', wsPort = ''] = node.peerId.split(':');
  return { ip, wsPort: Number(wsPort) };
}

/**
 * Tests a node that must switch to a better branch although the node is busy with a sync from a stranger (a peer that
 * the node did not dial, and that no option of the operator names). The stranger claims a far better chain, but then
 * sends the node the node's own blocks, one by one. A node syncs from one peer at a time, so the node can download the
 * better branch only after the sync from the stranger has ended.
 */

import test from 'ava';

import type { PeerRequest } from '../../../src/ports/transport.ts';
import { signBlock } from '../../support/chain-maker.ts';
import { ScriptedWorld } from '../scripted-world.ts';
import { silentHandlers } from '../silent-handlers.ts';

/**
 * Time in milliseconds that the stranger takes to answer a request for blocks. It answers requests for its tip or for
 * the highest common block at once. Simulated requests fail after 2 s.
 */
const ANSWER_MS = 1_500;
const STRANGER = { ip: '172.20.0.1', wsPort: 6000 };

for (const generation of [3, 2] as const) {
  test(`generation ${generation}: a stranger that repeats our blocks does not keep a node from the better branch`, async (t) => {
    const scripted = await ScriptedWorld.begin({
      nodes: 4,
      network: { blockTimeS: 10, ...(generation === 2 ? { generation, delegateListRoundOffset: 0 } : {}) },
    });
    await scripted.slots(100);
    const [alone = '', ...others] = scripted.world.nodes.map(({ peerId }) => peerId);
    scripted.world.wire.partition([[alone, `${STRANGER.ip}:${STRANGER.wsPort}`], others]);
    await scripted.slots(30);
    t.true(scripted.apart() > 5);
    const replay = replayAgainstNode0(scripted);
    await scripted.slots(1);
    t.true(replay.answers > 0);
    scripted.world.wire.heal();
    const slots = await scripted.meet();
    t.log(`${slots} slots, ${replay.answers} answers of the stranger`);
    // Two slots are for new connections, because a node dials its peers every ten seconds. The other two slots are for
    // the end of the sync from the stranger, and for the download of the better branch. The sync from the stranger ends
    // at the latest when the stranger has used up the time that the node grants a peer for sending blocks
    // (`peer-time-budget.ts`).
    t.true(slots <= 4, `${slots} slots`);
    await scripted.world.close();
  });
}

/** Connects the stranger to node 0, and shows node 0 the tip of a far better chain, which does not exist. */
function replayAgainstNode0({ world }: ScriptedWorld): { readonly answers: number } {
  const replay = { answers: 0 };
  const victim = world.node(0);
  const { codec } = world.rules;
  const tip = victim.store.block(victim.tip.height)!;
  const lead = world.params.generation === 3 ? { maxHeightPrevoted: tip.maxHeightPrevoted + 1_000 } : {};
  const far = { height: tip.height + 1_000, previousBlockId: '1000', timestamp: tip.timestamp, ...lead };
  const shown = signBlock(tip, far, world.network.delegates[0]!);
  const answer = async (request: PeerRequest): Promise<unknown> => {
    if (request.kind === 'tip') return codec.blockToJson(shown);
    if (request.kind === 'highestCommonBlock') {
      const heights = request.blockIds.flatMap((id) => victim.store.heightOf(id) ?? []);
      const { id, height } = victim.store.header(Math.min(...heights))!;
      return { id, height };
    }
    if (request.kind !== 'blocksAfter') return new Promise(() => undefined);
    await new Promise<void>((resolve) => void world.time.schedule(ANSWER_MS, resolve));
    replay.answers += 1;
    const next = victim.store.block(victim.store.heightOf(request.blockId)! + 1);
    return next === undefined ? [] : [codec.blockToJson(next)];
  };
  const transport = world.wire.transport(STRANGER);
  transport.announce({
    os: 'sim',
    version: '3.0.2',
    wsPort: STRANGER.wsPort,
    httpPort: 0,
    protocolVersion: '2.0',
    nonce: 'replayer00000000',
    height: far.height,
    blockVersion: 2,
    maxHeightPrevoted: tip.maxHeightPrevoted + 1_000,
    lastBlockId: shown.id,
  });
  void transport.start(silentHandlers({ answer: (_peerId, request) => answer(request) }));
  const [ip = '', wsPort = ''] = victim.peerId.split(':');
  void transport.connect({ ip, wsPort: Number(wsPort) }).then((peerId) => {
    transport.send(peerId, { kind: 'block', block: codec.blockToJson(shown) });
  });
  return replay;
}

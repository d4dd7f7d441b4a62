/**
 * Runs a small number of the restore schedules of `npm run sim -- --restores N`. Also tests fixed restore schedules.
 * With these schedules, earlier versions of the node signed contradicting headers.
 */

import test from 'ava';

import { publicKeyOf } from '../../support/chain-maker.ts';
import { MemoryJournal } from '../node.ts';
import { contradictionIn, runRestore, type RestoreSchedule } from '../restores.ts';
import { World } from '../world.ts';

const SEEDS = 40;

test('no schedule of backups, moves and late peers makes a delegate sign contradicting headers', async (t) => {
  let signed = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { contradiction, signedAfter, schedule } = await runRestore(seed);
    t.is(contradiction?.text, undefined, `seed ${seed}: ${JSON.stringify(schedule)}`);
    signed += signedAfter;
  }
  t.true(signed > SEEDS);
});

/**
 * This schedule restores a backup of the data folder that is older than one round (101 slots). Shortly after the
 * restart of the node, the delegates that have signed headers since the backup get their next slots.
 */
const OLD: RestoreSchedule = {
  generation: 3,
  delegates: 50,
  beforeSlots: 2,
  afterSlots: 10,
  aloneSlots: 0,
  downSlots: 93,
  restSlots: 4,
  isRestBold: true,
  restored: 'folder',
  evidence: 'peers',
  lateSlots: 0,
  isWholeStopped: false,
  isMoved: false,
  endSlots: 14,
};

test('half of all delegates continue after a restore without records, because of their watermarks', async (t) => {
  // A delegate without a signing record leaves its first slot after the restart empty. The schedule therefore lasts for
  // more than two rounds after the restart, so that each delegate gets a second slot.
  const schedule: RestoreSchedule = { ...OLD, restored: 'backup', evidence: 'watermark', endSlots: 210 };
  const { contradiction, signedAfter } = await runRestore(7, schedule);
  t.is(contradiction?.text, undefined);
  t.true(signedAfter > OLD.delegates, `${signedAfter}`);
  const blind = await runRestore(7, { ...schedule, evidence: 'peers' });
  t.is(blind.contradiction?.text, undefined);
  t.is(blind.signedAfter, 0, 'without a watermark nothing shows what they signed');
});

test('a network continues by itself after all its nodes were restored without records', async (t) => {
  const world = new World({
    seed: 7,
    nodes: 2,
    network: { generation: 3, blockTimeS: 10, delegateListRoundOffset: 2 },
    forgersOf: (node, all) => all.filter((_, index) => index % 2 === node),
    riskDoubleForgingOf: () => false,
    hasWatermarksOf: () => true,
  });
  const slots = (count: number): Promise<void> => world.run(count * 10);
  try {
    await world.startAll();
    await slots(240);
    for (const node of world.nodes) node.crash();
    for (const node of world.nodes) node.restore({ disk: node.copyFolder().disk, journal: new MemoryJournal() }, false);
    await world.startAll();
    const { height } = world.node(0).tip;
    await slots(1);
    const [first] = world.node(0).keys;
    const waiting = first && world.node(0).engine.forging.waiting(publicKeyOf(first));
    t.regex(waiting?.reason ?? '', /the watermark records block \d+: the delegate must leave one slot unused/);
    t.true((waiting?.untilMs ?? 0) > world.time.nowMs);
    await slots(330);
    t.true(world.node(0).tip.height > height + 150, `${world.node(0).tip.height}, and ${height} before`);
    t.true(world.node(0).engine.chain.finalizedHeight > height);
    t.is(contradictionIn(world), undefined);
  } finally {
    await world.close();
  }
});

for (const generation of [2, 3] as const) {
  for (const [lateSlots, when] of [
    [0, 'are there'],
    [2.2, 'are late by 22 s'],
    [Infinity, 'are never there'],
  ] as const) {
    test(`a node of generation ${generation} with an old folder signs nothing on its old tip when its peers ${when}`, async (t) => {
      const { contradiction, signedAfter } = await runRestore(7, { ...OLD, generation, lateSlots });
      t.is(contradiction?.text, undefined);
      // The node signs again after it has downloaded the newer blocks from its peers. It signs nothing if it never
      // reaches its peers.
      t.is(signedAfter > 0, lateSlots < Infinity);
    });
  }
}

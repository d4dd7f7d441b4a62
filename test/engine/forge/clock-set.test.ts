import test from 'ava';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import { publicKeyOf } from '../../support/chain-maker.ts';
import { setUpForging, type LoggedEvent } from './forging-fixture.ts';

const of = (logged: readonly LoggedEvent[], ...codes: readonly string[]): readonly LoggedEvent[] =>
  logged.filter(({ code }) => codes.includes(code));

for (const [what, pass, code, reason] of [
  ['the machine slept', (its) => its.sleep(30), 'FORGING_SLOT_SLEPT', /^the machine was asleep for 60 s$/],
  ['the clock was set', (its) => its.setClock(30), 'FORGING_SLOT_SKIPPED', /^the clock was set forward by 60 s$/],
  [
    'the node was busy',
    (its) => its.stall(30, { isBusy: true }),
    'FORGING_SLOT_SLEPT',
    /^the node was busy with other work for 6\d(\.\d)? s$/,
  ],
  [
    'the process was stopped',
    (its) => its.stall(30, { isBusy: false }),
    'FORGING_SLOT_SLEPT',
    /^the process was stopped, or the machine had no processor for it, for 6\d(\.\d)? s$/,
  ],
] as const satisfies readonly (readonly [
  string,
  (its: ReturnType<typeof setUpForging>) => unknown,
  string,
  RegExp,
])[]) {
  test(`slots missed because ${what} are logged with that reason alone`, async (t) => {
    const its = setUpForging();
    its.scheduler.start();
    await its.pass(10);
    its.logged.length = 0;
    const from = its.currentSlot() + 1;
    pass(its);
    const missed = its.ownSlots(from, its.currentSlot());
    await its.pass(3);
    await its.scheduler.stop();
    const logged = of(its.logged, 'FORGING_SLOT_SLEPT', 'FORGING_SLOT_SKIPPED');
    t.deepEqual(
      logged.map((each) => [each.code, each.fields['slot']]),
      missed.map((slot) => [code, slot]),
    );
    for (const { fields } of logged) t.regex(String(fields['reason']), reason);
    const events = of(its.logged, 'CLOCK_SET', 'MACHINE_SLEPT').map((each) => [each.code, each.fields]);
    const expected = {
      'the machine slept': [['MACHINE_SLEPT', { seconds: 60 }]],
      'the clock was set': [['CLOCK_SET', { bySeconds: 60 }]],
    }[what as string];
    t.deepEqual(events, expected ?? []);
  });
}

test('where the system does not report sleep, the log names both a clock that was set and a sleep as possible', async (t) => {
  const its = setUpForging({ isBootKnown: false });
  its.scheduler.start();
  await its.pass(10);
  its.logged.length = 0;
  its.sleep(30);
  await its.pass(3);
  await its.scheduler.stop();
  const [first] = of(its.logged, 'FORGING_SLOT_SLEPT', 'FORGING_SLOT_SKIPPED');
  t.regex(
    String(first?.fields['reason']),
    /^the clock was set forward by 60 s, or the machine was asleep for as long$/,
  );
});

test('a clock set back behind the newest block is logged once with the remedy, and once when it is over', async (t) => {
  const its = setUpForging();
  its.scheduler.start();
  await its.pass(20);
  t.is(its.scheduler.paused(), undefined);
  its.logged.length = 0;
  const { height } = its.chain.tip.header;
  its.setClock(-40);
  const setMs = its.nowMs();
  await its.pass(10);
  t.deepEqual(
    its.logged.map(({ code }) => code),
    ['CLOCK_SET', 'CLOCK_BEHIND_TIP'],
  );
  t.is(its.logged[0]?.fields['bySeconds'], -80);
  t.is(its.logged[1]?.fields['height'], height);
  t.regex(
    String(its.logged[1]?.fields['reason']),
    /before the newest block: it was set back, .*: set it right \(timedatectl/,
  );
  const paused = its.scheduler.paused();
  t.is(paused?.cause, 'CLOCK_BEHIND_TIP');
  t.true(Math.abs((paused?.sinceMs ?? 0) - setMs) <= 2000);
  t.is(its.chain.tip.header.height, height);
  its.logged.length = 0;
  await its.pass(60);
  await its.scheduler.stop();
  t.is(of(its.logged, 'CLOCK_REACHED_TIP').length, 1);
  t.is(of(its.logged, 'CLOCK_BEHIND_TIP').length, 0);
  t.true(of(its.logged, 'BLOCK_FORGED').length > 3);
});

test('a clock step of less than two seconds is not logged', async (t) => {
  const its = setUpForging();
  its.scheduler.start();
  await its.pass(20);
  its.logged.length = 0;
  its.setClock(-0.6);
  await its.pass(20);
  its.setClock(0.6);
  await its.pass(20);
  await its.scheduler.stop();
  t.deepEqual(of(its.logged, 'CLOCK_SET', 'CLOCK_BEHIND_TIP', 'CLOCK_REACHED_TIP', 'FORGING_SLOT_SKIPPED'), []);
});

test('while forging is not ready, the scheduler reports the reason and the start', async (t) => {
  const its = setUpForging();
  its.scheduler.start();
  await its.pass(10);
  t.is(its.scheduler.paused(), undefined);
  its.hinder('3 of 7 peers share the tip');
  await its.pass(1);
  const first = its.scheduler.paused();
  t.true(Math.abs((first?.sinceMs ?? 0) - its.nowMs()) <= 3000);
  // If a new reason differs from the current reason only in its numbers, the pause continues.
  its.hinder('2 of 9 peers share the tip');
  await its.pass(10);
  t.deepEqual(its.scheduler.paused(), { ...first, reason: '2 of 9 peers share the tip' });
  its.hinder(undefined);
  await its.pass(1);
  t.is(its.scheduler.paused(), undefined);
  await its.scheduler.stop();
});

test('a full disk is tried again even while the clock of the chain is frozen', async (t) => {
  const its = setUpForging({ isChainClockFrozen: true });
  its.scheduler.start();
  its.chain.disk.checkWritable();
  its.fillDisk(true);
  await t.throwsAsync(its.receiveBlockOf(its.currentSlot()));
  t.not(its.chain.disk.checkWritable(), undefined);
  its.fillDisk(false);
  await its.pass(5);
  t.is(its.chain.disk.checkWritable(), undefined);
  await its.scheduler.stop();
});

test('after the clock was set forward, the waits that began by the wrong clock begin again', async (t) => {
  const its = setUpForging({ riskDoubleForging: false });
  its.scheduler.start();
  await its.pass(2);
  const before = [...its.held.values()];
  t.true(before.length > 30);
  its.setClock(-30);
  await its.pass(2);
  t.deepEqual([...its.held.values()], before, 'a clock that was set back changes no wait');
  its.setClock(90);
  await its.pass(2);
  await its.scheduler.stop();
  for (const sinceS of its.held.values()) t.true(sinceS > its.nowS() - 30 && sinceS > Math.max(...before), `${sinceS}`);
});

test('enabling a delegate that is enabled already does not begin its wait again', async (t) => {
  const its = setUpForging({ riskDoubleForging: false });
  const before = new Map(its.held);
  its.scheduler.start();
  await its.pass(2);
  const [first, second] = its.own;
  its.scheduler.enable(first!);
  its.scheduler.disable(publicKeyOf(second!));
  its.scheduler.enable(second!);
  await its.scheduler.stop();
  t.is(its.held.get(publicKeyOf(first!)), before.get(publicKeyOf(first!)));
  t.true((its.held.get(publicKeyOf(second!)) ?? 0) > (before.get(publicKeyOf(second!)) ?? 0));
});

test('a step of the clock between the enabling of the delegates and the start is noticed', async (t) => {
  const its = setUpForging({ riskDoubleForging: false });
  const before = Math.max(...its.held.values());
  its.setClock(30);
  its.scheduler.start();
  await its.pass(2);
  await its.scheduler.stop();
  t.is(of(its.logged, 'CLOCK_SET').length, 1);
  for (const sinceS of its.held.values()) t.true(sinceS > before, `${sinceS}`);
});

test('waits that cannot be written after a step of the clock are written later, and the step is logged', async (t) => {
  const its = setUpForging({ riskDoubleForging: false });
  its.scheduler.start();
  await its.pass(2);
  const before = [...its.held.values()];
  its.breakJournal(new ProtocolError('JOURNAL_WRITE_FAILED'));
  its.setClock(90);
  await its.pass(2);
  t.is(of(its.logged, 'CLOCK_SET').length, 1);
  t.deepEqual([...its.held.values()], before);
  its.breakJournal(undefined);
  await its.pass(2);
  await its.scheduler.stop();
  for (const sinceS of its.held.values()) t.true(sinceS > Math.max(...before), `${sinceS}`);
});

test('no delegate signs while a wait is not written after a step of the clock', async (t) => {
  const its = setUpForging({ riskDoubleForging: false });
  const [waiting, ...others] = [...its.held.keys()];
  for (const publicKey of others)
    its.signed.set(publicKey, {
      ...{ blockId: publicKey, height: 1, timestamp: its.held.get(publicKey) ?? 0 },
      ...{ maxHeightPrevoted: 0, maxHeightPreviouslyForged: 0 },
    });
  its.scheduler.start();
  await its.pass(60);
  const before = its.logged.filter(({ code }) => code === 'BLOCK_FORGED').length;
  t.true(before > 3);
  its.breakHolds(true);
  its.held.set(waiting ?? '', its.nowS() + 5);
  its.setClock(90);
  its.logged.length = 0;
  await its.pass(60);
  t.deepEqual(of(its.logged, 'BLOCK_FORGED'), []);
  t.true(of(its.logged, 'JOURNAL_WRITE_FAILED').length > 3);
  its.breakHolds(false);
  await its.pass(60);
  await its.scheduler.stop();
  t.true(of(its.logged, 'BLOCK_FORGED').length > 3);
});

test('a block that another node signed for a delegate begins a wait, unless the journal cannot be written', async (t) => {
  const its = setUpForging({ riskDoubleForging: false });
  its.scheduler.start();
  await its.pass(3);
  const beganS = new Set(its.held.values());
  const [first = 0, second = 0] = its.ownSlots(its.currentSlot() - 3, its.currentSlot() + 9);
  await its.pass(Math.max(0, second - its.currentSlot()) + 1);
  its.breakJournal(new ProtocolError('JOURNAL_WRITE_FAILED'));
  t.is((await its.receiveBlockOf(first)).kind, 'applied');
  t.deepEqual(new Set(its.held.values()), beganS);
  its.breakJournal(undefined);
  t.is((await its.receiveBlockOf(second)).kind, 'applied');
  await its.scheduler.stop();
  t.deepEqual(
    [...its.held.values()].filter((sinceS) => !beganS.has(sinceS)),
    [its.nowS()],
  );
});

test('a step of the clock during an attempt to forge is noticed before the signature', async (t) => {
  const its = setUpForging({ riskDoubleForging: false });
  its.scheduler.start();
  const from = its.currentSlot() + 2;
  await its.pass(60);
  const watched = its.ownSlots(from, its.currentSlot())[2] ?? 0;
  const next = its.ownSlots(its.currentSlot() + 1, its.currentSlot() + 40)[0] ?? 0;
  await its.pass(next - its.currentSlot() + 0.3);
  // The attempt to forge waits for other work of the chain. Meanwhile, the clock is set forward to a slot of another
  // delegate. While the clock was behind, this delegate left its previous slot (one round before) unused.
  let endWork: () => void = () => t.fail();
  const work = new Promise<void>((resolve) => (endWork = resolve));
  void its.chain.runExclusive(() => work);
  await its.pass(0.4);
  its.setClock(watched + 101 - its.currentSlot());
  endWork();
  await its.pass(2);
  await its.scheduler.stop();
  t.deepEqual(
    of(its.logged, 'CLOCK_SET', 'BLOCK_FORGED').map(({ code }) => code),
    ['CLOCK_SET'],
  );
});

import test from 'ava';
import { fc } from '../../support/fast-check.ts';
import { POOL_STATES } from '../../../src/engine/pool/queues.ts';
import type { Block, JsonObject } from '../../../src/protocol/types.ts';
import { LSK, person, PoolWorld } from '../../support/pool-world.ts';

const people = ['alice', 'bob', 'carol'].map((name) => person(name));
const perQueueMax = 4;

/** The transactions of all runs. They are made once, because most of the work is signing them. */
const offer: readonly JsonObject[] = (() => {
  const maker = new PoolWorld();
  const transfers = people.flatMap((from) => people.map((to) => maker.transfer(from, to, 40n * LSK)));
  return [...transfers, ...people.map((who) => maker.delegate(who, 'smith'))];
})();

test('for any input and any reorg, an id is in one queue and the queues are bounded', (t) => {
  const index = fc.nat(offer.length - 1);
  const action = fc.oneof(
    fc.record({ kind: fc.constant('submit' as const), index }),
    fc.record({ kind: fc.constant('receive' as const), index }),
    fc.record({ kind: fc.constant('confirm' as const), index }),
    fc.record({ kind: fc.constant('revert' as const), index }),
    fc.record({ kind: fc.constant('step' as const), index }),
    fc.record({ kind: fc.constant('expire' as const), index }),
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
      const world = new PoolWorld({ limits: { perQueueMax } });
      for (const who of people) world.setAccount(who, { balance: 100n * LSK });
      const { pool } = world;
      for (const { kind, index: at } of actions) {
        const json = offer[at]!;
        const block = (): Block => ({ ...world.state.tip(), transactions: [world.read(json)] });
        if (kind === 'submit') pool.submit(json);
        if (kind === 'receive') pool.receive([json]);
        if (kind === 'confirm') pool.blocksApplied([block()]);
        if (kind === 'revert') pool.blocksReverted([block()]);
        if (kind === 'step') pool.step();
        if (kind === 'expire') {
          world.nowS += 5000;
          pool.expire();
        }
        const ids = POOL_STATES.flatMap((state) => pool.entries(state).map(({ transaction }) => transaction.id));
        t.is(new Set(ids).size, ids.length);
        t.true(ids.length <= perQueueMax * POOL_STATES.length);
        t.true(ids.every((id) => pool.has(id)));
        t.is(
          ids.length,
          Object.values(pool.sizes()).reduce((sum, size) => sum + size, 0),
        );
      }
      t.is(new Set(world.verified).size <= offer.length, true);
    }),
    { numRuns: 40 },
  );
});

import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import { addressOf } from '../../../src/crypto/keys.ts';
import { BACKENDS, dump, withStore } from '../backends.ts';
import { Dice, nextStep, PEOPLE, USERNAMES, type Step } from '../world.ts';
import type { ChainWriter } from '../../../src/ports/store.ts';
import type { StoredChain } from '../../../src/store/chain/stored-chain.ts';

/** Appends blocks above the tip. */
function grow(store: StoredChain, dice: Dice, blocks: number): readonly Step[] {
  const steps: Step[] = [];
  store.transact((writer) => {
    for (let i = 0; i < blocks; i += 1) {
      const step = nextStep(dice, writer.tip());
      writer.append(step.block, step.apply);
      steps.push(step);
    }
  });
  return steps;
}

for (const backend of BACKENDS) {
  test(`${backend}: reverts restore each key and the digest of each height`, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 12 }), async (seed, blocks) => {
        await withStore(backend, (store) => {
          const dice = new Dice(seed);
          grow(store, dice, 1);
          const dumps = [dump(store)];
          const views = [seen(store)];
          const digests = [store.stateDigest()];
          const steps: Step[] = [];
          for (let i = 0; i < blocks; i += 1) {
            steps.push(...grow(store, dice, 1));
            dumps.push(dump(store));
            views.push(seen(store));
            digests.push(store.stateDigest());
          }
          for (let i = blocks - 1; i >= 0; i -= 1) {
            t.deepEqual(
              store.transact((writer) => writer.revert()),
              steps[i]?.block,
            );
            t.deepEqual(dump(store), dumps[i]);
            t.deepEqual(seen(store), views[i]);
            t.is(store.stateDigest(), digests[i] ?? '');
          }
        });
      }),
      { numRuns: backend === 'memory' ? 60 : 15 },
    );
  });

  test(`${backend}: after a chain switch in one transaction no trace of the other branch is left`, async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 6 }),
        async (seed, back, on) => {
          const direct = await withStore(backend, (store) => {
            grow(store, new Dice(seed), 3);
            grow(store, new Dice(seed + 1), on);
            return { dump: dump(store), digest: store.stateDigest(), tip: store.tip() };
          });
          await withStore(backend, (store) => {
            grow(store, new Dice(seed), 3);
            grow(store, new Dice(seed + 2), back);
            store.transact((writer) => {
              for (let i = 0; i < back; i += 1) writer.revert();
              const dice = new Dice(seed + 1);
              for (let i = 0; i < on; i += 1) {
                const { block, apply } = nextStep(dice, writer.tip());
                writer.append(block, apply);
              }
            });
            t.deepEqual(dump(store), direct.dump);
            t.is(store.stateDigest(), direct.digest);
            t.deepEqual(store.tip(), direct.tip);
          });
        },
      ),
      { numRuns: backend === 'memory' ? 60 : 15 },
    );
  });

  test(`${backend}: a throw leaves no part of a transaction, on the disk or in memory`, async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.integer({ min: 0, max: 3 }),
        fc.integer({ min: 0, max: 3 }),
        async (seed, back, on) => {
          await withStore(backend, async (store) => {
            const dice = new Dice(seed);
            grow(store, dice, 5);
            const before = dump(store);
            const bftState = store.bftState();
            const tip = store.tip();
            const view = seen(store);
            const failure = t.throws(() =>
              store.transact((writer) => {
                for (let i = 0; i < back; i += 1) writer.revert();
                for (let i = 0; i < on; i += 1) {
                  const { block, apply } = nextStep(dice, writer.tip());
                  writer.append(block, apply);
                }
                writer.setNote('peers/book', Buffer.from('x'));
                const { block, apply } = nextStep(dice, writer.tip());
                writer.append(block, (state) => {
                  apply(state);
                  throw new Error('the block is bad');
                });
              }),
            );
            t.is(failure?.message, 'the block is bad');
            t.deepEqual(dump(store), before);
            t.is(store.bftState(), bftState);
            t.is(store.tip(), tip);
            t.deepEqual(seen(store), view);
            // The store continues like a store that never failed.
            grow(store, new Dice(seed + 1), 3);
            const untroubled = await withStore('memory', (twin) => {
              grow(twin, new Dice(seed), 5);
              grow(twin, new Dice(seed + 1), 3);
              return dump(twin);
            });
            t.deepEqual(dump(store), untroubled);
          });
        },
      ),
      { numRuns: backend === 'memory' ? 60 : 15 },
    );
  });
}

test('the grouping of blocks and reverts into transactions makes no difference', async (t) => {
  const step = fc.record({ reverts: fc.boolean(), seed: fc.nat(), endsTransaction: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const run = (writer: ChainWriter, { reverts, seed }: { reverts: boolean; seed: number }): void => {
        if (reverts && (writer.tip()?.height ?? 0) > 1) {
          writer.revert();
          return;
        }
        const { block, apply } = nextStep(new Dice(seed), writer.tip());
        writer.append(block, apply);
      };
      const groups = steps.reduce<(typeof steps)[]>(
        (all, one) => {
          all.at(-1)?.push(one);
          if (one.endsTransaction) all.push([]);
          return all;
        },
        [[]],
      );
      const grouped = await withStore('memory', (store) => {
        for (const group of groups) {
          store.transact((writer) => {
            for (const one of group) run(writer, one);
          });
        }
        return { dump: dump(store), digest: store.stateDigest(), seen: seen(store) };
      });
      const single = await withStore('memory', (store) => {
        for (const one of steps) store.transact((writer) => run(writer, one));
        return { dump: dump(store), digest: store.stateDigest(), seen: seen(store) };
      });
      t.deepEqual(grouped, single);
    }),
    { numRuns: 200 },
  );
});

test('both backends have the same keys and digest after the same history', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (seed) => {
      const [memory, lmdb] = await Promise.all(
        BACKENDS.map((backend) =>
          withStore(backend, (store) => {
            const dice = new Dice(seed);
            grow(store, dice, 8);
            store.transact((writer) => {
              writer.revert();
              writer.revert();
            });
            grow(store, dice, 3);
            return { dump: dump(store), digest: store.stateDigest() };
          }),
        ),
      );
      t.deepEqual(memory, lmdb);
    }),
    { numRuns: 15 },
  );
});

/** `seen` returns only the blocks below this height. */
const HEIGHT_MAX = 16;

/** Returns the chain and the state as readers see them, including values from caches of the store. */
function seen(store: StoredChain): unknown {
  return {
    delegates: [...store.delegates()],
    byKey: PEOPLE.map((publicKey) => store.delegate(publicKey)),
    accounts: PEOPLE.map((publicKey) => store.account(addressOf(publicKey))),
    names: USERNAMES.map((username) => store.delegateKeyByUsername(username)),
    lists: [1, 2, 3, 4].map((index) => store.roundList(index)),
    blocks: Array.from({ length: HEIGHT_MAX }, (_, height) => store.block(height)),
  };
}

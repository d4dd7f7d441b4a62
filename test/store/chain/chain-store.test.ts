import test from 'ava';

import { AssertionFailed } from '../../../src/primitives/errors.ts';
import { emptyAccount, type StateWriter } from '../../../src/protocol/state.ts';
import type { Block } from '../../../src/protocol/types.ts';
import type { StoredChain } from '../../../src/store/chain/stored-chain.ts';
import { LAYOUT_VERSION, RETIRED_TABLES, SELF_LIST, TABLES } from '../../../src/store/tables/layout.ts';
import { fakeBlock } from '../../support/fake-codec.ts';
import { BACKENDS, withStore } from '../backends.ts';
import { keyOf } from '../world.ts';

function append(store: StoredChain, changes: Partial<Block> = {}): Block {
  const block = fakeBlock(store.tip(), [], changes);
  store.transact((writer) => writer.append(block, () => undefined));
  return block;
}

for (const backend of BACKENDS) {
  test(`${backend}: an empty store has no tip, no floor and nothing to revert`, async (t) => {
    await withStore(backend, (store) => {
      t.is(store.tip(), undefined);
      t.is(store.undoFloor(), undefined);
      t.is(store.block(1), undefined);
      t.is(store.bftState(), undefined);
      t.throws(() => store.transact((writer) => writer.revert()), { code: 'GENESIS_NOT_REVERTIBLE' });
    });
  });

  test(`${backend}: the genesis block cannot be reverted`, async (t) => {
    await withStore(backend, (store) => {
      const genesis = append(store);
      t.is(store.undoFloor(), undefined);
      t.throws(() => store.transact((writer) => writer.revert()), { code: 'GENESIS_NOT_REVERTIBLE' });
      t.is(store.tip()?.id, genesis.id);
    });
  });

  test(`${backend}: blocks without undo records cannot be reverted; the floor is the lowest that can`, async (t) => {
    await withStore(backend, (store) => {
      for (let i = 0; i < 6; i += 1) append(store);
      t.is(store.undoFloor(), 2);
      store.transact((writer) => writer.forgetUndo(4));
      t.is(store.undoFloor(), 5);
      store.transact((writer) => writer.forgetUndo(3));
      t.is(store.undoFloor(), 5);
      store.transact((writer) => {
        writer.revert();
        writer.revert();
      });
      t.is(store.tip()?.height, 4);
      t.is(store.undoFloor(), undefined);
      const error = t.throws(() => store.transact((writer) => writer.revert()), { code: 'UNDO_RECORD_MISSING' });
      t.regex(error?.message ?? '', /at height 4 cannot be reverted/);
      t.is(store.tip()?.height, 4);
    });
  });

  test(`${backend}: undo records deleted in their own transaction are never stored, the others are`, async (t) => {
    await withStore(backend, (store) => {
      const grow = (blocks: number, upToHeight: number, fails = false): void =>
        store.transact((writer) => {
          for (let i = 0; i < blocks; i += 1) writer.append(fakeBlock(writer.tip(), []), () => undefined);
          writer.forgetUndo(upToHeight);
          if (fails) throw new Error('no');
        });
      grow(10, 7);
      t.is(store.undoFloor(), 8);
      t.throws(() => grow(10, 15, true), { message: 'no' });
      t.is(store.undoFloor(), 8);
      t.is(store.tip()?.height, 10);
      grow(5, 9);
      t.is(store.undoFloor(), 10);
      for (let height = 15; height >= 10; height -= 1) store.transact((writer) => writer.revert());
      t.is(store.tip()?.height, 9);
      t.throws(() => store.transact((writer) => writer.revert()), { code: 'UNDO_RECORD_MISSING' });
    });
  });

  test(`${backend}: while a block is applied, the state shows its writes, and its parent as the tip`, async (t) => {
    await withStore(backend, (store) => {
      const genesis = append(store);
      const block = fakeBlock(genesis, []);
      store.transact((writer) => {
        writer.append(block, (state) => {
          state.setAccount({ ...emptyAccount('1L'), balance: 5n });
          t.is(state.account('1L')?.balance, 5n);
          t.is(writer.account('1L')?.balance, 5n);
          t.is(writer.tip()?.id, genesis.id);
          t.is(state.header(2), undefined);
        });
        t.is(writer.tip()?.id, block.id);
      });
      t.is(store.account('1L')?.balance, 5n);
      t.is(store.heightOf(block.id), 2);
      t.is(store.heightOf('no id'), undefined);
      t.is(store.transactionPlace('18446744073709551616'), undefined);
    });
  });

  test(`${backend}: the BFT state is the same object until it changes`, async (t) => {
    await withStore(backend, (store) => {
      append(store);
      const bftState = Buffer.from('one');
      const next = fakeBlock(store.tip(), []);
      store.transact((writer) => writer.append(next, (state) => state.setBftState(bftState)));
      t.is(store.bftState(), bftState);
      append(store);
      t.is(store.bftState(), bftState);
      store.transact((writer) => {
        writer.revert();
        t.is(writer.bftState(), bftState);
        writer.revert();
      });
      t.is(store.bftState(), undefined);
    });
  });

  test(`${backend}: state is written only while a block is appended`, async (t) => {
    await withStore(backend, (store) => {
      append(store);
      t.throws(() => store.transact((writer) => writer.setAccount(emptyAccount('1L'))), {
        instanceOf: AssertionFailed,
      });
      t.is(store.account('1L'), undefined);
    });
  });

  test(`${backend}: a block that does not follow the tip stops the node and is not stored`, async (t) => {
    await withStore(backend, (store) => {
      append(store);
      t.throws(() => append(store, { height: 3 }), { instanceOf: AssertionFailed });
      t.throws(() => append(store, { previousBlockId: '7' }), { instanceOf: AssertionFailed });
      t.is(store.tip()?.height, 1);
    });
  });

  test(`${backend}: asynchronous work is refused and leaves no trace`, async (t) => {
    await withStore(backend, (store) => {
      append(store);
      const error = t.throws(
        () =>
          store.transact((writer) => {
            writer.setNote('peers/book', Buffer.from('b'));
            return Promise.resolve();
          }),
        { instanceOf: AssertionFailed },
      );
      t.regex(error?.message ?? '', /synchronous/);
      t.is(store.note('peers/book'), undefined);
      t.throws(() => store.transact(() => store.transact(() => undefined)), { instanceOf: AssertionFailed });
    });
  });

  test(`${backend}: notes are stored, listed by prefix and removed, and are not part of the digest`, async (t) => {
    await withStore(backend, (store) => {
      append(store);
      const digest = store.stateDigest();
      store.transact((writer) => {
        writer.setNote('chain-log/b', Buffer.from('2'));
        writer.setNote('chain-log/a', Buffer.from('1'));
        writer.setNote('peers/book', Buffer.from('3'));
        writer.setNote('chain-log-head', Buffer.alloc(0));
      });
      t.deepEqual(store.noteKeys('chain-log/'), ['chain-log/a', 'chain-log/b']);
      t.deepEqual(store.noteKeys(''), ['chain-log-head', 'chain-log/a', 'chain-log/b', 'peers/book']);
      t.deepEqual(Buffer.from(store.note('chain-log/b') ?? []), Buffer.from('2'));
      t.is(store.note('chain-log-head')?.length, 0);
      t.is(store.stateDigest(), digest);
      store.transact((writer) => writer.setNote('chain-log/b', undefined));
      t.is(store.note('chain-log/b'), undefined);
    });
  });

  test(`${backend}: every part of the state changes the digest, and equal states have equal ones`, async (t) => {
    await withStore(backend, (store) => {
      append(store);
      const seen = new Set([store.stateDigest()]);
      const delegate = {
        publicKey: keyOf('d'),
        address: '1L',
        username: 'd',
        voteWeight: 1n,
        pendingVoteWeight: 0n,
        rank: 0,
      };
      const writes: readonly ((state: StateWriter) => void)[] = [
        (state) => state.setAccount(emptyAccount('1L')),
        (state) => state.setAccount({ ...emptyAccount('1L'), votes: [keyOf('d')] }),
        (state) => state.setDelegate(delegate),
        (state) => state.setDelegate({ ...delegate, voteWeight: 2n }),
        (state) => state.setRoundList(1, [keyOf('d')]),
        (state) => state.setBftState(Buffer.from('x')),
      ];
      for (const apply of writes) {
        const block = fakeBlock(store.tip(), []);
        store.transact((writer) => writer.append(block, apply));
        t.false(seen.has(store.stateDigest()));
        seen.add(store.stateDigest());
      }
      const digest = store.stateDigest();
      append(store, { reward: 5n });
      t.is(store.stateDigest(), digest, 'blocks are not part of it');
      t.regex(digest, /^[0-9a-f]{64}$/);
    });
  });
}

test('each table has its own number, which no earlier layout used for something else', (t) => {
  const numbers = [...Object.values(TABLES).map(({ number }) => number), SELF_LIST];
  t.is(new Set(numbers).size, numbers.length);
  for (const number of numbers) {
    t.true(number > 0 && number < 255);
    t.false(RETIRED_TABLES.includes(number));
  }
  t.is(LAYOUT_VERSION, 8);
});

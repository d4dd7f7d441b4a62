import test from 'ava';
import { chainStoreOver } from '../../../src/store/chain/open.ts';
import type { KeyValueEntry, KeyValueWriter } from '../../../src/store/tables/key-value.ts';
import { STATE_RANGE } from '../../../src/store/tables/layout.ts';
import { MemoryKeyValue } from '../../../src/store/disk/memory.ts';
import { StateChecksum } from '../../../src/store/chain/state-checksum.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';
import { fc } from '../../support/fast-check.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { Dice, nextStep } from '../world.ts';

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
const entries = fc.uniqueArray(fc.record({ key: bytes(12), value: bytes(40) }), {
  selector: ({ key }) => key.toString('hex'),
});

function checksumOf(all: readonly KeyValueEntry[]): string {
  const checksum = new StateChecksum();
  for (const { key, value } of all) checksum.replace(key, undefined, value);
  return checksum.bytes().toString('hex');
}

test('the order of writes, and earlier values, make no difference', (t) => {
  fc.assert(
    fc.property(entries, bytes(40), fc.nat(), (all, other, seed) => {
      const dice = new Dice(seed);
      const checksum = new StateChecksum();
      for (const { key } of all) checksum.replace(key, undefined, other);
      const shuffled = [...all].sort(() => dice.below(3) - 1);
      for (const { key, value } of shuffled) checksum.replace(key, other, value);
      t.is(checksum.bytes().toString('hex'), checksumOf(all));
      for (const { key, value } of all) checksum.replace(key, value, undefined);
      t.deepEqual(checksum.bytes(), new StateChecksum().bytes());
    }),
  );
});

test('each flipped bit of a key or a value changes at least one half of the sum', (t) => {
  fc.assert(
    fc.property(bytes(20), bytes(200), (key, value) => {
      const whole = checksumOf([{ key, value }]);
      for (const part of [key, value]) {
        for (let bit = 0; bit < part.length * 8; bit += 1) {
          const at = bit >> 3;
          part[at] = (part[at] ?? 0) ^ (1 << (bit & 7));
          t.not(checksumOf([{ key, value }]), whole);
          part[at] = (part[at] ?? 0) ^ (1 << (bit & 7));
        }
      }
    }),
    { numRuns: 20 },
  );
});

test('a byte moved from a key to its value, or from a value to the next key, changes the sum', (t) => {
  t.not(
    checksumOf([{ key: Buffer.from('ab'), value: Buffer.from('c') }]),
    checksumOf([{ key: Buffer.from('a'), value: Buffer.from('bc') }]),
  );
  const [left, right] = [Buffer.from('left'), Buffer.from('right')];
  const swapped = [left, right].map((value, index) => ({ key: Buffer.from([1 - index]), value }));
  t.not(checksumOf([left, right].map((value, index) => ({ key: Buffer.from([index]), value }))), checksumOf(swapped));
});

const step = fc.record({ kind: fc.constantFrom('append', 'revert', 'fail', 'refuse', 'look'), seed: fc.nat() });

/**
 * While `refuses` is true, each transaction fails before it starts, as if another process had taken the process lock of
 * the store.
 */
class RefusingKeyValue extends MemoryKeyValue {
  refuses = false;

  override transact<T>(work: (writer: KeyValueWriter) => T): T {
    if (this.refuses) throw new Error('the folder is taken over');
    return super.transact(work);
  }
}

test('a stepwise check between blocks, reverts and errors equals the checksum, and finds a changed byte', async (t) => {
  await fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), fc.nat(), (steps, flipSeed) => {
      const keys = new RefusingKeyValue();
      const options = { codec: FAKE_CODEC, params: paramsWith(), shortListMax: 4 };
      const store = chainStoreOver(keys, options, 'memory');
      const append = (seed: number, work: () => void = () => undefined): void =>
        store.transact((writer) => {
          const { block, apply } = nextStep(new Dice(seed), writer.tip());
          writer.append(block, apply);
          work();
        });
      append(1);
      append(2);
      let check = store.checkState();
      let looks = 0;
      for (const { kind, seed } of steps) {
        if (kind === 'append') append(seed);
        if (kind === 'revert' && (store.tip()?.height ?? 0) > 2) store.transact((writer) => writer.revert());
        if (kind === 'fail') {
          const fail = (): void => {
            throw new Error('the block is bad');
          };
          t.throws(() => append(seed, fail), { message: 'the block is bad' });
        }
        if (kind === 'refuse') {
          keys.refuses = true;
          t.throws(() => append(seed), { message: 'the folder is taken over' });
          keys.refuses = false;
        }
        if (kind !== 'look') continue;
        const all = [...keys.keys(STATE_RANGE)];
        check.readTo(all[Math.floor((all.length * (1 + (looks % 5))) / 5)] ?? STATE_RANGE.lt);
        looks += 1;
        if (looks % 5 !== 0) continue;
        t.true(check.finish());
        check = store.checkState();
      }
      t.true(check.finish());
      t.true(chainStoreOver(keys, options, 'memory').checkState().finish(), 'the saved one is the same');
      const all = [...keys.entries(STATE_RANGE)].filter(({ value }) => value.length > 0);
      const { key, value } = all[flipSeed % all.length] as KeyValueEntry;
      const flipped = Buffer.from(value);
      flipped[flipSeed % value.length] = (flipped[flipSeed % value.length] ?? 0) ^ (1 << (flipSeed & 7));
      keys.transact((writer) => writer.put(key, flipped));
      t.false(store.checkState().finish());
    }),
    { numRuns: 60 },
  );
});

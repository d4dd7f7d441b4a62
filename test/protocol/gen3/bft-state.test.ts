import test from 'ava';
import { addHeader, bftLimits, emptyBftState } from '../../../src/protocol/gen3/bft.ts';
import {
  decodeBftState,
  encodeBftState,
  finalityOf,
  loadBftState,
  saveBftState,
} from '../../../src/protocol/gen3/bft-state.ts';
import { headerWith, keyNumber } from '../../support/fixtures.ts';
import { MemoryState } from '../../support/memory-state.ts';

const limits = bftLimits(101);
const genesis = headerWith({ height: 1 });

test('a full BFT state of 101 delegates has about five kilobytes', (t) => {
  let bftState = emptyBftState(1);
  for (let height = 1; height <= 600; height += 1) {
    bftState = addHeader(bftState, headerWith({ height, generatorPublicKey: keyNumber(height % 101) }), 1, limits);
  }
  t.is(encodeBftState(bftState).length, 17 + 505 * 10);
});

test('a state without a BFT state has no finality', (t) => {
  const state = new MemoryState();
  t.is(loadBftState(state), undefined);
  t.deepEqual(finalityOf(state), { maxPrevoted: 0, finalized: 0 });
});

test('a written BFT state is not decoded again, and both heights are read without decoding', (t) => {
  const state = new MemoryState();
  const bftState = { ...addHeader(emptyBftState(1), genesis, 1, limits), maxPrevoted: 70_000, finalized: 66_000 };
  saveBftState(state, bftState);
  t.is(loadBftState(state), bftState);
  t.deepEqual(finalityOf(state), { maxPrevoted: 70_000, finalized: 66_000 });
});

test('a copy of the bytes is decoded with the headers of the state, once', (t) => {
  const state = new MemoryState();
  state.append({ ...genesis, transactions: [] }, (writer) => {
    saveBftState(writer, addHeader(emptyBftState(1), genesis, 1, limits));
  });
  const written = loadBftState(state);
  state.setBftState(Buffer.from(state.bftState() ?? []));
  const read = loadBftState(state);
  t.not(read, written);
  t.deepEqual(read, written);
  t.is(loadBftState(state), read);
});

test('bytes of another layout, truncated or without their headers are refused', (t) => {
  const bytes = encodeBftState(addHeader(emptyBftState(1), genesis, 1, limits));
  const other = Uint8Array.from(bytes);
  other[0] = 9;
  for (const broken of [other, bytes.subarray(0, 20), bytes.subarray(0, 3)]) {
    t.throws(() => decodeBftState(broken, () => genesis), { code: 'BFT_STATE_UNREADABLE' });
  }
  t.throws(() => decodeBftState(bytes, () => undefined), { code: 'BFT_STATE_UNREADABLE' });
});

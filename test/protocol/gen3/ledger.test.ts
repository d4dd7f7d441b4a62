import test from 'ava';
import { addHeader, bftLimits, emptyLedger } from '../../../src/protocol/gen3/bft.ts';
import { decodeLedger, encodeLedger, finalityOf, loadLedger, saveLedger } from '../../../src/protocol/gen3/ledger.ts';
import { headerWith, keyNumber } from '../../support/fixtures.ts';
import { MemoryState } from '../../support/memory-state.ts';

const limits = bftLimits(101);
const genesis = headerWith({ height: 1 });

test('a full ledger of 101 delegates has about five kilobytes', (t) => {
  let ledger = emptyLedger(1);
  for (let height = 1; height <= 600; height += 1) {
    ledger = addHeader(ledger, headerWith({ height, generatorPublicKey: keyNumber(height % 101) }), 1, limits);
  }
  t.is(encodeLedger(ledger).length, 17 + 505 * 10);
});

test('a state without a ledger has no finality', (t) => {
  const state = new MemoryState();
  t.is(loadLedger(state), undefined);
  t.deepEqual(finalityOf(state), { maxPrevoted: 0, finalized: 0 });
});

test('a written ledger is not decoded again, and both heights are read without decoding', (t) => {
  const state = new MemoryState();
  const ledger = { ...addHeader(emptyLedger(1), genesis, 1, limits), maxPrevoted: 70_000, finalized: 66_000 };
  saveLedger(state, ledger);
  t.is(loadLedger(state), ledger);
  t.deepEqual(finalityOf(state), { maxPrevoted: 70_000, finalized: 66_000 });
});

test('a copy of the bytes is decoded with the headers of the state, once', (t) => {
  const state = new MemoryState();
  state.append({ ...genesis, transactions: [] }, (writer) => {
    saveLedger(writer, addHeader(emptyLedger(1), genesis, 1, limits));
  });
  const written = loadLedger(state);
  state.setLedger(Buffer.from(state.ledger() ?? []));
  const read = loadLedger(state);
  t.not(read, written);
  t.deepEqual(read, written);
  t.is(loadLedger(state), read);
});

test('bytes of another layout, truncated or without their headers are refused', (t) => {
  const bytes = encodeLedger(addHeader(emptyLedger(1), genesis, 1, limits));
  const other = Uint8Array.from(bytes);
  other[0] = 9;
  for (const broken of [other, bytes.subarray(0, 20), bytes.subarray(0, 3)]) {
    t.throws(() => decodeLedger(broken, () => genesis), { code: 'LEDGER_UNREADABLE' });
  }
  t.throws(() => decodeLedger(bytes, () => undefined), { code: 'LEDGER_UNREADABLE' });
});

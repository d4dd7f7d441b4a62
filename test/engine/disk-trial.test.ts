import { createHash } from 'node:crypto';
import test from 'ava';
import { DiskWatch } from '../../src/engine/disk-watch.ts';
import { addressOf } from '../../src/crypto/keys.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { SILENT } from '../../src/ports/observer.ts';
import type { Block, Transaction } from '../../src/protocol/types.ts';
import { KeyValueChainStore } from '../../src/store/chain/chain-store.ts';
import { CountedKeySets } from '../../src/store/index/counted-key-sets.ts';
import type { KeyValue } from '../../src/store/tables/key-value.ts';
import { MemoryKeyValue } from '../../src/store/disk/memory.ts';
import { madeChain } from '../support/chain-folder.ts';

/** A key-value store in memory that counts the bytes that its last `transact` wrote. */
class Metered extends MemoryKeyValue {
  bytes = 0;

  override transact: KeyValue['transact'] = (work) => {
    this.bytes = 0;
    return super.transact((writer) =>
      work({
        ...writer,
        put: (key, value) => {
          this.bytes += key.length + value.length;
          writer.put(key, value);
        },
      }),
    );
  };
}

test('the trial write on a failed disk is larger than a full block of a chain with many transactions', (t) => {
  const { maker, blocks } = madeChain(3);
  const [genesis, , third] = blocks as [Block, Block, Block];
  const [transfer] = third.transactions as [Transaction];
  const disk = new Metered();
  const store = new KeyValueChainStore(new CountedKeySets(disk), maker.rules.codec, 100, 'memory');
  store.transact((writer) => writer.append(genesis, () => undefined));
  const keys = Array.from({ length: 800 }, (_, index) => createHash('sha256').update(`${index}`).digest('hex'));
  let parent: Block = genesis;
  for (let height = 2; height <= 160; height += 1) {
    const transactions = Array.from({ length: 25 }, (_, index): Transaction => {
      const drawn = createHash('sha256').update(`${height} ${index}`).digest();
      const senderPublicKey = keys[drawn.readUInt32LE(0) % keys.length] ?? '';
      const recipientId = addressOf(keys[drawn.readUInt32LE(4) % keys.length] ?? '');
      const id = drawn.readBigUInt64LE(8).toString();
      const amount = BigInt(drawn.readUInt32LE(16));
      const payload = { ...transfer.payload, recipientId, amount } as Transaction['payload'];
      return { ...transfer, id, senderPublicKey, senderId: addressOf(senderPublicKey), payload };
    });
    const block = {
      ...third,
      id: `${height}`,
      height,
      previousBlockId: parent.id,
      timestamp: height * 10,
      transactions,
    };
    store.transact((writer) => writer.append(block, () => undefined));
    parent = block;
  }
  const blockBytes = disk.bytes;

  let nowMs = 0;
  const watch = new DiskWatch({ store, clock: { nowMs: () => nowMs }, observer: SILENT });
  t.throws(() =>
    watch.watch(() => {
      throw new ProtocolError('STORE_WRITE_FAILED', {}, 'full');
    }),
  );
  const tried: number[] = [];
  nowMs = 10_000;
  const { transact } = store;
  store.transact = (work) => {
    const result = transact.call(store, work) as ReturnType<typeof work>;
    tried.push(disk.bytes);
    return result;
  };
  t.is(watch.checkWritable(), undefined);
  t.true(Math.max(...tried) > 2 * blockBytes, `${tried.join()} bytes are tried, a block takes ${blockBytes}`);
});

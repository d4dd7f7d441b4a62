import test from 'ava';
import { lineOfBlock } from '../../src/protocol/block/block-line.ts';
import { createLineReader } from '../../src/workers/line-reader.ts';
import { madeChain } from '../support/chain-folder.ts';

const HEIGHT = 40;
const { maker, blocks } = madeChain(HEIGHT);
const { rules } = maker;
const lines = blocks.map((block) => Buffer.from(lineOfBlock(block, rules.codec)));

test('lines are parsed to blocks, on threads and without; block 1 is returned unparsed', async (t) => {
  for (const threads of [0, 2]) {
    const reader = createLineReader({ threads, rules, knownHeight: 1 });
    t.deepEqual([...(await reader.read(lines))], [lines[0], ...blocks.slice(1)], `${threads} threads`);
    await reader.close();
  }
});

test('a line that contradicts itself, is not a block or has a wrong signature is returned unparsed', async (t) => {
  const corrupted = lines.map((line) => line.toString());
  corrupted[10] = (corrupted[10] ?? '').replace(/"blockSignature":"[0-9a-f]{8}/, '"blockSignature":"00000000');
  corrupted[11] = '{';
  corrupted[12] = (corrupted[12] ?? '').replace(/"reward":"[0-9]+"/, '"reward":"7"');
  for (const threads of [0, 2]) {
    const reader = createLineReader({ threads, rules, knownHeight: 1 });
    const read = [...(await reader.read(corrupted.map((line) => Buffer.from(line))))];
    const refused = read.flatMap((each, index) => (Buffer.isBuffer(each) ? [[index, each.toString()]] : []));
    t.deepEqual(
      refused,
      [0, 10, 11, 12].map((index) => [index, corrupted[index]]),
      `${threads} threads`,
    );
    await reader.close();
  }
});

test('a closed reader still parses', async (t) => {
  const reader = createLineReader({ threads: 2, rules, knownHeight: 1 });
  await reader.close();
  t.deepEqual([...(await reader.read(lines.slice(1)))], blocks.slice(1));
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { openChainFile, type FileLine } from '../../src/node/chain-file.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { blockOfLine, unverifiedId, lineOfBlock, textOfLine } from '../../src/protocol/block/block-line.ts';
import { BlockRejected } from '../../src/protocol/verdict.ts';
import { madeChain } from '../support/chain-folder.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const { maker, blocks } = madeChain(12);
const { codec } = maker.rules;
const filled = blocks[2]!;

async function linesOf(file: string): Promise<readonly { readonly number: number; readonly text: string }[]> {
  const all: FileLine[] = [];
  for await (const lines of openChainFile(file).lines()) all.push(...lines);
  return all.map(({ number, bytes }) => ({ number, text: textOfLine(bytes) }));
}

test('a block is read back from its line unchanged, genesis included', (t) => {
  for (const block of blocks) {
    t.deepEqual(blockOfLine(lineOfBlock(block, codec), codec), { block, fault: undefined });
  }
});

test('a line has the member names of the wire format, and each amount as decimal text', (t) => {
  const json = JSON.parse(lineOfBlock(filled, codec)) as Record<string, unknown>;
  t.deepEqual(json, JSON.parse(JSON.stringify(codec.blockToJson(filled))));
  t.is(json['totalAmount'], '6000');
  const [transaction] = json['transactions'] as Record<string, unknown>[];
  t.is(transaction?.['fee'], '10000000');
});

test('amounts may be integers, even those that a double cannot represent', (t) => {
  const asNumbers = (line: string): string =>
    line.replace(/"(totalAmount|totalFee|reward|amount|fee)":"([0-9]+)"/g, '"$1": $2');
  const line = lineOfBlock(filled, codec);
  t.not(asNumbers(line), line);
  t.deepEqual(blockOfLine(asNumbers(line), codec), { block: filled, fault: undefined });
  const large = { ...filled, totalAmount: 9_007_199_254_740_993n };
  t.is(blockOfLine(asNumbers(lineOfBlock(large, codec)), codec).block.totalAmount, 9_007_199_254_740_993n);
});

test('a data text that looks like an amount stays unchanged', (t) => {
  const [from, to] = maker.network.accounts;
  const data = '"amount":5, "fee": 7';
  const payload = { kind: 'transfer', amount: 5n, recipientId: maker.transfer(from!, to!, 1n).senderId, data } as const;
  const transaction = maker.transaction(from!, payload);
  const block = { ...maker.build({ transactions: [transaction] }) };
  t.deepEqual(blockOfLine(lineOfBlock(block, codec), codec), { block, fault: undefined });
});

test('the refusal of a line that is not JSON does not show its text', (t) => {
  t.is(t.throws(() => blockOfLine('robust swift grocery', codec))?.message, 'it is not JSON');
});

test('a member that contradicts the bytes is named', (t) => {
  const line = lineOfBlock(filled, codec);
  const id = filled.transactions[0]?.id ?? '';
  const faultOf = (from: string | RegExp, to: string): string | undefined =>
    blockOfLine(line.replace(from, to), codec).fault;
  t.is(faultOf(`"id":"${filled.id}"`, '"id":"1"'), `'.id' should be "${filled.id}"`);
  t.is(faultOf(`"id":"${id}"`, '"id":"1"'), `'.transactions[0].id' should be "${id}"`);
  t.is(faultOf('"fee":"10000000"', '"fee":"10000001"'), `'.transactions[0].fee' should be "10000000"`);
  t.is(faultOf('"numberOfTransactions":3', '"numberOfTransactions":4'), `'.numberOfTransactions' should be 3`);
  t.is(faultOf('"senderId"', '"senderID"'), `'.transactions[0].senderID' is unknown`);
  t.is(faultOf('"version":2', '"version":2,"confirmations":7'), undefined);
});

test('a line that is not a block is refused as malformed or of an invalid version', (t) => {
  for (const text of ['{', '[]', '5', 'null', '{"version":2}', '{"version":9}']) {
    const error = t.throws(() => blockOfLine(text, codec), { instanceOf: BlockRejected });
    t.true(['BLOCK_MALFORMED', 'BLOCK_VERSION_INVALID'].includes(error.code), text);
  }
});

test('the id of a line is taken from the block, not from a transaction', (t) => {
  t.is(unverifiedId(lineOfBlock(filled, codec)), filled.id);
  t.is(unverifiedId('{"transactions":[{"id":"5"}],"height":3}'), undefined);
  // The time for finding the id in a malformed line must grow only linearly with the length of the line.
  const startedMs = performance.now();
  t.is(unverifiedId(`${'['.repeat(500_000)}"id":"7"`), '7');
  t.is(unverifiedId(`"id":${' '.repeat(500_000)}`), undefined);
  t.true(performance.now() - startedMs < 5_000);
  t.is(unverifiedId('no block'), undefined);
});

test('lines are read plain and compressed, with any line breaks; blank lines are skipped', async (t) => {
  const folder = temporaryFolder(t);
  const text = 'one\n\n  \ntwo\r\nthree';
  writeFileSync(join(folder, 'plain'), text);
  writeFileSync(join(folder, 'packed.gz'), gzipSync(text));
  for (const file of ['plain', 'packed.gz']) {
    t.deepEqual(await linesOf(join(folder, file)), [
      { number: 1, text: 'one' },
      { number: 4, text: 'two' },
      { number: 5, text: 'three' },
    ]);
  }
});

test('lines longer than a read chunk stay whole, and bytes are counted as on the disk', async (t) => {
  const file = join(temporaryFolder(t), 'long');
  const texts = [3_000_000, 5, 1_048_576].map((length, index) => String(index).repeat(length));
  writeFileSync(file, `${texts.join('\n')}\n`);
  const chainFile = openChainFile(file);
  const read: string[] = [];
  for await (const lines of chainFile.lines()) read.push(...lines.map(({ bytes }) => textOfLine(bytes)));
  t.true(texts.every((text, index) => text === read[index]));
  t.is(chainFile.bytes, 4_048_584);
  t.is(chainFile.bytesRead(), 4_048_584);
});

test('a file that is missing, truncated or not compressed is refused by name', async (t) => {
  const folder = temporaryFolder(t);
  const missing = t.throws(() => openChainFile(join(folder, 'none')), { instanceOf: ProtocolError });
  t.is(missing.code, 'CHAIN_FILE_UNUSABLE');
  t.regex(missing.message, /none: cannot be read: does not exist: correct the path of the file$/);
  writeFileSync(join(folder, 'cut.gz'), gzipSync('one\n'.repeat(5000)).subarray(0, 30));
  writeFileSync(join(folder, 'plain.gz'), 'one\n');
  for (const name of ['cut.gz', 'plain.gz', '.']) {
    const error = await t.throwsAsync(linesOf(join(folder, name)), { instanceOf: ProtocolError });
    t.is(error?.code, name === '.' ? 'CHAIN_FILE_UNUSABLE' : 'CHAIN_FILE_UNREADABLE', name);
    t.true(error?.message.startsWith(join(folder, name)), error?.message);
  }
});

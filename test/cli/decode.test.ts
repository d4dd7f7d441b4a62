import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import Ajv from 'ajv';
import { jsonSchemas } from '../../src/cli/json-schemas.ts';
import { eventsIn } from '../../src/cli/event-stream.ts';
import { defaultEd25519 } from '../../src/crypto/ed25519.ts';
import { keyPairOfPassphrase } from '../../src/crypto/keys.ts';
import { packagedNetworkDirectory, loadNetwork } from '../../src/config/network.ts';
import { encodeHeader } from '../../src/protocol/block/header.ts';
import { createSigner } from '../../src/protocol/sign.ts';
import { madeChain, locationIn, storeChain, writeNetworkFolder } from '../support/chain-folder.ts';
import { isProblemLine, runCli } from '../support/cli.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const [sender, second] = ['sender', 'second'].map(keyPairOfPassphrase);
const REQUEST = { timestamp: 77, keyPair: sender ?? keyPairOfPassphrase('') };
const TRANSFER = { kind: 'transfer', amount: 150_000_000n, recipientId: '17L', data: 'x'.repeat(64) } as const;

for (const generation of [2, 3] as const) {
  const { networkIdentifier } = loadNetwork(
    packagedNetworkDirectory(generation === 3 ? 'devnet' : 'devnet-gen2'),
  ).params;
  const signer = createSigner({ generation, networkIdentifier }, defaultEd25519());

  test(`transactions of generation ${generation} are decoded from their bytes`, (t) => {
    const plain = signer.sign({ ...REQUEST, payload: { ...TRANSFER, data: 'rent' } });
    t.deepEqual(signer.fromBytes(signer.toBytes(plain)), [plain]);
    // The data of this transfer has the length of a second signature, so the bytes can be decoded in two ways.
    const doubtful = signer.sign({ ...REQUEST, payload: TRANSFER });
    const readings = signer.fromBytes(signer.toBytes(doubtful));
    t.is(readings.length, 2);
    t.deepEqual(
      readings.map((each) => signer.faultsOf(each).length),
      [0, 1],
    );
    t.deepEqual(signer.fromBytes(Buffer.from('0800', 'hex')), []);
  });

  test(`second signatures and member signatures of generation ${generation} are matched to their keys`, (t) => {
    if (second === undefined || sender === undefined) throw new Error('there are keys');
    const signed = signer.sign({ ...REQUEST, payload: TRANSFER, secondKeyPair: second });
    const [own, other] = [sender, second].map(({ publicKey }) => Buffer.from(publicKey).toString('hex'));
    t.true(signer.isSignedBySecond(signed, other ?? ''));
    t.false(signer.isSignedBySecond(signed, own ?? ''));
    const { signature } = signer.signAsMember(signed, second);
    const asGroup = { ...signed, signatures: [signature] };
    t.deepEqual(signer.signersAmong(asGroup, [own ?? '', other ?? '']), [other]);
  });

  test.serial(`decode describes a transaction of generation ${generation}, from bytes and from JSON`, async (t) => {
    const transaction = signer.sign({ ...REQUEST, payload: TRANSFER });
    const bytes = Buffer.from(signer.toBytes(transaction)).toString('hex');
    const network = ['--network', generation === 3 ? 'devnet' : 'devnet-gen2'];
    const fromBytes = await runCli(['decode', bytes, ...network, '--json']);
    t.is(fromBytes.stderr, '');
    const fromJson = await runCli(['decode', '-', ...network, '--json'], {
      input: JSON.stringify(signer.toJson(transaction)),
    });
    t.is(fromJson.stdout, fromBytes.stdout);
    const decoded = JSON.parse(fromBytes.stdout) as { transaction: { id: string }; isSigned: boolean; bytes: string };
    t.like(decoded, { isSigned: true, bytes, senderId: transaction.senderId });
    t.is(decoded.transaction.id, transaction.id);
    const ajv = new Ajv();
    t.true(ajv.validate(jsonSchemas()['decode'] ?? false, decoded), ajv.errorsText());
  });
}

test.serial('decode shows the address of a public key, and the members of a header', async (t) => {
  const key = await runCli(['decode', '0F'.repeat(32)]);
  t.regex(key.stdout, /^address +[0-9]+L$/m);
  const { blocks } = madeChain(3);
  const header = blocks[2];
  if (header === undefined) throw new Error('the chain has three blocks');
  const shown = await runCli(['decode', encodeHeader(header).toString('hex')]);
  t.regex(shown.stdout, new RegExp(`^block header +${header.id}$`, 'm'));
  t.regex(shown.stdout, /^maxHeightPreviouslyForged +[0-9]+$/m);
  t.regex(shown.stdout, /^height +3$/m);
});

for (const [given, message] of [
  ['zz', /neither hexadecimal digits nor JSON/],
  ['abcd', /not a transaction, a block header or a public key/],
  ['{"type":8}', /this is not a transaction/],
  ['{"type":99}', /the document has the `type` 99; the transactions of generation 3 have the types 8, 9, 10, 11, 12/],
  ['{"transactionId":"1"}', /the document has no `type`; the transactions of generation 2 have the types 0, 1, 2/],
] as const) {
  test.serial(`decode refuses ${given} in one line`, async (t) => {
    const { code, stdout, stderr } = await runCli(['decode', given]);
    t.is(code, 2);
    t.is(stdout, '');
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, message);
  });
}

test.serial('tx verify names each fault of a transaction, and the members without a signature', async (t) => {
  const folder = temporaryFolder(t);
  const { maker, network, blocks } = madeChain(5);
  const networkFolder = writeNetworkFolder(join(folder, 'net'), network);
  await storeChain(locationIn(join(folder, 'data'), network), blocks);
  const place = ['--data-dir', join(folder, 'data'), '--network', networkFolder];
  const { toJson, sign } = createSigner(network.params, defaultEd25519());
  const confirmed = blocks[2]?.transactions[0];
  if (confirmed === undefined || sender === undefined || second === undefined) throw new Error('they are there');
  const late = sign({ ...REQUEST, timestamp: 2_000_000_000, payload: TRANSFER, secondKeyPair: second });
  const member = Buffer.from(second.publicKey).toString('hex');
  const group = { kind: 'multisignature', min: 1, lifetime: 1, keysgroup: [`+${member}`] } as const;
  const file = join(folder, 'transactions.ndjson');
  const documents = [
    maker.rules.codec.transactionToJson(confirmed),
    toJson(late),
    toJson(sign({ ...REQUEST, payload: group })),
    { type: 8 },
  ];
  writeFileSync(file, documents.map((document) => `${JSON.stringify(document)}\n`).join(''));
  const { code, stdout, stderr } = await runCli(['tx', 'verify', file, '--json', ...place]);
  t.is(code, 1);
  t.is(stderr, 'bloomery: 4 transactions would not be accepted as they are (TRANSACTION_NOT_VALID)\n');
  const { transactions } = JSON.parse(stdout) as { transactions: { faults: string[]; missing: unknown }[] };
  t.deepEqual(transactions[0]?.faults, ['the block at height 3 already contains it']);
  t.regex(transactions[1]?.faults.join('; ') ?? '', /no second passphrase; .* has 0 LSK, .*; it is dated [0-9]+ s in/);
  t.deepEqual(transactions[2]?.missing, { count: 1, of: [member] });
  t.is(transactions[3]?.missing, null);
  const ajv = new Ajv();
  t.true(ajv.validate(jsonSchemas()['tx verify'] ?? false, { transactions }), ajv.errorsText());
  t.regex((await runCli(['tx', 'verify', file, ...place])).stdout, new RegExp(`^ {16}${member}$`, 'm'));
  t.true(readFileSync(file).length > 0);
});

test('an event split over chunks is read whole, comments are skipped, and malformed events are refused', async (t) => {
  const text = ': alive\n\nid: 3.0\nevent: blocks/new\ndata: {"height":3}\n\nevent: log/gap\ndata: {}\n\n';
  async function* chunks(of: string) {
    for (const letter of of) yield Buffer.from(letter);
  }
  const events: unknown[] = [];
  for await (const event of eventsIn(chunks(text))) events.push(event);
  t.deepEqual(events, [
    { id: '3.0', event: 'blocks/new', data: { height: 3 } },
    { event: 'log/gap', data: {} },
  ]);
  for (const bad of ['id: x\nevent: a\ndata: {}\n\n', 'event: a\ndata: {\n\n']) {
    await t.throwsAsync(
      async () => {
        for await (const _ of eventsIn(chunks(bad))) continue;
      },
      { code: 'NODE_ANSWER_MALFORMED' },
    );
  }
});

import test from 'ava';
import { VoteTransaction } from 'lisk-transactions-3';
import { idOf, sha256 } from '../../src/crypto/hash.ts';
import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import { hexOf } from '../../src/primitives/bytes.ts';
import { gen3GenesisFormat } from '../../src/protocol/gen3/genesis-format.ts';
import { headerBytes, transactionBytes } from '../../src/protocol/gen3/codec.ts';
import { buildGenesis, networkIdentifierOf, type GenesisRequest } from '../../src/protocol/genesis.ts';
import { createGen3Rules } from '../../src/protocol/gen3/rules.ts';
import { addressOfPair, keyPairOf, LSK, makeNetwork, publicKeyOf } from '../support/chain-maker.ts';
import { MemoryState } from '../support/memory-state.ts';

const ed25519 = selectEd25519();
const [account] = [keyPairOf('account')];

const request: GenesisRequest = {
  communityIdentifier: 'Lisk',
  generator: keyPairOf('generator'),
  funder: keyPairOf('funder'),
  delegates: ['one', 'two', 'three'].map((name) => ({ keyPair: keyPairOf(name), username: name })),
  accounts: [{ address: addressOfPair(account), amount: 5n * LSK }],
};

const build = (changes: Partial<GenesisRequest> = {}) =>
  buildGenesis({ ...request, ...changes }, gen3GenesisFormat, ed25519);

test('a genesis block distributes the supply, funds accounts, registers delegates and votes for each', (t) => {
  const { block } = build();
  t.deepEqual(
    block.transactions.map(({ type, payload }) => [type, payload.kind]),
    [
      [8, 'transfer'],
      [8, 'transfer'],
      [10, 'delegate'],
      [10, 'delegate'],
      [10, 'delegate'],
      [11, 'vote'],
    ],
  );
  t.is(block.totalAmount, 10_000_000_000_000_000n + 5n * LSK);
  t.is(block.totalFee, 0n);
  t.is(block.height, 1);
  t.is(block.version, 2);
  t.is(block.previousBlockId, undefined);
  t.true(block.transactions.every(({ timestamp, fee }) => timestamp === 0 && fee === 0n));
});

test('hashes, ids and the signature of the block match each other', (t) => {
  const { block, nethash, networkIdentifier } = build();
  const payload = Buffer.concat(block.transactions.map(transactionBytes));
  t.is(block.payloadHash, hexOf(sha256(payload)));
  t.is(block.payloadLength, payload.length);
  t.is(nethash, block.payloadHash);
  t.is(networkIdentifier, networkIdentifierOf(nethash, 'Lisk'));
  const signature = Buffer.from(block.blockSignature, 'hex');
  const message = sha256(headerBytes(block));
  t.true(ed25519.verify({ publicKey: request.generator.publicKey, message, signature }));
  t.is(block.id, idOf(Buffer.concat([headerBytes(block), signature])));
});

test('the network identifier of the public networks is derived from their payload hash', (t) => {
  t.is(
    networkIdentifierOf('ed14889723f24ecc54871d058d98ce91ff2f973192075c0155ba2b7b70ad2511', 'Lisk'),
    '9ee11e9df416b18bf69dbd1a920442e08c6ca319e69926bc843a561782ca17ee',
  );
});

test('the same request gives the same block, and another community gives another network', (t) => {
  t.deepEqual(build(), build());
  const other = build({ communityIdentifier: 'Other' });
  t.is(other.block.id, build().block.id);
  t.not(other.networkIdentifier, build().networkIdentifier);
});

test('the file is read back as the block, with the transaction ids of the reference', (t) => {
  const { block, json } = build();
  const { codec } = createGen3Rules(makeNetwork().params);
  t.deepEqual(codec.genesisFromJson(JSON.parse(JSON.stringify(json))), block);
  t.deepEqual(Object.keys(json).sort(), [
    'blockSignature',
    'communityIdentifier',
    'generatorPublicKey',
    'height',
    'id',
    'maxHeightPreviouslyForged',
    'maxHeightPrevoted',
    'numberOfTransactions',
    'payloadHash',
    'payloadLength',
    'previousBlockId',
    'reward',
    'timestamp',
    'totalAmount',
    'totalFee',
    'transactions',
    'version',
  ]);
  const last = JSON.parse(JSON.stringify((json['transactions'] as unknown[]).at(-1))) as Record<string, unknown>;
  t.deepEqual(Object.keys(last).sort(), ['asset', 'id', 'senderPublicKey', 'signature', 'timestamp', 'type']);
  const bytes = (new VoteTransaction(last) as unknown as { getBytes(): Buffer }).getBytes();
  t.is(last['id'], idOf(bytes));
});

test('applying a genesis block gives its stated balances, votes and weights', (t) => {
  const { block } = build({ votes: [{ voter: account, delegates: [publicKeyOf(keyPairOf('two'))] }] });
  const state = new MemoryState();
  const rules = createGen3Rules({ ...makeNetwork().params, genesisBlockId: block.id });
  state.append(block, (writer) => {
    rules.applyGenesis(writer, block);
  });
  t.is(state.account(addressOfPair(request.generator))?.balance, -10_000_000_000_000_000n);
  t.is(state.account(addressOfPair(request.funder))?.balance, 10_000_000_000_000_000n - 5n * LSK);
  t.is(state.account(addressOfPair(account))?.balance, 5n * LSK);
  const weight = (name: string) => state.delegate(publicKeyOf(keyPairOf(name)))?.voteWeight;
  t.is(weight('one'), 10_000_000_000_000_000n - 5n * LSK);
  t.is(weight('two'), 10_000_000_000_000_000n);
  t.is(state.roundList(1)?.[0], publicKeyOf(keyPairOf('two')));
  t.is(state.roundList(1)?.length, 3);
});

test('votes are applied last, wherever the file has them, and only for delegates in the file', (t) => {
  const { block } = build();
  const [vote] = block.transactions.filter(({ payload }) => payload.kind === 'vote');
  t.truthy(vote);
  if (vote === undefined) return;
  const rules = createGen3Rules(makeNetwork().params);
  const others = block.transactions.filter((transaction) => transaction !== vote);
  const state = new MemoryState();
  rules.applyGenesis(state, { ...block, transactions: [vote, ...others] });
  t.is(state.account(addressOfPair(request.funder))?.votes.length, 3);
  const strangers = { ...block, transactions: others.slice(0, 3).concat(vote) };
  t.throws(
    () => {
      rules.applyGenesis(new MemoryState(), strangers);
    },
    { code: 'VOTED_KEY_IS_NO_DELEGATE' },
  );
});

test('a block that defines no valid network is refused with the reason', (t) => {
  const address = addressOfPair(account);
  const one = { keyPair: keyPairOf('one'), username: 'one' };
  const cases: readonly [Partial<GenesisRequest>, RegExp][] = [
    [{ delegates: [] }, /no delegate is registered/],
    [{ accounts: [{ address, amount: 0n }] }, /an account is given nothing/],
    [{ accounts: [{ address, amount: 10_000_000_000_000_001n }] }, /more than the supply/],
    [
      {
        accounts: [
          { address, amount: 1n },
          { address, amount: 1n },
        ],
      },
      /two of its transactions are equal/,
    ],
    [
      { accounts: Array.from({ length: 65_535 }, (_, index) => ({ address, amount: BigInt(index + 1) })) },
      /it would have 65\d{3} transactions, and 65535 is the maximum/,
    ],
    [{ delegates: [one, { ...one, keyPair: keyPairOf('two') }] }, /a username is given twice/],
    [{ delegates: [one, { ...one, username: 'two' }] }, /a delegate is registered twice/],
  ];
  for (const [changes, message] of cases) t.throws(() => build(changes), { code: 'GENESIS_INVALID', message });
});

test("a genesis block may fund any number of accounts, while a received block has the network's limits", (t) => {
  const network = makeNetwork({ accounts: 300 });
  const { codec } = createGen3Rules(network.params);
  t.deepEqual(codec.genesisFromJson(network.genesisJson), network.genesis);
  t.throws(() => codec.blockFromJson(network.genesisJson), {
    code: 'BLOCK_MALFORMED',
    message: /'\.transactions' should NOT have more than 150 items/,
  });
});

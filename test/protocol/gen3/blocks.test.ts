import test, { type ExecutionContext } from 'ava';
import { pointsOf } from '../../../src/engine/peers/penalties.ts';
import { NO_EXCEPTIONS } from '../../../src/protocol/params.ts';
import { StateOverlay } from '../../../src/protocol/state.ts';
import type { Block, KeyPair, Transaction } from '../../../src/protocol/types.ts';
import { BlockRejected, type BlockRejectionCode } from '../../../src/protocol/verdict.ts';
import {
  ChainMaker,
  LSK,
  keyPairOf,
  makeNetwork,
  publicKeyOf,
  signBlock,
  verify,
  withPayload,
  type TestNetwork,
} from '../../support/chain-maker.ts';

const network = makeNetwork();
const [alice, bob] = network.accounts as [KeyPair, KeyPair];
const SLOT_S = network.params.blockTimeS;

/** Returns a chain with ten blocks, a valid next block with two transfers, and the key pair of its forger. */
function setUpBlock(own: TestNetwork = network): { maker: ChainMaker; next: Block; forger: KeyPair } {
  const maker = new ChainMaker(own);
  maker.growTo(10);
  const { keyPair } = maker.nextSlot();
  const next = maker.build({ transactions: [maker.transfer(alice, bob, LSK), maker.transfer(bob, alice, LSK)] });
  return { maker, next, forger: keyPair };
}

function refused(t: ExecutionContext, code: BlockRejectionCode, message: string | RegExp, work: () => void): void {
  const error = t.throws(work, { instanceOf: BlockRejected, code, message });
  t.is(error.name, 'BlockRejected');
}

const validate = (maker: ChainMaker, block: Block) => () => {
  maker.rules.validateBlock(block, verify);
};

const apply =
  (maker: ChainMaker, block: Block, nowS = block.timestamp) =>
  () => {
    maker.rules.applyBlock(new StateOverlay(maker.state), block, { nowS, verify });
  };

test('a forged block is valid and can be applied', (t) => {
  const { maker, next } = setUpBlock();
  t.is(next.transactions.length, 2);
  t.notThrows(validate(maker, next));
  t.notThrows(apply(maker, next));
});

test('the checks of a block are those of its header and its transactions, in the order of validation', (t) => {
  const { maker, next } = setUpBlock();
  const checks = maker.rules.blockSignatureChecks(next);
  t.is(checks.length, 3);
  t.true(checks.every(verify));
  const asked: unknown[] = [];
  maker.rules.validateBlock(next, (check) => {
    asked.push({ ...check });
    return true;
  });
  t.deepEqual(asked, [...checks]);
});

test('unregistered and wrong block versions are refused', (t) => {
  const { maker, next, forger } = setUpBlock();
  const unknown = signBlock(next, { version: 3 }, forger);
  refused(t, 'BLOCK_VERSION_INVALID', 'Block processing version is not registered', validate(maker, unknown));
  const old = signBlock(next, { version: 1 }, forger);
  refused(t, 'BLOCK_VERSION_INVALID', 'Block processing version is not registered', validate(maker, old));

  const blockVersions = new Map([[1, { start: 5, end: 9 }]]);
  const legacy = new ChainMaker(makeNetwork({ exceptions: { ...NO_EXCEPTIONS, blockVersions } }));
  refused(t, 'BLOCK_VERSION_INVALID', 'Invalid version', validate(legacy, old));
  const early = signBlock(next, { height: 5 }, forger);
  refused(t, 'BLOCK_VERSION_INVALID', 'Invalid version', validate(legacy, early));
});

test('only block 1 has no previous block', (t) => {
  const { maker, next, forger } = setUpBlock();
  const { previousBlockId, ...orphan } = next;
  t.is(previousBlockId, maker.tip.id);
  const signed = signBlock(orphan, {}, forger);
  refused(t, 'BLOCK_PREVIOUS_INVALID', 'Invalid previous block', validate(maker, signed));
  const second = signBlock(next, { height: 1 }, forger);
  refused(t, 'BLOCK_PREVIOUS_INVALID', 'Invalid previous block', validate(maker, second));
});

test('a header that its generator did not sign is refused', (t) => {
  const { maker, next } = setUpBlock();
  const message = 'Invalid block signature';
  refused(t, 'BLOCK_SIGNATURE_INVALID', message, validate(maker, { ...next, timestamp: next.timestamp + SLOT_S }));
  const stranger = publicKeyOf(keyPairOf('stranger'));
  refused(t, 'BLOCK_SIGNATURE_INVALID', message, validate(maker, { ...next, generatorPublicKey: stranger }));
});

test('a transaction that its sender did not sign is refused with its errors', (t) => {
  const { maker, next, forger } = setUpBlock();
  const [first, other] = next.transactions as [Transaction, Transaction];
  const forgedTransaction = { ...first, signature: other.signature };
  const block = withPayload(next, forger, [forgedTransaction, other]);
  refused(t, 'BLOCK_TRANSACTION_INVALID', /Failed to validate signature/, validate(maker, block));
  const error = t.throws(validate(maker, block), { instanceOf: BlockRejected });
  t.is(error.transactionErrors[0]?.id, first.id);
});

test('each fault of the payload has its own error text', (t) => {
  const { maker, next, forger } = setUpBlock();
  const cases: readonly [Partial<Block>, string][] = [
    [{ payloadLength: 1_048_577 }, 'Payload length is too long'],
    [{ numberOfTransactions: 3 }, 'Included transactions do not match block transactions count'],
    [{ payloadHash: '00'.repeat(32) }, 'Invalid payload hash'],
    [{ totalAmount: 1n }, 'Invalid total amount'],
    [{ totalFee: 1n }, 'Invalid total fee'],
  ];
  for (const [changes, text] of cases) {
    refused(t, 'BLOCK_PAYLOAD_INVALID', text, validate(maker, signBlock(next, changes, forger)));
  }
  const [first] = next.transactions as [Transaction];
  const twice = withPayload(next, forger, [first, first]);
  const duplicate = `Encountered duplicate transaction: ${first.id}`;
  refused(t, 'BLOCK_PAYLOAD_INVALID', duplicate, validate(maker, twice));
});

test('a payload may declare any length up to the limit and have 25 transactions, not 26', (t) => {
  const { maker, next, forger } = setUpBlock();
  t.notThrows(validate(maker, signBlock(next, { payloadLength: 1_048_576 }, forger)));
  const transfers = Array.from({ length: 26 }, (_, index) => maker.transfer(alice, bob, BigInt(index + 1)));
  t.notThrows(validate(maker, withPayload(next, forger, transfers.slice(1))));
  const full = withPayload(next, forger, transfers);
  refused(t, 'BLOCK_PAYLOAD_INVALID', 'Number of transactions exceeds maximum per block', validate(maker, full));
});

test('a block that does not follow the tip is refused', (t) => {
  const { maker, next, forger } = setUpBlock();
  const message = 'Invalid previous block';
  refused(t, 'BLOCK_PREVIOUS_INVALID', message, apply(maker, signBlock(next, { height: 12 }, forger)));
  refused(t, 'BLOCK_PREVIOUS_INVALID', message, apply(maker, signBlock(next, { previousBlockId: '77' }, forger)));
  const rival = signBlock(maker.tip, { timestamp: maker.tip.timestamp + SLOT_S }, forger);
  refused(t, 'BLOCK_PREVIOUS_INVALID', message, apply(maker, rival));
  refused(t, 'BLOCK_PREVIOUS_INVALID', message, apply(maker, signBlock(next, { height: 1 }, forger)));
});

test('a block that the chain contains is known', (t) => {
  const { maker } = setUpBlock();
  refused(t, 'BLOCK_KNOWN', `Block ${maker.tip.id} already exists`, apply(maker, maker.tip));
  refused(t, 'BLOCK_KNOWN', `Block ${network.genesis.id} already exists`, apply(maker, network.genesis));
});

test("the slot of a block must be after its parent's and not in the future, at any time within the slot", (t) => {
  const { maker, next, forger } = setUpBlock();
  const message = 'Invalid block timestamp';
  refused(t, 'BLOCK_TIMESTAMP_INVALID', message, apply(maker, next, next.timestamp - 1));
  t.notThrows(apply(maker, next, next.timestamp));
  t.notThrows(apply(maker, next, next.timestamp + 1_000_000));
  const stale = signBlock(next, { timestamp: maker.tip.timestamp + SLOT_S - 1 }, forger);
  refused(t, 'BLOCK_TIMESTAMP_INVALID', message, apply(maker, stale));
  t.notThrows(apply(maker, signBlock(next, { timestamp: next.timestamp + SLOT_S - 1 }, forger)));
});

test('a wrong reward is refused unless the block is excepted', (t) => {
  const { maker, next, forger } = setUpBlock();
  const greedy = signBlock(next, { reward: 1n }, forger);
  refused(t, 'BLOCK_REWARD_INVALID', 'Invalid block reward: 1 expected: 0', apply(maker, greedy));
  const exceptions = { ...NO_EXCEPTIONS, blockRewards: new Set([greedy.id]) };
  const lenient = new ChainMaker({ ...network, params: { ...network.params, exceptions } });
  lenient.growTo(10);
  t.notThrows(apply(lenient, greedy));
});

test('only the owner of the slot can forge', (t) => {
  const { maker, next } = setUpBlock();
  const thief = network.delegates.find((each) => publicKeyOf(each) !== next.generatorPublicKey) as KeyPair;
  const stolen = signBlock(next, {}, thief);
  const slot = next.timestamp / SLOT_S;
  const message = `Failed to verify slot: ${slot}. Block ID: ${stolen.id}. Block Height: 11`;
  refused(t, 'BLOCK_FORGER_INVALID', message, apply(maker, stolen));
});

test('excepted rounds accept any forger', (t) => {
  const exceptions = { ...NO_EXCEPTIONS, ignoreDelegateListCacheForRounds: new Set([1]) };
  const lenient = new ChainMaker({ ...network, params: { ...network.params, exceptions } });
  lenient.growTo(10);
  const forgers = [2, 3, 4, 5, 6, 7, 8, 9, 10].map((height) => lenient.state.header(height)?.generatorPublicKey);
  const next = lenient.build();
  const thief = network.delegates.find((each) => ![...forgers, next.generatorPublicKey].includes(publicKeyOf(each)));
  t.notThrows(apply(lenient, signBlock(next, {}, thief as KeyPair)));
});

test('without a delegate list nobody can forge', (t) => {
  const { maker, next } = setUpBlock();
  maker.state.setRoundList(1, undefined);
  t.deepEqual(maker.rules.forgers(maker.state, 11), []);
  refused(t, 'BLOCK_FORGER_INVALID', /No delegateList was found$/, apply(maker, next));
});

test('a header that contradicts an earlier one of its delegate is refused', (t) => {
  const { maker } = setUpBlock();
  maker.growTo(105);
  const next = maker.build();
  const forger = maker.nextSlot().keyPair;
  t.true(next.maxHeightPreviouslyForged > 1);
  const forgetful = signBlock(next, { maxHeightPreviouslyForged: 0 }, forger);
  refused(t, 'BLOCK_BFT_INVALID', /^Violation of disjointness condition/, apply(maker, forgetful));
});

test('from height 303 on a header must contain the prevoted height', (t) => {
  const maker = new ChainMaker(network);
  maker.growTo(301);
  const early = maker.build();
  t.notThrows(
    apply(maker, signBlock(early, { maxHeightPrevoted: early.maxHeightPrevoted + 1 }, maker.nextSlot().keyPair)),
  );
  maker.growTo(302);
  const next = maker.build();
  const wrong = signBlock(next, { maxHeightPrevoted: next.maxHeightPrevoted + 1 }, maker.nextSlot().keyPair);
  refused(t, 'BLOCK_BFT_INVALID', /^Wrong maxHeightPrevoted in blockHeader/, apply(maker, wrong));
});

test('a transaction of an earlier block is refused', (t) => {
  const { maker, next, forger } = setUpBlock();
  maker.apply(next);
  const again = withPayload(maker.build(), maker.nextSlot().keyPair, [next.transactions[0] as Transaction]);
  t.not(forger, maker.nextSlot().keyPair);
  refused(t, 'BLOCK_TRANSACTION_INVALID', /Transaction is already confirmed/, apply(maker, again));
});

test('each transaction must be valid without the others in its block', (t) => {
  const { maker, next, forger } = setUpBlock();
  const poor = keyPairOf('poor');
  const block = withPayload(next, forger, [maker.transfer(alice, poor, 10n * LSK), maker.transfer(poor, alice, LSK)]);
  refused(t, 'BLOCK_TRANSACTION_INVALID', /Account does not have enough LSK: [0-9]+L, balance: 0/, apply(maker, block));
});

test('the balance before the block must cover all transactions of a sender', (t) => {
  const { maker, next, forger } = setUpBlock();
  const half = 5000n * LSK;
  const block = withPayload(next, forger, [maker.transfer(alice, bob, half), maker.transfer(alice, bob, half + 1n)]);
  refused(t, 'BLOCK_TRANSACTION_INVALID', /not have enough LSK for total spending/, apply(maker, block));
});

test('transactions must be valid one after another', (t) => {
  const { maker, next, forger } = setUpBlock();
  const register = (sender: KeyPair) => maker.transaction(sender, { kind: 'delegate', username: 'twice' });
  const block = withPayload(next, forger, [register(alice), register(bob)]);
  refused(t, 'BLOCK_TRANSACTION_INVALID', /Username is not unique/, apply(maker, block));
});

test('a group without enough signatures cannot spend in a block', (t) => {
  const { maker } = setUpBlock();
  const keysgroup = [`+${publicKeyOf(bob)}`];
  maker.forge({
    transactions: [
      maker.transaction(alice, { kind: 'multisignature', min: 1, lifetime: 1, keysgroup }, { members: [bob] }),
    ],
  });
  const unsigned = withPayload(maker.build(), maker.nextSlot().keyPair, [maker.transfer(alice, bob, LSK)]);
  refused(t, 'BLOCK_TRANSACTION_INVALID', /Missing signatures/, apply(maker, unsigned));
});

test('a transaction of a later slot is refused', (t) => {
  const { maker, next, forger } = setUpBlock();
  const late = maker.transfer(alice, bob, LSK, { timestamp: next.timestamp + SLOT_S });
  refused(
    t,
    'BLOCK_TRANSACTION_INVALID',
    /Timestamp is in the future/,
    apply(maker, withPayload(next, forger, [late])),
  );
  t.notThrows(apply(maker, withPayload(next, forger, [late]), next.timestamp + SLOT_S));
});

test('inert transactions are counted and change nothing', (t) => {
  const { maker, next, forger } = setUpBlock();
  const impossible = maker.transfer(keyPairOf('poor'), bob, LSK);
  const exceptions = { ...NO_EXCEPTIONS, inertTransactions: new Set([impossible.id]) };
  const lenient = new ChainMaker({ ...network, params: { ...network.params, exceptions } });
  lenient.growTo(10);
  const overlay = new StateOverlay(lenient.state);
  const block = withPayload(next, forger, [impossible]);
  t.notThrows(() => lenient.rules.applyBlock(overlay, block, { nowS: block.timestamp, verify }));
  const changed = [...overlay.changes().accounts.keys()];
  t.is(changed.length, 1, 'only the forger');
});

test("heights too large for the reference's column are refused without a penalty for the relaying peer", (t) => {
  const { maker, next, forger } = setUpBlock();
  const reward = next.reward / 4n;
  for (const height of [2 ** 31, 2 ** 32 - 1]) {
    const block = signBlock(next, { maxHeightPreviouslyForged: height, reward }, forger);
    t.notThrows(validate(maker, block));
    refused(t, 'BLOCK_UNSTORABLE', `value "${height}" is out of range for type integer`, apply(maker, block));
    t.is(pointsOf('BLOCK_UNSTORABLE'), 0);
  }
  t.notThrows(apply(maker, signBlock(next, { maxHeightPreviouslyForged: 2 ** 31 - 1, reward }, forger)));
});

test('when the next block has several faults, the fault that the reference reports is reported', (t) => {
  const { maker, next, forger } = setUpBlock();
  const transactions = next.transactions.map((each) => ({ ...each, signature: '00'.repeat(64) }));
  const wrong = signBlock(withPayload(next, forger, transactions), { totalFee: 1n, reward: 1n, timestamp: 0 }, forger);
  const validateAndApply =
    (block: Block): (() => void) =>
    () => {
      maker.rules.validateBlock(block, verify, { state: maker.state, nowS: block.timestamp });
      apply(maker, block)();
    };
  refused(t, 'BLOCK_REWARD_INVALID', /^Invalid block reward: 1/, validateAndApply(wrong));
  const rewarded = signBlock(wrong, { reward: next.reward }, forger);
  refused(t, 'BLOCK_TRANSACTION_INVALID', /Failed to validate signature/, validateAndApply(rewarded));
  const valid = signBlock(withPayload(rewarded, forger, next.transactions), { totalFee: 1n }, forger);
  refused(t, 'BLOCK_PAYLOAD_INVALID', 'Invalid total fee', validateAndApply(valid));
  const paid = withPayload(valid, forger, next.transactions);
  refused(t, 'BLOCK_TIMESTAMP_INVALID', 'Invalid block timestamp', validateAndApply(paid));
});

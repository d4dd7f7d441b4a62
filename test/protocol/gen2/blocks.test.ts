import test, { type ExecutionContext } from 'ava';
import { withId } from '../../../src/protocol/gen2/transaction-bytes.ts';
import { NO_EXCEPTIONS } from '../../../src/protocol/params.ts';
import { StateOverlay } from '../../../src/protocol/state.ts';
import type { Block, KeyPair, Transaction } from '../../../src/protocol/types.ts';
import { BlockRejected, type BlockRejectionCode } from '../../../src/protocol/verdict.ts';
import {
  ChainMaker,
  LSK,
  addressOfPair,
  keyPairOf,
  makeNetwork,
  publicKeyOf,
  signBlock,
  verify,
  withPayload,
  type TestNetwork,
} from '../../support/chain-maker.ts';

const network = makeNetwork({ generation: 2, rewards: { milestones: [700n], offset: 5, distance: 1000 } });
const [alice, bob, carol] = network.accounts as [KeyPair, KeyPair, KeyPair];
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
  t.throws(work, { instanceOf: BlockRejected, code, message });
}

const validate = (maker: ChainMaker, block: Block) => () => {
  maker.rules.validateBlock(block, verify);
};

const apply =
  (maker: ChainMaker, block: Block, nowS = block.timestamp) =>
  () => {
    maker.rules.applyBlock(new StateOverlay(maker.state), block, { nowS, verify });
  };

test('a forged block is valid and can be applied, at any later time', (t) => {
  const { maker, next } = setUpBlock();
  t.is(next.version, 1);
  t.is(next.transactions.length, 2);
  t.is(maker.rules.blockSignatureChecks(next).length, 3);
  t.true(maker.rules.blockSignatureChecks(next).every(verify));
  t.notThrows(validate(maker, next));
  t.notThrows(apply(maker, next));
  t.notThrows(apply(maker, next, next.timestamp + 1_000_000));
});

test('all faults of a block are reported, the last found first', (t) => {
  const { maker, next } = setUpBlock();
  const { previousBlockId: _, ...orphan } = next;
  const worst: Block = {
    ...orphan,
    version: 0,
    reward: 5n,
    payloadLength: 1_048_577,
    numberOfTransactions: 3,
    totalFee: 1n,
  };
  refused(
    t,
    'BLOCK_PAYLOAD_INVALID',
    'Invalid total fee; Included transactions do not match block transactions count; Payload length is too long; ' +
      'Invalid block reward: 5 expected: 700; Invalid block version; Invalid previous block; ' +
      'Failed to verify block signature',
    validate(maker, worst),
  );
});

test('an impossible slot is reported before the other faults of the next block, and together with them', (t) => {
  const { maker, next, forger } = setUpBlock();
  const nowS = next.timestamp;
  const place = (atS: number) => ({ state: maker.state, nowS: atS });
  const validateAt =
    (block: Block, atS = nowS): (() => void) =>
    () => {
      maker.rules.validateBlock(block, verify, place(atS));
    };
  const late = signBlock(next, { timestamp: 0, totalFee: 1n }, forger);
  refused(t, 'BLOCK_PAYLOAD_INVALID', 'Invalid block timestamp; Invalid total fee', validateAt(late));
  const early = signBlock(next, { totalFee: 1n }, forger);
  refused(t, 'BLOCK_PAYLOAD_INVALID', 'Invalid block timestamp; Invalid total fee', validateAt(early, nowS - SLOT_S));
  refused(t, 'BLOCK_PAYLOAD_INVALID', 'Invalid total fee', validateAt(early));
  const onlyLate = signBlock(next, { timestamp: 0 }, forger);
  t.notThrows(validateAt(onlyLate));
  refused(t, 'BLOCK_TIMESTAMP_INVALID', 'Invalid block timestamp', apply(maker, onlyLate));
});

test('a confirmed transaction is reported before the owner of the slot', (t) => {
  const { maker, next } = setUpBlock();
  maker.apply(next);
  const { keyPair } = maker.nextSlot();
  const [other] = network.delegates.filter((pair) => publicKeyOf(pair) !== publicKeyOf(keyPair));
  const again = maker.build({ transactions: [] });
  const foreign = withPayload(
    { ...again, generatorPublicKey: publicKeyOf(other ?? keyPair) },
    other ?? keyPair,
    next.transactions,
  );
  refused(t, 'BLOCK_TRANSACTION_INVALID', /already confirmed/, apply(maker, foreign));
});

test('each single fault of a header is found', (t) => {
  const { maker, next, forger } = setUpBlock();
  const { previousBlockId: _, ...orphan } = next;
  const { previousBlockId: __, ...unnamed } = signBlock(orphan, {}, forger);
  refused(t, 'BLOCK_SIGNATURE_INVALID', 'Failed to verify block signature', validate(maker, { ...next, timestamp: 1 }));
  refused(t, 'BLOCK_PREVIOUS_INVALID', 'Invalid previous block', validate(maker, unnamed));
  const old = signBlock(next, { version: 0 }, forger);
  refused(t, 'BLOCK_VERSION_INVALID', 'Invalid block version', validate(maker, old));
  const greedy = signBlock(next, { reward: 701n }, forger);
  refused(t, 'BLOCK_REWARD_INVALID', 'Invalid block reward: 701 expected: 700', validate(maker, greedy));
});

test('each single fault of a payload is found', (t) => {
  const { maker, next, forger } = setUpBlock();
  const [first] = next.transactions as [Transaction];
  const check = (changes: Partial<Block>, message: string): void => {
    refused(t, 'BLOCK_PAYLOAD_INVALID', message, validate(maker, signBlock(next, changes, forger)));
  };
  check({ payloadLength: 1_048_577 }, 'Payload length is too long');
  check({ numberOfTransactions: 1 }, 'Included transactions do not match block transactions count');
  check({ payloadHash: '00'.repeat(32) }, 'Invalid payload hash');
  check({ totalAmount: 1n }, 'Invalid total amount');
  check({ totalFee: 1n }, 'Invalid total fee');
  const twice = withPayload(next, forger, [first, first]);
  refused(t, 'BLOCK_PAYLOAD_INVALID', `Encountered duplicate transaction: ${first.id}`, validate(maker, twice));
  const many = Array.from({ length: 26 }, (_, index) => maker.transfer(alice, bob, BigInt(index + 1)));
  const overfull = withPayload(next, forger, many);
  refused(t, 'BLOCK_PAYLOAD_INVALID', 'Number of transactions exceeds maximum per block', validate(maker, overfull));
});

test('a wrong declared length of a payload is accepted up to the limit', (t) => {
  const { maker, next, forger } = setUpBlock();
  const odd = signBlock(next, { payloadLength: 1_048_576 }, forger);
  t.notThrows(validate(maker, odd));
  t.notThrows(apply(maker, odd));
});

test('a block with an invalid transaction is refused for the transaction first', (t) => {
  const { maker, next, forger } = setUpBlock();
  const [first, other] = next.transactions as [Transaction, Transaction];
  const cases: readonly (readonly [Transaction, string])[] = [
    [{ ...first, signature: other.signature }, `Failed to validate signature ${other.signature}`],
    [{ ...first, id: '5' }, 'Invalid transaction id'],
    [{ ...first, fee: 5n }, 'Invalid fee'],
  ];
  for (const [transaction, message] of cases) {
    const block = { ...withPayload(next, forger, [transaction, other]), version: 0 };
    const error = t.throws(validate(maker, block), { instanceOf: BlockRejected, code: 'BLOCK_TRANSACTION_INVALID' });
    t.is(error?.transactionErrors[0]?.message, message);
  }
  const group = maker.transaction(alice, {
    kind: 'multisignature',
    min: 1,
    lifetime: 1,
    keysgroup: [`+${publicKeyOf(bob)}`],
  });
  const cheap = withPayload(next, forger, [withId({ ...group, fee: 5n })]);
  const error = t.throws(validate(maker, cheap), { instanceOf: BlockRejected });
  t.is(error?.transactionErrors[0]?.message, 'Fee must be equal to 1000000000');
});

test('a block that does not follow the tip is refused with both ids', (t) => {
  const { maker, next, forger } = setUpBlock();
  const tipId = maker.tip.id;
  const stray = signBlock(next, { previousBlockId: '77' }, forger);
  refused(t, 'BLOCK_PREVIOUS_INVALID', `Invalid previous block: 77 expected: ${tipId}`, apply(maker, stray));
  const high = { ...next, height: 13 };
  refused(t, 'BLOCK_PREVIOUS_INVALID', `Invalid previous block: ${tipId} expected: undefined`, apply(maker, high));
  refused(t, 'BLOCK_KNOWN', `Block ${tipId} already exists`, apply(maker, maker.tip));
});

test('a block must be in a later slot than its parent and not in the future', (t) => {
  const { maker, next, forger } = setUpBlock();
  const message = 'Invalid block timestamp';
  const early = signBlock(next, { timestamp: maker.tip.timestamp + SLOT_S - 1 }, forger);
  refused(t, 'BLOCK_TIMESTAMP_INVALID', message, apply(maker, early));
  refused(t, 'BLOCK_TIMESTAMP_INVALID', message, apply(maker, next, next.timestamp - 1));
  t.notThrows(apply(maker, signBlock(next, { timestamp: next.timestamp + SLOT_S - 1 }, forger)));
});

test('only the owner of the slot may forge it', (t) => {
  const { maker, next } = setUpBlock();
  const slot = next.timestamp / SLOT_S;
  const stolen = signBlock(next, {}, alice);
  refused(t, 'BLOCK_FORGER_INVALID', `Failed to verify slot: ${slot}`, apply(maker, stolen));
});

test('confirmed transactions are refused, and so are those that are invalid against the state', (t) => {
  const { maker, next } = setUpBlock();
  const [first] = next.transactions as [Transaction];
  maker.apply(next);
  const again = withPayload(maker.build(), maker.nextSlot().keyPair, [first]);
  refused(t, 'BLOCK_TRANSACTION_INVALID', /Transaction is already confirmed/, apply(maker, again));
  const rich = maker.transfer(alice, bob, 1_000_000n * LSK);
  const poor = withPayload(maker.build(), maker.nextSlot().keyPair, [rich]);
  refused(t, 'BLOCK_TRANSACTION_INVALID', /Account does not have enough LSK/, apply(maker, poor));
});

test('coins received in a block cannot be spent in it, and all spending must fit the balance before it', (t) => {
  const { maker, next, forger } = setUpBlock();
  const stranger = keyPairOf('stranger');
  const funded = withPayload(next, forger, [
    maker.transfer(alice, stranger, 100n * LSK),
    maker.transfer(stranger, bob, LSK),
  ]);
  refused(t, 'BLOCK_TRANSACTION_INVALID', /Account does not have enough LSK/, apply(maker, funded));
  const half = 5_000n * LSK;
  const twice = withPayload(next, forger, [maker.transfer(alice, bob, half), maker.transfer(alice, carol, half)]);
  refused(t, 'BLOCK_TRANSACTION_INVALID', /not have enough LSK for total spending/, apply(maker, twice));
});

test('a vote with an unrelated recipient makes the block invalid', (t) => {
  const { maker, next, forger } = setUpBlock();
  const [delegate] = network.delegates as [KeyPair];
  const votes = [`+${publicKeyOf(delegate)}`];
  const voteFor = (recipient: KeyPair): Transaction =>
    maker.transaction(alice, { kind: 'vote', votes, amount: 0n, recipientId: addressOfPair(recipient) });
  t.notThrows(apply(maker, withPayload(next, forger, [voteFor(alice)])));
  t.notThrows(apply(maker, withPayload(next, forger, [voteFor(delegate)])));
  const stranger = withPayload(next, forger, [voteFor(bob)]);
  refused(t, 'BLOCK_TRANSACTION_INVALID', /concerns the recipient of the vote/, apply(maker, stranger));
  const concerned = withPayload(next, forger, [voteFor(bob), maker.transfer(carol, bob, LSK)]);
  t.notThrows(apply(maker, concerned));
  // A transaction may create an account. The transactions after it in the same block see this account, but the
  // transactions before it do not.
  const nobody = keyPairOf('nobody yet');
  const created = [maker.transfer(carol, nobody, LSK), voteFor(nobody)];
  t.notThrows(apply(maker, withPayload(next, forger, created)));
  refused(
    t,
    'BLOCK_TRANSACTION_INVALID',
    /recipient of the vote/,
    apply(maker, withPayload(next, forger, [...created].reverse())),
  );
});

test('an older block version is accepted in its range only, and an excepted reward is accepted', (t) => {
  const blockVersions = new Map([[0, { start: 1, end: 11 }]]);
  const maker = new ChainMaker(makeNetwork({ generation: 2, exceptions: { ...NO_EXCEPTIONS, blockVersions } }));
  const { next, forger } = setUpBlock();
  t.throws(() => maker.build(), { code: 'FORGE_REFUSED' });
  const old = signBlock(next, { version: 0, height: 11, reward: 0n }, forger);
  t.notThrows(validate(maker, old));
  refused(t, 'BLOCK_VERSION_INVALID', 'Invalid block version', validate(maker, { ...old, height: 12 }));

  const greedy = signBlock(next, { reward: 701n }, forger);
  const exceptions = { ...NO_EXCEPTIONS, blockRewards: new Set([greedy.id]) };
  const lenient = new ChainMaker({ ...network, params: { ...network.params, exceptions } });
  t.notThrows(validate(lenient, greedy));
});

import test from 'ava';
import type { SignedHeader } from '../../../src/protocol/rules.ts';
import type { KeyPair, Transaction } from '../../../src/protocol/types.ts';
import {
  ChainMaker,
  LSK,
  addressOfPair,
  keyPairOf,
  makeNetwork,
  publicKeyOf,
  verify,
} from '../../support/chain-maker.ts';

const network = makeNetwork({ generation: 2 });
const [alice, bob, carol] = network.accounts as [KeyPair, KeyPair, KeyPair];
const [delegate] = network.delegates as [KeyPair];
const SLOT_S = network.params.blockTimeS;

function signed(maker: ChainMaker, changes: Partial<SignedHeader> = {}): SignedHeader {
  const { slot } = maker.nextSlot();
  return {
    blockId: '1',
    height: maker.tip.height + 7,
    timestamp: (slot - 101) * SLOT_S,
    maxHeightPrevoted: 0,
    maxHeightPreviouslyForged: 0,
    ...changes,
  };
}

test('a forged block starts its slot, follows the tip, and its totals match its content', (t) => {
  const maker = new ChainMaker(network);
  maker.growTo(5);
  const payment = maker.transfer(alice, bob, LSK);
  const block = maker.build({ transactions: [payment, payment] });
  t.is(block.version, 1);
  t.is(block.height, 6);
  t.is(block.previousBlockId, maker.tip.id);
  t.is(block.timestamp % SLOT_S, 0);
  t.deepEqual(block.transactions, [payment]);
  t.is(block.totalAmount, LSK);
  t.is(block.totalFee, 10_000_000n);
  t.is(block.payloadLength, 117);
  t.is(block.maxHeightPrevoted, 0);
  maker.apply(block);
  t.is(maker.tip.id, block.id);
});

test('a delegate signs one block per slot, one per height, and none for a slot before its last', (t) => {
  const maker = new ChainMaker(network);
  maker.growTo(5);
  const { slot } = maker.nextSlot();
  const code = 'FORGING_CONTRADICTS';
  t.throws(() => maker.build({ previouslyForged: signed(maker, { timestamp: slot * SLOT_S }) }), { code });
  t.throws(() => maker.build({ previouslyForged: signed(maker, { timestamp: (slot + 3) * SLOT_S }) }), { code });
  t.throws(() => maker.build({ previouslyForged: signed(maker, { height: 6 }) }), { code });
  t.notThrows(() => maker.build({ previouslyForged: signed(maker) }));
  t.notThrows(() => maker.build({ previouslyForged: signed(maker, { height: 2 }) }));
});

test('two headers of a delegate conflict when they share a slot or a height', (t) => {
  const { rules } = new ChainMaker(network);
  const earlier = { blockId: '1', height: 10, timestamp: 100, maxHeightPrevoted: 0, maxHeightPreviouslyForged: 0 };
  const later = { ...earlier, blockId: '2', height: 11, timestamp: 200 };
  t.is(rules.contradiction(earlier, later), undefined);
  t.is(rules.contradiction(later, earlier), undefined);
  t.is(rules.contradiction(earlier, { ...later, height: 9 }), undefined);
  t.is(rules.contradiction(earlier, earlier), undefined);
  t.regex(rules.contradiction(earlier, { ...later, timestamp: 101 }) ?? '', /slot 50/);
  t.regex(rules.contradiction({ ...later, height: 10 }, earlier) ?? '', /height 10/);
});

test('a delegate forges in its own slot only', (t) => {
  const maker = new ChainMaker(network);
  const { slot } = maker.nextSlot();
  const request = { keyPair: alice, timestamp: slot * SLOT_S, transactions: [], previouslyForged: undefined };
  t.throws(() => maker.rules.forge(maker.state, maker.tip, request), { code: 'FORGER_NOT_IN_TURN' });
});

test('transactions that would make the block invalid are left out', (t) => {
  const maker = new ChainMaker(network);
  const stranger = keyPairOf('stranger');
  const votes = [`+${publicKeyOf(delegate)}`];
  const vote = (sender: KeyPair, recipient: KeyPair): Transaction =>
    maker.transaction(sender, { kind: 'vote', votes, amount: 0n, recipientId: addressOfPair(recipient) });
  const good = [maker.transfer(alice, stranger, LSK), vote(bob, bob)];
  const bad = [maker.transfer(stranger, alice, 1n), vote(carol, alice), vote(carol, keyPairOf('x'))];
  const candidates = [...bad, ...good];
  const context = { blockHeight: 2, blockVersion: 1, blockTimestamp: 10 };
  const selected = maker.rules.selectTransactions(maker.state, candidates, context, verify);
  t.deepEqual(selected, good);
  t.deepEqual(maker.build({ transactions: candidates }).transactions, good);
});

test('a vote with an unrelated recipient is valid, but leaves the pool when a block is prepared', (t) => {
  const maker = new ChainMaker(network);
  const payload = { kind: 'vote', votes: [`+${publicKeyOf(delegate)}`], amount: 0n } as const;
  const odd = maker.transaction(alice, { ...payload, recipientId: addressOfPair(bob) });
  t.is(maker.rules.verifyTransaction(maker.state, odd, 1000, verify).status, 'ok');
  const [verdict] = maker.rules.processTransactions(maker.state, [odd], verify);
  t.is(verdict?.status, 'fail');
  const own = maker.transaction(alice, payload);
  t.is(maker.rules.processTransactions(maker.state, [own], verify)[0]?.status, 'ok');
});

test('a block orders groups last, then by type, then by amount', (t) => {
  const maker = new ChainMaker(network);
  const members = [bob, carol];
  const keysgroup = members.map((member) => `+${publicKeyOf(member)}`);
  const group = maker.transaction(alice, { kind: 'multisignature', min: 1, lifetime: 1, keysgroup }, { members });
  const [dave, erin] = network.accounts.slice(3) as [KeyPair, KeyPair];
  const second = maker.transaction(dave, { kind: 'secondSignature', publicKey: publicKeyOf(alice) });
  const large = maker.transfer(bob, alice, 3n);
  const small = maker.transfer(carol, alice, 2n);
  const name = maker.transaction(erin, { kind: 'delegate', username: 'erin' });
  const selected = maker.rules.selectTransactions(maker.state, [group, name, large, second, small], {}, verify);
  t.deepEqual(selected, [small, large, second, name, group]);
  t.true(maker.rules.hasUniqueData(name));
  t.false(maker.rules.hasUniqueData(second));
});

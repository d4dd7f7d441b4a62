import test from 'ava';
import { selectEd25519 } from '../../../src/crypto/ed25519.ts';
import { createGen3Rules } from '../../../src/protocol/gen3/rules.ts';
import type { ForgeRequest, SignedHeader } from '../../../src/protocol/rules.ts';
import type { Block, KeyPair } from '../../../src/protocol/types.ts';
import { BlockRejected } from '../../../src/protocol/verdict.ts';
import { ChainMaker, LSK, keyPairOf, makeNetwork, publicKeyOf, signBlock } from '../../support/chain-maker.ts';

const network = makeNetwork({ rewards: { milestones: [400n], offset: 1, distance: 1000 } });
const [alice, bob, carol] = network.accounts as [KeyPair, KeyPair, KeyPair];

const signed = (changes: Partial<SignedHeader>): SignedHeader => ({
  blockId: 'elsewhere',
  height: 1,
  timestamp: 0,
  maxHeightPrevoted: 0,
  maxHeightPreviouslyForged: 0,
  ...changes,
});

function grown(height: number): ChainMaker {
  const maker = new ChainMaker(network);
  maker.growTo(height);
  return maker;
}

function requestFor(maker: ChainMaker, changes: Partial<ForgeRequest> = {}): ForgeRequest {
  const { slot, keyPair } = maker.nextSlot();
  const timestamp = slot * network.params.blockTimeS;
  return { keyPair, timestamp, transactions: [], previouslyForged: undefined, ...changes };
}

test('a forged block starts its slot, follows the tip, and its totals match its content', (t) => {
  const maker = grown(4);
  const transfer = maker.transfer(alice, bob, 7n * LSK);
  const vote = { kind: 'vote', votes: [`+${publicKeyOf(network.delegates[0] as KeyPair)}`], amount: 0n } as const;
  const block = maker.build({ transactions: [transfer, maker.transaction(bob, vote)] });
  t.is(block.version, 2);
  t.is(block.height, 5);
  t.is(block.previousBlockId, maker.tip.id);
  t.is(block.timestamp, maker.tip.timestamp + network.params.blockTimeS);
  t.is(block.numberOfTransactions, 2);
  t.is(block.totalAmount, 7n * LSK);
  t.is(block.totalFee, 110_000_000n);
  t.is(block.reward, 400n);
  t.is(block.payloadLength, 117 + 166);
  t.is(block.maxHeightPreviouslyForged, 0);
  t.deepEqual(maker.rules.codec.blockFromJson(JSON.parse(JSON.stringify(maker.rules.codec.blockToJson(block)))), block);
});

test('a header contains the greatest height in the journal, and the prevoted height of the chain', (t) => {
  const maker = grown(250);
  const prevoted = maker.rules.maxHeightPrevoted(maker.state);
  t.true(prevoted > 100);
  const own = maker.build();
  t.is(own.maxHeightPrevoted, prevoted);
  const header = maker.state.header(own.maxHeightPreviouslyForged);
  t.is(header?.generatorPublicKey, own.generatorPublicKey);
  // The last header that the delegate signed has height 240 and a `maxHeightPreviouslyForged` of 260. The delegate has
  // therefore signed a block at height 260 of another chain before. The next header must have a
  // `maxHeightPreviouslyForged` of at least 260.
  const moved = signed({ height: 240, maxHeightPreviouslyForged: 260, maxHeightPrevoted: prevoted - 1 });
  t.is(maker.build({ previouslyForged: moved }).maxHeightPreviouslyForged, 260);
});

test("a delegate that names another delegate's block gets a quarter of the reward", (t) => {
  const maker = grown(20);
  const block = maker.build({ previouslyForged: signed({ height: 20 }) });
  t.is(block.maxHeightPreviouslyForged, 20);
  t.is(block.reward, 100n);
  const greedy = signBlock(block, { reward: 400n }, maker.nextSlot().keyPair);
  t.throws(
    () => {
      maker.apply(greedy);
    },
    { instanceOf: BlockRejected, message: 'Invalid block reward: 400 expected: 100' },
  );
  t.notThrows(() => {
    maker.apply(block);
  });
});

test('transactions that would make the block invalid are left out', (t) => {
  const maker = grown(3);
  const done = maker.transfer(alice, bob, 5n);
  maker.forge({ transactions: [done] });
  const poor = keyPairOf('poor');
  const good = maker.transfer(alice, poor, LSK);
  const fits = maker.transfer(bob, carol, 9_999n * LSK);
  const register = (sender: KeyPair) => maker.transaction(sender, { kind: 'delegate', username: 'only_one' });
  const first = register(carol);
  const block = maker.forge({
    transactions: [
      done,
      good,
      good,
      maker.transfer(poor, alice, 1n),
      fits,
      maker.transfer(bob, carol, LSK),
      maker.transfer(alice, bob, LSK, { timestamp: maker.tip.timestamp + 1000 }),
      first,
      register(alice),
    ],
  });
  t.deepEqual(
    block.transactions.map(({ id }) => id),
    [good.id, fits.id, first.id],
  );
});

test('a forger takes at most as many transactions as fit into a block', (t) => {
  const maker = grown(2);
  const transactions = Array.from({ length: 30 }, (_, index) => maker.transfer(alice, bob, BigInt(index + 1)));
  t.is(maker.forge({ transactions }).transactions.length, 25);
});

test('nothing is signed when the header would contradict the journal', (t) => {
  const maker = grown(20);
  const ed25519 = selectEd25519();
  let signatures = 0;
  const counting = {
    ...ed25519,
    sign: (message: Uint8Array, privateKey: Uint8Array) => {
      signatures += 1;
      return ed25519.sign(message, privateKey);
    },
  };
  const rules = createGen3Rules(network.params, { ed25519: counting });
  const forge = (previouslyForged: SignedHeader) =>
    rules.forge(maker.state, maker.tip, requestFor(maker, { previouslyForged }));
  const code = 'FORGING_CONTRADICTS';
  t.throws(() => forge(signed({ height: 21 })), { code, message: /Violation of fork choice rule/ });
  t.throws(() => forge(signed({ height: 30 })), { code, message: /Violation of fork choice rule/ });
  t.throws(() => forge(signed({ height: 12, maxHeightPrevoted: 3 })), { code, message: /branch with largest/ });
  // The last signed header and the new header have the same `maxHeightPreviouslyForged` (40). The new header has a
  // lower `maxHeightPrevoted` or a lower height, so LIP 0014 takes the new header for the earlier one. LIP 0014 alone
  // would therefore permit the new header.
  const sameNamed = { maxHeightPreviouslyForged: 40, maxHeightPrevoted: 3 };
  t.throws(() => forge(signed({ height: 15, ...sameNamed })), { code, message: /block 15 of a better branch/ });
  t.throws(() => forge(signed({ height: 30, ...sameNamed, maxHeightPrevoted: 0 })), { code, message: /better branch/ });
  const { timestamp } = requestFor(maker);
  // A block of this slot that a switch to another branch has removed. LIP 0014 alone would permit the second block.
  t.throws(() => forge(signed({ height: 20, timestamp })), { code, message: /a block for slot \d+ already/ });
  t.is(signatures, 0);
  t.is(forge(signed({ height: 20, timestamp: timestamp - network.params.blockTimeS })).height, 21);
  t.is(signatures, 1);
});

test('without its journal a delegate does not contradict its blocks on the chain', (t) => {
  const maker = grown(150);
  t.throws(() => maker.rules.forge(maker.state, maker.tip, requestFor(maker)), { code: 'FORGING_CONTRADICTS' });
});

test('a delegate forges in its own slot only, and only when the slot is free', (t) => {
  const maker = grown(10);
  const { keyPair } = maker.nextSlot();
  const other = network.delegates.find((each) => publicKeyOf(each) !== publicKeyOf(keyPair)) as KeyPair;
  const forge = (changes: Partial<ForgeRequest>): Block =>
    maker.rules.forge(maker.state, maker.tip, requestFor(maker, changes));
  t.throws(() => forge({ keyPair: other }), { code: 'FORGER_NOT_IN_TURN' });
  t.throws(() => forge({ timestamp: maker.tip.timestamp }), { code: 'FORGER_SLOT_TAKEN' });
  const below = maker.state.header(9);
  t.truthy(below);
  if (below === undefined) return;
  t.throws(() => maker.rules.forge(maker.state, below, requestFor(maker)), { code: 'FORGE_REFUSED' });
});

// Only 101 of these 102 delegates can be active. All weights are equal, so the public keys decide which delegate is not
// active. The function `leaving` makes this delegate active with a vote, so that another delegate leaves the list of
// active delegates.
const crowded = makeNetwork({ delegates: 102 });

/**
 * Returns a chain whose next block is the last block of round 3. After `missedSlots` missed slots, the slot owner is
 * the delegate `leaver`, which is not active in round 4.
 */
function leaving(refuseLeavingForgers: boolean): { maker: ChainMaker; missedSlots: number; leaver: string } {
  const maker = new ChainMaker(crowded, { refuseLeavingForgers });
  const first = maker.state.roundList(1) ?? [];
  const outsider = crowded.delegates.map(publicKeyOf).find((key) => !first.includes(key));
  const vote = { kind: 'vote', votes: [`+${String(outsider)}`], amount: 0n } as const;
  maker.forge({ transactions: [maker.transaction(crowded.accounts[0] as KeyPair, vote)] });
  maker.growTo(302);
  const second = maker.state.roundList(2) ?? [];
  const leaver = first.find((key) => !second.includes(key)) ?? '';
  let missedSlots = 0;
  while (publicKeyOf(maker.nextSlot(missedSlots).keyPair) !== leaver) missedSlots += 1;
  return { maker, missedSlots, leaver };
}

test('the last block of a round is neither forged nor accepted when its generator leaves', (t) => {
  const { maker, missedSlots, leaver } = leaving(true);
  t.throws(() => maker.build({ missedSlots }), { code: 'FORGER_LEAVES' });
  const lenient = leaving(false);
  t.is(lenient.leaver, leaver);
  const block = lenient.maker.build({ missedSlots });
  t.is(block.generatorPublicKey, leaver);
  t.is(block.height, 303);
  t.throws(
    () => {
      maker.apply(block);
    },
    { instanceOf: BlockRejected, code: 'BLOCK_FORGER_LEAVES' },
  );
  t.is(maker.tip.height, 302);
  // On this chain, a delegate can forge the last block of a round only if the delegate is also active in the following
  // round. The owner of the next slot is active in rounds 3 and 4, so this delegate can forge the last block of round
  // 3.
  t.is(maker.forge({ missedSlots: missedSlots + 1 }).height, 303);
});

test('networks that decide by the round of the block accept it', (t) => {
  const { maker, missedSlots } = leaving(false);
  const before = maker.rules.maxHeightPrevoted(maker.state);
  t.is(maker.forge({ missedSlots }).height, 303);
  t.true(maker.rules.maxHeightPrevoted(maker.state) >= before);
  t.is(maker.growTo(310).height, 310);
});

test('two headers of a delegate are compared unless they are the same block', (t) => {
  const { rules } = new ChainMaker(network);
  const one = signed({ blockId: '1', height: 10, maxHeightPreviouslyForged: 5, maxHeightPrevoted: 2 });
  t.is(rules.contradiction(one, { ...one }), undefined);
  t.regex(String(rules.contradiction(one, { ...one, blockId: '2' })), /^Violation of fork choice rule/);
  t.is(rules.contradiction(one, { ...one, blockId: '2', height: 11, maxHeightPreviouslyForged: 10 }), undefined);
});

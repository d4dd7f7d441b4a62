/** Tests how many signature checks a received block costs, and which other work waits for the block. */

import test from 'ava';

import { selectEd25519 } from '../../../src/crypto/ed25519.ts';
import { BlockImporter } from '../../../src/engine/block-importer.ts';
import { Chain } from '../../../src/engine/chain.ts';
import { SlotHistory } from '../../../src/engine/slot-history.ts';
import { SILENT, type LogFields, type LogLevel, type Observer } from '../../../src/ports/observer.ts';
import { slotAt } from '../../../src/protocol/slots.ts';
import { BlockRejected } from '../../../src/protocol/verdict.ts';
import type { Verifier } from '../../../src/ports/verifier.ts';
import type { Block, KeyPair, Transaction } from '../../../src/protocol/types.ts';
import { createInlineVerifier } from '../../../src/workers/inline-verifier.ts';
import { ChainMaker, keyPairOf, makeNetwork, publicKeyOf, signBlock, withPayload } from '../../support/chain-maker.ts';
import { forkOf, grown, LoneChain } from './lone-chain.ts';

/** A chain that counts its signature checks. A test can delay the results of `verifyAll`. */
async function countingChain(
  maker: ChainMaker,
  timestamp: number,
  logged: (code: string, level: LogLevel, fields?: LogFields) => unknown = () => undefined,
) {
  const lone = await LoneChain.with(maker);
  const inner = createInlineVerifier(selectEd25519(), 10_000);
  const costs = { single: 0, together: 0, computedAlone: 0 };
  const held: (() => void)[] = [];
  let isHolding = false;
  const verifier: Verifier = {
    ...inner,
    verify: (check) => {
      costs.single += 1;
      const beforeMs = inner.spentMs;
      const answer = inner.verify(check);
      if (inner.spentMs > beforeMs) costs.computedAlone += 1;
      return answer;
    },
    verifyAll: async (checks) => {
      costs.together += checks.length;
      if (isHolding) await new Promise<void>((go) => held.push(go));
      return inner.verifyAll(checks);
    },
  };
  const time = { nowMs: maker.network.params.epochMs + timestamp * 1000 };
  const clock = { nowMs: () => time.nowMs, after: () => ({ cancel: () => {} }) };
  const observer: Observer = { ...SILENT, log: (level, code, _message, fields) => void logged(code, level, fields) };
  const chain = new Chain({ store: lone.store, rules: maker.rules, verifier, clock, observer });
  return {
    chain,
    time,
    importer: new BlockImporter({ chain, clock, observer }),
    costs,
    hold: () => {
      isHolding = true;
    },
    letGo: () => {
      isHolding = false;
      for (const go of held.splice(0)) go();
    },
  };
}

async function outcomeOf(importer: BlockImporter, block: Block): Promise<string> {
  const outcome = await importer.import(block);
  return outcome.kind === 'refused' ? outcome.rejection.code : outcome.kind;
}

function ownerOf(maker: ChainMaker, block: Block): KeyPair {
  return maker.network.delegates.find((keyPair) => publicKeyOf(keyPair) === block.generatorPublicKey)!;
}

/** Makes a chain of four blocks, and a fifth block with three transfers. */
function fullBlock() {
  const maker = new ChainMaker();
  grown(maker, 3);
  const [rich, poor] = maker.network.accounts as [KeyPair, KeyPair];
  const transactions = [1n, 2n, 3n].map((amount) => maker.transfer(rich, poor, amount));
  return { maker, block: maker.build({ transactions }) };
}

test('no transaction is checked in a block of a delegate that does not own the slot, or with a wrong signature', async (t) => {
  const { maker, block } = fullBlock();
  const { importer, costs } = await countingChain(maker, block.timestamp);
  t.is(await outcomeOf(importer, signBlock(block, {}, keyPairOf('stranger'))), 'BLOCK_FORGER_INVALID');
  const stolen = { ...block, generatorPublicKey: publicKeyOf(keyPairOf('stranger')) };
  t.is(await outcomeOf(importer, stolen), 'BLOCK_SIGNATURE_INVALID');
  t.deepEqual(costs, { single: 2, together: 0, computedAlone: 2 });
  t.is(await outcomeOf(importer, block), 'applied');
  t.is(costs.together, 4);
});

test("no transaction is checked under an honest delegate's header with other transactions", async (t) => {
  const { maker, block } = fullBlock();
  const { importer, costs } = await countingChain(maker, block.timestamp);
  const [rich, poor] = maker.network.accounts as [KeyPair, KeyPair];
  const others = Array.from({ length: 3 }, (_, index) => maker.transfer(rich, poor, BigInt(index + 10)));
  t.is(await outcomeOf(importer, { ...block, transactions: others }), 'BLOCK_PAYLOAD_INVALID');
  t.is(costs.together, 0);
  t.is(await outcomeOf(importer, block), 'applied');
});

test('a delegate that signed once is not accused of double forging', async (t) => {
  const maker = new ChainMaker();
  const tip = maker.forge();
  const logged: string[] = [];
  const delegates: unknown[] = [];
  const { importer } = await countingChain(maker, tip.timestamp, (code, _level, fields) => {
    logged.push(code);
    if (code === 'BLOCK_DOUBLE_FORGING') delegates.push(fields?.['delegate']);
  });
  const twin = signBlock(tip, { timestamp: tip.timestamp + 1 }, ownerOf(maker, tip));
  t.is(await outcomeOf(importer, { ...twin, id: '5', blockSignature: '00'.repeat(64) }), 'BLOCK_SIGNATURE_INVALID');
  t.deepEqual(logged, ['BLOCK_SIGNATURE_INVALID']);
  t.is(await outcomeOf(importer, twin), 'ignored');
  t.deepEqual(logged, ['BLOCK_SIGNATURE_INVALID', 'BLOCK_DOUBLE_FORGING']);
  t.deepEqual(delegates, [tip.generatorPublicKey], 'the doctor reads this field');
});

test('no transaction is checked in a block whose slot has not come', async (t) => {
  const { maker, block } = fullBlock();
  const { importer, costs } = await countingChain(maker, block.timestamp - maker.network.params.blockTimeS);
  t.is(await outcomeOf(importer, block), 'BLOCK_TIMESTAMP_INVALID');
  t.is(costs.together, 0);
});

test('no transaction is checked in the tip of a better chain', async (t) => {
  const { maker } = fullBlock();
  const fork = forkOf(maker);
  grown(fork, 1);
  const [rich, poor] = maker.network.accounts as [KeyPair, KeyPair];
  const ahead = fork.build({ transactions: [maker.transfer(rich, poor, 1n)] });
  const { importer, costs } = await countingChain(maker, ahead.timestamp);
  t.is(await outcomeOf(importer, ahead), 'betterChain');
  t.is(costs.together, 0);
  const corrupted = signBlock({ ...ahead, totalAmount: 7n }, {}, ownerOf(fork, ahead));
  t.is(await outcomeOf(importer, corrupted), 'BLOCK_PAYLOAD_INVALID');
});

test('each block that fork choice does not apply is passed on, and a block that fits or is known is not', async (t) => {
  const maker = new ChainMaker();
  const [, parent] = grown(maker, 2);
  const fork = forkOf(maker);
  const discarded = fork.forge({ missedSlots: 1 });
  const ahead = grown(fork, 2).at(-1)!;
  const tip = maker.forge();
  const twin = signBlock(tip, { timestamp: tip.timestamp + 1 }, ownerOf(maker, tip));
  const { chain, time } = await countingChain(maker, ahead.timestamp);
  const passed: string[] = [];
  const clock = { nowMs: () => time.nowMs };
  const unapplied = { note: (block: Block) => void passed.push(block.id) };
  const importer = new BlockImporter({ chain, clock, observer: SILENT, unapplied });
  for (const block of [twin, discarded, parent!, ahead, tip]) await importer.import(block);
  t.deepEqual(
    passed,
    [twin, discarded, parent!, ahead].map(({ id }) => id),
  );
  const rejection = new BlockRejected('BLOCK_SIGNATURE_INVALID', 'Invalid block signature');
  const refusing = {
    note: () => {
      throw rejection;
    },
  };
  const strict = new BlockImporter({ chain, clock, observer: SILENT, unapplied: refusing });
  t.deepEqual(await strict.import(discarded), { kind: 'refused', rejection });
});

test('a node forges its own block while it checks a received one, and keeps its own', async (t) => {
  const { maker, block } = fullBlock();
  const { chain, importer, hold, letGo } = await countingChain(maker, block.timestamp);
  hold();
  const outcome = importer.import(block);
  const own = await chain.forge(() => forkOf(maker).build({}));
  t.is(chain.tip.header.id, own!.id);
  letGo();
  t.deepEqual(await outcome, { kind: 'ignored', status: 'doubleForging' });
  t.is(chain.tip.header.id, own!.id);
});

test('blocks that arrive while the transactions of one are checked are imported in order of arrival', async (t) => {
  const { maker, block } = fullBlock();
  const fork = forkOf(maker);
  fork.apply(block);
  const next = fork.build({});
  const { chain, importer, hold, letGo } = await countingChain(maker, next.timestamp);
  hold();
  const outcomes = [block, next].map((each) => outcomeOf(importer, each));
  const idle = importer.idle();
  letGo();
  t.deepEqual(await Promise.all(outcomes), ['applied', 'applied']);
  await idle;
  t.is(chain.tip.header.id, next.id);
});

/**
 * Makes a chain and its next block. The chain has a multisignature account, which has fifteen members and also a second
 * passphrase. The block has two transfers of this account, with the members' signatures in the order that is slowest to
 * verify.
 */
function groupBlock(generation: 2 | 3, corrupt: (transactions: Transaction[]) => Transaction[] = (all) => all) {
  const maker = new ChainMaker(makeNetwork({ generation }));
  const [group, other] = maker.network.accounts as [KeyPair, KeyPair];
  const members = Array.from({ length: 15 }, (_, index) => keyPairOf(`member ${index}`));
  const second = keyPairOf('second');
  const keysgroup = members.map((member) => `+${publicKeyOf(member)}`);
  maker.forge({
    transactions: [maker.transaction(group, { kind: 'secondSignature', publicKey: publicKeyOf(second) })],
  });
  const registration = { kind: 'multisignature', min: 12, lifetime: 1, keysgroup } as const;
  maker.forge({ transactions: [maker.transaction(group, registration, { members, second })] });
  const signers = [...members].reverse();
  const transactions = [1n, 2n].map((amount) => maker.transfer(group, other, amount, { members: signers, second }));
  const { keyPair } = maker.nextSlot();
  return { maker, block: withPayload(maker.build({ transactions: [] }), keyPair, corrupt(transactions)) };
}

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: the group signatures of a block are matched with the members before its turn`, async (t) => {
    const { maker, block } = groupBlock(generation);
    t.is(block.transactions.length, 2);
    const { importer, costs } = await countingChain(maker, block.timestamp);
    t.is(await outcomeOf(importer, block), 'applied');
    const header = 1;
    t.is(costs.computedAlone, header);
    const [primary, secondOfEach, inWorstOrder] = [1, 1, 120];
    t.true(costs.together <= header + 2 * (primary + secondOfEach + inWorstOrder), `${costs.together} checks`);
  });
}

test('a block with invalid group signatures is refused, and costs little more than finding the first', async (t) => {
  const corrupted = (transaction: Transaction): Transaction => ({
    ...transaction,
    signatures: transaction.signatures.map((_, index) => index.toString(16).padStart(128, '0')),
  });
  const { maker, block } = groupBlock(3, (transactions) => transactions.map(corrupted));
  const { importer, costs } = await countingChain(maker, block.timestamp);
  t.is(await outcomeOf(importer, block), 'BLOCK_TRANSACTION_INVALID');
  const ownAndSecond = 2;
  t.true(costs.together <= 1 + 2 * (ownAndSecond + 15 + 14), `${costs.together} checks`);
});

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: a flood of blocks of strangers causes a few warnings in a minute, with a count`, async (t) => {
    const maker = new ChainMaker(makeNetwork({ generation }));
    grown(maker, 3);
    const block = maker.build({});
    const warnings: (LogFields | undefined)[] = [];
    const debugSlots: unknown[] = [];
    const { importer, time } = await countingChain(maker, block.timestamp, (code, level, fields) => {
      if (level === 'warn') warnings.push(fields);
      else if (code === 'BLOCK_FORGER_INVALID') debugSlots.push(fields?.['slot']);
    });
    const { params } = maker.network;
    const flood = async (count: number, everySlots: number): Promise<void> => {
      for (let sent = 0; sent < count; sent += 1) {
        const timestamp = block.timestamp + sent * everySlots * params.blockTimeS;
        const stranger = signBlock(block, { timestamp }, keyPairOf(`stranger ${sent}`));
        t.is(await outcomeOf(importer, stranger), 'BLOCK_FORGER_INVALID');
      }
    };
    await flood(100, 0);
    t.is(warnings.length, 1, 'one line for a slot');
    await flood(100, 1);
    t.is(warnings.length, 3);
    t.true(debugSlots.length < 30, 'slots far from the current slot are not recorded');
    const far = slotAt(block.timestamp, params) + 1_000_000;
    time.nowMs += 60_000;
    const timestamp = far * params.blockTimeS;
    await importer.import(signBlock(block, { timestamp }, keyPairOf('stranger of another slot')));
    t.is(warnings.length, 4);
    t.deepEqual([warnings[3]?.['slot'], warnings[3]?.['blockSlot']], [undefined, far]);
    t.is(new Set(debugSlots).size, debugSlots.length);
    time.nowMs += 60_000;
    await flood(100, 2);
    t.is(warnings.length, 7);
    t.is(
      warnings.reduce((sum, fields) => sum + 1 + Number(fields?.['notLogged'] ?? 0), 0) > 200,
      true,
      'the warnings count the refusals that have no warning',
    );
    t.is(warnings[0]?.['slot'], slotAt(block.timestamp, params));
    t.true(warnings.every((fields) => fields?.['reason'] !== undefined && fields['blockId'] !== undefined));
  });
}

test('refused blocks of strangers neither fill the record of a slot nor displace the records of other slots', async (t) => {
  const maker = new ChainMaker();
  grown(maker, 3);
  const block = maker.build({});
  const { params } = maker.network;
  const slots = new SlotHistory({ nowMs: () => 0 });
  const observer = slots.listenIn(SILENT);
  const toHistory = (code: string, level: LogLevel, fields?: LogFields): void =>
    observer.module('chain').log(level, code, '', fields);
  const { importer } = await countingChain(maker, block.timestamp, toHistory);
  const slot = slotAt(block.timestamp, params);
  observer.module('forge').log('warn', 'FORGING_PAUSED', 'paused', { slot: slot - 1 });
  for (let sent = 0; sent < 1100; sent += 1) {
    const timestamp = block.timestamp + (sent < 50 ? 0 : sent) * params.blockTimeS;
    await importer.import(signBlock(block, { timestamp }, keyPairOf(`stranger ${sent % 50}`)));
  }
  observer.module('forge').log('warn', 'FORGING_PAUSED', 'paused', { slot });
  t.deepEqual(
    slots.report(slot - 1, 2).slots.map(({ facts }) => facts.map(({ code }) => code)),
    [['FORGING_PAUSED'], ['BLOCK_FORGER_INVALID', 'FORGING_PAUSED']],
  );
});

test('refused blocks of strangers do not hide the refused block of a delegate in the same slot', async (t) => {
  const maker = new ChainMaker();
  grown(maker, 3);
  const block = maker.build({});
  const logged: unknown[] = [];
  const { importer } = await countingChain(maker, block.timestamp, (_code, _level, fields) =>
    logged.push(fields?.['delegate']),
  );
  for (let sent = 0; sent < 50; sent += 1) await importer.import(signBlock(block, {}, keyPairOf(`stranger ${sent}`)));
  const other = maker.network.delegates.find((keyPair) => publicKeyOf(keyPair) !== block.generatorPublicKey);
  if (other === undefined) throw new Error('the network has several delegates');
  t.is(await outcomeOf(importer, signBlock(block, {}, other)), 'BLOCK_FORGER_INVALID');
  t.deepEqual(logged, [publicKeyOf(keyPairOf('stranger 0')), publicKeyOf(other)]);
});

test('a delegate that signs many rivals of the tip causes a few warnings', async (t) => {
  const maker = new ChainMaker();
  const tip = maker.forge();
  const logged: string[] = [];
  const { importer } = await countingChain(maker, tip.timestamp, (code, level) => logged.push(`${level} ${code}`));
  for (let more = 1; more <= 20; more += 1) {
    const rival = signBlock(tip, { timestamp: tip.timestamp + more }, ownerOf(maker, tip));
    t.is(await outcomeOf(importer, rival), 'ignored');
  }
  t.true(logged.filter((line) => line === 'warn BLOCK_DOUBLE_FORGING').length <= 3);
  t.is(logged[0], 'warn BLOCK_DOUBLE_FORGING');
});

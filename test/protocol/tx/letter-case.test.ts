import test from 'ava';
import { hexOf } from '../../../src/primitives/bytes.ts';
import { StateOverlay } from '../../../src/protocol/state.ts';
import type { Block, JsonObject, KeyPair, Transaction } from '../../../src/protocol/types.ts';
import { BlockRejected } from '../../../src/protocol/verdict.ts';
import {
  addressOfPair,
  ChainMaker,
  keyPairOf,
  makeNetwork,
  publicKeyOf,
  signBlock,
  verify,
  withPayload,
} from '../../support/chain-maker.ts';

const GENERATIONS = [2, 3] as const;
const NETWORKS = {
  2: makeNetwork({ generation: 2 }),
  3: makeNetwork(),
};

interface AccountsFixture {
  readonly maker: ChainMaker;
  readonly alice: KeyPair;
  readonly bob: KeyPair;
  /** The stranger has funds, but its account has no public key yet. */
  readonly stranger: KeyPair;
}

function setUpAccounts(generation: 2 | 3): AccountsFixture {
  const network = NETWORKS[generation];
  const maker = new ChainMaker(network);
  maker.growTo(3);
  const [alice, bob] = network.accounts as [KeyPair, KeyPair];
  const stranger = keyPairOf('a stranger');
  maker.forge({ transactions: [maker.transfer(bob, stranger, 10_000_000_000n)] });
  return { maker, alice, bob, stranger };
}

/**
 * Makes a registration of a multisignature group. `names` contains the public keys of the members in the letter case
 * that the transaction uses. `members` contains the key pairs that sign.
 */
function registration(maker: ChainMaker, sender: KeyPair, names: readonly string[], members: readonly KeyPair[]) {
  const keysgroup = names.map((name) => `+${name}`);
  const payload = { kind: 'multisignature', min: 1, lifetime: 24, keysgroup } as const;
  return maker.transaction(sender, payload, { members });
}

function blockOf(maker: ChainMaker, ...transactions: readonly Transaction[]): Block {
  const { keyPair } = maker.nextSlot();
  const block = withPayload(maker.build(), keyPair, transactions);
  return signBlock(block, {}, keyPair);
}

function apply(maker: ChainMaker, block: Block): StateOverlay {
  maker.rules.validateBlock(block, verify);
  const overlay = new StateOverlay(maker.state);
  maker.rules.applyBlock(overlay, block, { nowS: block.timestamp, verify });
  return overlay;
}

/**
 * Converts the transaction to JSON, replaces members of the JSON by `changes`, and parses the result. A node that
 * receives the transaction parses it in the same way.
 */
function reread(maker: ChainMaker, transaction: Transaction, changes: JsonObject = {}): Transaction {
  const { codec } = maker.rules;
  const json = JSON.parse(JSON.stringify({ ...codec.transactionToJson(transaction), ...changes })) as JsonObject;
  return codec.transactionFromJson(json);
}

for (const generation of GENERATIONS) {
  const title = (text: string): string => `generation ${generation}: ${text}`;

  test(title('a group may name a member in two letter cases, and the member signs twice'), (t) => {
    const { maker, alice, bob } = setUpAccounts(generation);
    const key = publicKeyOf(bob);
    const signed = registration(maker, alice, [key, key.toUpperCase()], [bob, bob]);
    const [signature = ''] = signed.signatures;
    const twice = reread(maker, signed, { signatures: [signature, signature.toUpperCase()] });
    t.deepEqual(twice.signatures, [signature, signature.toUpperCase()]);
    const overlay = apply(maker, blockOf(maker, twice));
    t.deepEqual(overlay.account(addressOfPair(alice))?.group?.members, [key, key]);
    t.throws(() => reread(maker, signed, { signatures: [signature, signature] }));
  });

  test(title('lists of signatures keep their letter case in JSON and the store'), (t) => {
    const { maker, alice, bob } = setUpAccounts(generation);
    const signed = registration(maker, alice, [publicKeyOf(bob)], [bob]);
    const [signature = ''] = signed.signatures;
    const shouted = reread(maker, signed, { signatures: [signature.toUpperCase(), signature] });
    const { codec } = maker.rules;
    t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(shouted)), shouted);
    t.deepEqual(reread(maker, shouted), shouted);
    // The group has one member, so the transaction may have only one signature. It has two.
    t.throws(() => apply(maker, blockOf(maker, shouted)), { instanceOf: BlockRejected, message: /Failed to validate/ });
  });

  test(title('a member named in capitals can send nothing later in the block, but anything in the next'), (t) => {
    const { maker, alice, stranger } = setUpAccounts(generation);
    const shouted = publicKeyOf(stranger).toUpperCase();
    const named = registration(maker, alice, [shouted], [stranger]);
    const own = maker.transfer(stranger, alice, 1n);
    t.throws(() => apply(maker, blockOf(maker, named, own)), {
      instanceOf: BlockRejected,
      message: /Invalid sender publicKey/,
    });
    t.notThrows(() => apply(maker, blockOf(maker, own, named)));
    maker.apply(blockOf(maker, named));
    t.is(maker.state.account(addressOfPair(stranger))?.publicKey, publicKeyOf(stranger));
    t.notThrows(() => apply(maker, blockOf(maker, maker.transfer(stranger, alice, 2n))));
  });

  test(title('pool and forger refuse transactions of a member whom an earlier one names in capitals'), (t) => {
    const { maker, alice, stranger } = setUpAccounts(generation);
    const named = registration(maker, alice, [publicKeyOf(stranger).toUpperCase()], [stranger]);
    const own = maker.transfer(stranger, alice, 1n);
    const verdicts = maker.rules.processTransactions(maker.state, [named, own], verify);
    t.deepEqual(
      verdicts.map(({ status }) => status),
      ['ok', 'fail'],
    );
    const context = { blockTimestamp: maker.tip.timestamp, blockHeight: maker.tip.height + 1 };
    const selected = maker.rules.selectTransactions(maker.state, [named, own], context, verify);
    const block = maker.build({ transactions: selected });
    t.notThrows(() => apply(maker, block));
    // A block in which `own` follows `named` is invalid. If the forger gets both transactions, it must therefore leave
    // out `own`.
    t.notThrows(() => apply(maker, maker.build({ transactions: [named, own] })));
  });

  test(title("a sender's key in capitals is accepted only if no earlier block stored the key"), (t) => {
    const { maker, alice, bob, stranger } = setUpAccounts(generation);
    const shout = (transaction: Transaction): Transaction =>
      reread(maker, transaction, { senderPublicKey: transaction.senderPublicKey.toUpperCase() });
    const [first, second] = [1n, 2n].map((amount) => maker.transfer(stranger, alice, amount)) as [
      Transaction,
      Transaction,
    ];
    t.is(shout(first).id, first.id);
    t.throws(() => apply(maker, blockOf(maker, shout(maker.transfer(bob, alice, 1n)))), {
      instanceOf: BlockRejected,
      message: /Invalid sender publicKey/,
    });
    t.throws(() => apply(maker, blockOf(maker, shout(first), second)), { instanceOf: BlockRejected });
    const overlay = apply(maker, blockOf(maker, shout(first), shout(second)));
    t.is(overlay.account(addressOfPair(stranger))?.publicKey, publicKeyOf(stranger));
    const { codec } = maker.rules;
    t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(shout(first))), shout(first));
    t.is(codec.transactionToJson(shout(first))['senderPublicKey'], publicKeyOf(stranger).toUpperCase());
  });

  test(title('a member named in capitals can send in the same block if the key is in capitals too'), (t) => {
    const { maker, alice, stranger } = setUpAccounts(generation);
    const shouted = publicKeyOf(stranger).toUpperCase();
    const named = registration(maker, alice, [shouted], [stranger]);
    const own = reread(maker, maker.transfer(stranger, alice, 1n), { senderPublicKey: shouted });
    t.notThrows(() => apply(maker, blockOf(maker, named, own)));
  });

  test(title('hashes and keys in a header are compared as text, so only lower case is accepted'), (t) => {
    const { maker } = setUpAccounts(generation);
    const { codec } = maker.rules;
    const json = codec.blockToJson(maker.build());
    t.notThrows(() => codec.blockFromJson(json));
    for (const name of ['payloadHash', 'generatorPublicKey']) {
      const shouted = { ...json, [name]: String(json[name]).toUpperCase() };
      t.throws(() => codec.blockFromJson(shouted), { instanceOf: BlockRejected });
    }
    const signature = String(json['blockSignature']).toUpperCase();
    t.is(codec.blockFromJson({ ...json, blockSignature: signature }).id, json['id'] as string);
  });

  test(title('totals are numbers in any notation'), (t) => {
    const { maker } = setUpAccounts(generation);
    const { codec } = maker.rules;
    const json = codec.blockToJson(maker.build());
    for (const zero of ['0', '00', ' 0 ', '+0', '0.0', '0e5', '-0', null]) {
      t.is(codec.blockFromJson({ ...json, totalAmount: zero }).id, json['id'] as string);
    }
    for (const none of ['x', '-1', '0.5', '18446744073709551616', [], {}, true]) {
      t.throws(() => codec.blockFromJson({ ...json, totalAmount: none }), { instanceOf: BlockRejected });
    }
  });
}

test("a second signature keeps its key's letter case in the asset, and the account stores its bytes", (t) => {
  for (const generation of GENERATIONS) {
    const { maker, alice, bob } = setUpAccounts(generation);
    const plain = maker.transaction(alice, { kind: 'secondSignature', publicKey: publicKeyOf(bob) });
    const asset = maker.rules.codec.transactionToJson(plain)['asset'];
    const shouted = JSON.parse(
      JSON.stringify(asset).replace(publicKeyOf(bob), publicKeyOf(bob).toUpperCase()),
    ) as JsonObject;
    const transaction = reread(maker, plain, { asset: shouted });
    t.deepEqual(maker.rules.codec.transactionToJson(transaction)['asset'], shouted);
    const overlay = apply(maker, blockOf(maker, transaction));
    t.is(overlay.account(addressOfPair(alice))?.secondPublicKey, hexOf(bob.publicKey));
  }
});

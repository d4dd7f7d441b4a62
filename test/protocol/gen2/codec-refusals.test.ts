import test from 'ava';
import { defaultEd25519 } from '../../../src/crypto/ed25519.ts';
import { createGen2Codec } from '../../../src/protocol/gen2/codec.ts';
import { createGen2Rules } from '../../../src/protocol/gen2/rules.ts';
import { NO_EXCEPTIONS } from '../../../src/protocol/params.ts';
import { TransactionRejected, type TransactionError } from '../../../src/protocol/verdict.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { SIGNERS, signer } from '../../support/reference-transactions.ts';
import {
  json2Of,
  reference2Of,
  signedReference2,
  type Gen2Content,
  type Gen2Type,
} from '../../support/reference-transactions-2.ts';

const precedent = { ...NO_EXCEPTIONS.precedent, disableDappTransaction: 1000 };
const params = paramsWith({ generation: 2, exceptions: { ...NO_EXCEPTIONS, precedent } });
const codec = createGen2Codec(params);
const rules = createGen2Rules(params);
const ed25519 = defaultEd25519();

const [alice = signer('a'), ...others] = SIGNERS;
const keys = others.map(({ publicKey }) => publicKey);
const [key = ''] = keys;

const none = { amount: '0', recipientId: '' };
const base = { timestamp: 5, sender: alice };
const CONTENTS: Readonly<Record<string, Gen2Content>> = {
  transfer: { type: 0, ...base, members: { amount: '5', recipientId: '7L', fee: '10000000', asset: { data: 'hi' } } },
  'second signature': {
    type: 1,
    ...base,
    members: { ...none, fee: '500000000', asset: { signature: { publicKey: key } } },
  },
  delegate: { type: 2, ...base, members: { ...none, fee: '2500000000', asset: { delegate: { username: 'alice' } } } },
  vote: {
    type: 3,
    ...base,
    members: {
      amount: '0',
      recipientId: alice.address,
      fee: '100000000',
      asset: { votes: keys.map((each) => `+${each}`) },
    },
  },
  multisignature: {
    type: 4,
    ...base,
    members: {
      ...none,
      fee: String(500_000_000 * (keys.length + 1)),
      asset: { multisignature: { min: 2, lifetime: 24, keysgroup: keys.map((each) => `+${each}`) } },
    },
  },
  application: {
    type: 5,
    ...base,
    members: {
      ...none,
      fee: '2500000000',
      asset: {
        dapp: {
          name: 'app',
          type: 0,
          category: 8,
          description: 'An app',
          tags: 'a,b',
          link: 'https://example.test/app.zip',
          icon: 'https://example.test/app.png',
        },
      },
    },
  },
};

const REMOVED = Symbol('removed');

/**
 * Unusual values. The test replaces each member of a valid transaction, except `type`, by each of these values in turn.
 * For `REMOVED`, the test removes the member.
 */
const ODD: readonly unknown[] = [
  ...[REMOVED, null, true, false, 0, 1, 16, 73, -1, 1.5, 1e-7, 1e21, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1, 1e15],
  ...['', '0', '1', '5', '-5', '+5', '007', '000', '1e3', '1.5', ' 5', 'abc', 'ABC', 'ab', 'a b', 'a\0b', 'a\\u0000b'],
  ...['U00000000', 'a\\x00', 'a,a', 'a, a', 'x:y.zip', 'x:y.png', 'x:y.jpeg', 'https://a b.zip', 'aliceL', '5l'],
  ...['10000000', '500000000', '100000000', '2500000000'],
  ...['9223372036854775807', '9223372036854775808', '18446744073709551615', '18446744073709551616', '1'.repeat(30)],
  ...['7L', '07L', '7l', 'L', '18446744073709551616L', '12345678901234567890123L', '1.0L', alice.address, 'aL'],
  ...['x'.repeat(20), 'x'.repeat(21), 'x'.repeat(32), 'x'.repeat(33), 'x'.repeat(64), 'x'.repeat(65)],
  ...['ü'.repeat(32), 'ü'.repeat(33), '😀'.repeat(17), 'x'.repeat(160), 'x'.repeat(161)],
  ...[key, key.toUpperCase(), key.slice(1), `${key}00`, 'ab'.repeat(64), 'AB'.repeat(64), 'ab'.repeat(65)],
  ...[alice.publicKey, others[0]?.address ?? '', others[0]?.address.toLowerCase() ?? ''],
  ...[{}, [], [''], [5], [null], ['ab'.repeat(64)], ['ab'.repeat(64), 'ab'.repeat(64)], { a: 1 }],
  ...[[`+${key}`], [`-${key}`], [key], [`+${key}`, `+${key}`], [`+${key}`, `-${key}`], [`+${key.toUpperCase()}`]],
  ...[{ publicKey: key }, { username: 'bob' }, { username: '123L' }, { min: 1, lifetime: 1, keysgroup: [`+${key}`] }],
  ...[
    { min: 2, lifetime: 1, keysgroup: [`+${key}`] },
    { min: 0, lifetime: 73, keysgroup: [] },
  ],
  ...[
    { publicKey: key, more: 1 },
    { username: 'bob', more: 1 },
    { name: 'n', type: 0, category: 0, more: 1 },
  ],
  ...[
    { name: 'n', type: 0, category: 0, link: '' },
    { name: 'n', type: 0, category: 0, link: null, icon: null },
  ],
  Array.from({ length: 16 }, (_, index) => index.toString(16).padStart(128, 'a')),
  Array.from({ length: 34 }, (_, index) => `+${index.toString(16).padStart(64, '0')}`),
];

type Shown = Omit<TransactionError, 'id'>;

function plain({ name, message, dataPath, actual, expected }: TransactionError): Shown {
  return {
    name,
    // Bloomery's message contains the signature in the letter case that the codec stores. The message of the reference
    // may contain it in another letter case, so the test ignores the letter case of this message.
    message: message.startsWith('Failed to validate signature') ? message.toLowerCase() : message,
    dataPath,
    // The codec puts the wrong value into an error only if the value is a text or a number. The test therefore ignores
    // all other values.
    ...(typeof actual === 'string' || typeof actual === 'number' ? { actual } : {}),
    ...(expected === undefined ? {} : { expected }),
  };
}

type Answer = { readonly errors: readonly Shown[] } | { readonly thrown: string };

function referenceAnswer(json: Record<string, unknown>, type: Gen2Type): Answer {
  try {
    const { errors } = reference2Of({ ...json, type }).validate();
    return { errors: errors.map((error) => plain(error as unknown as TransactionError)) };
  } catch (error) {
    return { thrown: (error as Error).message };
  }
}

function answer(json: Record<string, unknown>): Answer {
  try {
    const transaction = codec.transactionFromJson(json);
    const errors = rules.validateTransaction(transaction, { blockHeight: 5 }, (check) => ed25519.verify(check));
    return { errors: errors.map(plain) };
  } catch (error) {
    if (!(error instanceof TransactionRejected)) throw error;
    return error.errors.length === 0 ? { thrown: error.message } : { errors: error.errors.map(plain) };
  }
}

function changed(json: Record<string, unknown>, member: string, value: unknown): Record<string, unknown> {
  const { [member]: _, ...rest } = json;
  return value === REMOVED ? rest : { ...json, [member]: value };
}

/**
 * The reference must encode a transaction as bytes. If a value has no byte encoding, one of the reference's libraries
 * throws an error with one of these texts. Bloomery also refuses such a value, but with a different text.
 */
const LIBRARY_TEXTS = [
  /^new BigNumber\(\) not a number/,
  /^converting negative numbers/,
  /is not a function$/,
  /^Argument must/,
  /^Cannot read/,
  /^Unsupported data format/,
  /^The "value" argument/,
  /^The value of "value" is out of range/,
  /^address\.slice/,
];

for (const [name, content] of Object.entries(CONTENTS)) {
  const valid = json2Of(signedReference2(content));
  const asset = valid['asset'] as Record<string, unknown>;
  const [inner = ''] = Object.keys(asset);
  const nested = asset[inner];
  const innerMembers = typeof nested === 'object' && nested !== null && !Array.isArray(nested) ? nested : {};
  const members = [
    ...['id', 'type', 'timestamp', 'senderPublicKey', 'senderId', 'recipientId', 'recipientPublicKey', 'amount', 'fee'],
    ...['signature', 'signSignature', 'signatures', 'asset', 'blockId', 'height', 'confirmations', 'relays', 'unknown'],
    ...Object.keys(asset).map((each) => `asset.${each}`),
    ...Object.keys(innerMembers).map((each) => `asset.${inner}.${each}`),
  ];

  test(`a valid ${name} is accepted`, (t) => {
    t.deepEqual(answer(valid), { errors: [] });
  });

  for (const path of members) {
    if (path === 'type') continue;
    test(`a ${name} with an unusual ${path} gets the verdict and the text of the reference package`, (t) => {
      const [first = '', second, third] = path.split('.');
      for (const value of ODD) {
        let json = changed(valid, first, value);
        if (second !== undefined) json = { ...valid, asset: changed(asset, second, value) };
        if (third !== undefined) {
          json = { ...valid, asset: { [inner]: changed(innerMembers as Record<string, unknown>, third, value) } };
        }
        const expected = referenceAnswer(json, content.type);
        const given = answer(json);
        const about = `${path}: ${String(JSON.stringify(value))}`;
        if ('thrown' in expected) {
          if (LIBRARY_TEXTS.some((text) => text.test(expected.thrown))) t.notDeepEqual(given, { errors: [] }, about);
          else t.deepEqual(given, expected, about);
          continue;
        }
        const isLibrary = expected.errors.some(({ message }) => LIBRARY_TEXTS.some((text) => text.test(message)));
        if (isLibrary) t.notDeepEqual(given, { errors: [] }, about);
        else t.deepEqual(given, expected, about);
      }
    });
  }
}

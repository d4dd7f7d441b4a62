import test from 'ava';
import { fc } from '../support/fast-check.ts';
import { createSignatureObject as createSignatureObject2 } from 'lisk-transactions-2';
import { createSignatureObject as createSignatureObject3 } from 'lisk-transactions-3';
import { defaultEd25519 } from '../../src/crypto/ed25519.ts';
import { createSigner, votePayload } from '../../src/protocol/sign.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import type { Payload } from '../../src/protocol/types.ts';
import {
  anyContent,
  anySigner,
  jsonOf,
  NETWORK_IDENTIFIER,
  signedReference,
  SIGNERS,
  type Content,
} from '../support/reference-transactions.ts';
import { gen2ContentOf, json2Of, signedReference2 } from '../support/reference-transactions-2.ts';
import type { Untyped } from '../support/untyped.ts';

const NETWORKS = {
  2: { generation: 2, networkIdentifier: NETWORK_IDENTIFIER },
  3: { generation: 3, networkIdentifier: NETWORK_IDENTIFIER },
} as const;

/** Converts the content of a transaction of the reference to the payload that a wallet passes to Bloomery's signer. */
function payloadOf({ type, asset, sender }: Content, generation: 2 | 3): Payload {
  const members = asset as Record<string, never>;
  switch (type) {
    case 8: {
      const { amount, recipientId, data } = asset as { amount: string; recipientId: string; data?: string };
      const text = data === undefined || data === '' ? {} : { data };
      return { kind: 'transfer', amount: BigInt(amount), recipientId, ...text };
    }
    case 9:
      return { kind: 'secondSignature', publicKey: members['publicKey'] ?? '' };
    case 10:
      return { kind: 'delegate', username: members['username'] ?? '' };
    case 11:
      return votePayload(NETWORKS[generation], members['votes'] ?? [], sender.keyPair);
    case 12:
      return { kind: 'multisignature', ...(asset as { min: number; lifetime: number; keysgroup: readonly string[] }) };
  }
}

function errorOf(work: () => unknown): ProtocolError {
  try {
    work();
  } catch (error) {
    if (error instanceof ProtocolError) return error;
  }
  throw new Error('nothing was refused');
}

/**
 * Removes empty members from the JSON of a transaction. The test compares the JSON of two transactions. One of them may
 * omit a member that is empty in the other.
 */
function withoutEmptyMembers(json: Record<string, unknown>): Record<string, unknown> {
  const optional = ['recipientPublicKey', 'senderSecondPublicKey', 'signatures', 'signSignature', 'senderId'];
  const isPresent = ([name, value]: [string, unknown]): boolean =>
    !(optional.includes(name) && (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)));
  const asset = Object.fromEntries(Object.entries((json['asset'] ?? {}) as object).filter(([, value]) => value !== ''));
  return Object.fromEntries(Object.entries({ ...json, asset }).filter(isPresent));
}

test('a signed transaction of generation 3 has the bytes of the reference', (t) => {
  const signer = createSigner(NETWORKS[3], defaultEd25519());
  const check = fc.property(anyContent, fc.option(anySigner, { nil: undefined }), (content, second) => {
    const { timestamp, sender } = content;
    const secondOf = content.type === 9 ? undefined : second;
    const signed = signer.sign({
      payload: payloadOf(content, 3),
      timestamp,
      keyPair: sender.keyPair,
      ...(secondOf === undefined ? {} : { secondKeyPair: secondOf.keyPair }),
    });
    const reference = jsonOf(signedReference(content, secondOf));
    const ours = withoutEmptyMembers(signer.toJson(signed));
    const { id, signature, signSignature, asset, type } = ours;
    t.deepEqual(
      { id, signature, signSignature, asset, type },
      {
        id: reference['id'],
        signature: reference['signature'],
        signSignature: reference['signSignature'],
        asset: withoutEmptyMembers(reference)['asset'],
        type: reference['type'],
      },
    );
    t.deepEqual(signer.read(JSON.parse(JSON.stringify(ours))).id, signed.id);
  });
  fc.assert(check, { numRuns: 60 });
});

test('a signed transaction of generation 2 has the bytes of the reference', (t) => {
  const signer = createSigner(NETWORKS[2], defaultEd25519());
  const check = fc.property(anyContent, fc.option(anySigner, { nil: undefined }), (content, second) => {
    const { timestamp, sender } = content;
    const secondOf = content.type === 9 ? undefined : second;
    const signed = signer.sign({
      payload: payloadOf(content, 2),
      timestamp,
      keyPair: sender.keyPair,
      ...(secondOf === undefined ? {} : { secondKeyPair: secondOf.keyPair }),
    });
    const reference = withoutEmptyMembers(json2Of(signedReference2(gen2ContentOf(content), secondOf)));
    const ours = withoutEmptyMembers(signer.toJson(signed));
    for (const name of ['id', 'type', 'amount', 'fee', 'recipientId', 'signature', 'signSignature', 'asset']) {
      t.deepEqual(ours[name], reference[name], name);
    }
    t.is(signer.read(JSON.parse(JSON.stringify(ours))).id, signed.id);
  });
  fc.assert(check, { numRuns: 60 });
});

test("a member's signature equals that of the reference", (t) => {
  const [sender, member, recipient] = SIGNERS;
  if (sender === undefined || member === undefined || recipient === undefined) return t.fail();
  const payload = { kind: 'transfer', amount: 5n, recipientId: recipient.address } as const;
  for (const generation of [2, 3] as const) {
    const signer = createSigner(NETWORKS[generation], defaultEd25519());
    const transaction = signer.sign({ payload, timestamp: 100, keyPair: sender.keyPair });
    const json: Untyped = signer.toJson(transaction);
    const reference =
      generation === 2
        ? createSignatureObject2(json, member.passphrase)
        : createSignatureObject3({
            transaction: json,
            passphrase: member.passphrase,
            networkIdentifier: NETWORK_IDENTIFIER,
          });
    t.deepEqual({ ...signer.signAsMember(transaction, member.keyPair) }, { ...reference });
  }
});

test('a changed transaction, or one for another network, is refused', (t) => {
  const [sender, recipient] = SIGNERS;
  if (sender === undefined || recipient === undefined) return t.fail();
  const payload = { kind: 'transfer', amount: 5n, recipientId: recipient.address } as const;
  const request = { payload, timestamp: 100, keyPair: sender.keyPair };
  const third = createSigner(NETWORKS[3], defaultEd25519());
  const json = third.toJson(third.sign(request));
  t.is(third.read(json).payload.kind, 'transfer');
  const other = createSigner({ generation: 3, networkIdentifier: 'ab'.repeat(32) }, defaultEd25519());
  t.is(errorOf(() => other.read(json)).code, 'TRANSACTION_INVALID');
  t.is(errorOf(() => third.read({ ...json, timestamp: 101 })).code, 'TRANSACTION_INVALID');
  t.is(errorOf(() => third.read({ ...json, type: 0 })).code, 'TRANSACTION_TYPE_UNKNOWN');
  const second = createSigner(NETWORKS[2], defaultEd25519());
  const older = second.toJson(second.sign(request));
  t.regex(errorOf(() => second.read({ ...older, fee: '1' })).message, /Invalid fee/);
  t.regex(errorOf(() => second.read({ ...older, id: '1' })).message, /Invalid transaction id/);
});

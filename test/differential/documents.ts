/** Makes random transactions as JSON documents, and signs them. */

import { idOf } from '../../src/crypto/hash.ts';
import type { RandomBelow } from '../fuzz/mutate.ts';
import { pick } from './mutations.ts';
import { anyAsset, DELEGATES, inGeneration2, PEOPLE, signatureOf, type Person } from './people.ts';
import { referenceTransaction, type ReferencePackage } from './reference.ts';

export const NETWORK_IDENTIFIER = '11'.repeat(32);

export interface Signers {
  readonly sender: Person;
  readonly second?: Person | undefined;
  readonly members?: readonly Person[];
}

export type Document = Record<string, unknown>;

/** Transaction types with the numbers of generation 3. The numbers of generation 2 are smaller by 8. */
const TYPES = [8, 8, 9, 10, 11, 11, 12, 12];

/** Timestamps at and beyond the bounds of a signed 32-bit integer, a fraction, and -0, which becomes 0 in JSON. */
const ODD_TIMESTAMPS = [-(2 ** 31), 2 ** 31 - 1, -(2 ** 31) - 1, 2 ** 31, 0.5, -0, 1e10];

/**
 * Returns an unsigned document. After it is signed, the document passes all or nearly all checks that do not depend on
 * the state of the chain.
 */
export function anyDocument(
  reference: ReferencePackage,
  below: RandomBelow,
  sender = pick(PEOPLE, below),
  delegates: readonly Person[] = [],
): Document {
  const type = pick(TYPES, below);
  const asset = anyAsset(type, below, delegates);
  const isFirst = reference.generation === 2;
  return {
    type: isFirst ? type - 8 : type,
    timestamp: pick(below(10) === 0 ? ODD_TIMESTAMPS : [0, 1, 100, -5], below),
    senderPublicKey: sender.publicKey,
    ...(isFirst ? { senderId: sender.address, ...inGeneration2(type, asset, sender) } : { asset }),
  };
}

/** Ids for the assets of types 6 and 7. No node writes ids like the last three. */
const IDS = ['1', '16641037988489082467', '18446744073709551615', '007', '18446744073709551616', '-1'];
/**
 * Recipients of transactions of type 7. The reference (lisk-sdk) removes the last character of a recipient and reads
 * the rest as a number.
 */
const OLDER_RECIPIENTS = [
  '1l',
  '1L',
  '5x',
  '007L',
  ' 7L',
  '7.0L',
  '+7L',
  '1e3L',
  '18446744073709551616L',
  'L',
  '',
  '-1L',
  'xL',
];
const ICONS = [
  undefined,
  '',
  'http://a.b/c.png',
  'x:y.jpeg',
  'a,b:.jpg',
  'HTTP://A.B/C.PNG',
  'http://a.b/c.gif',
  '//a.png',
  'a b:.png',
];

/**
 * Returns an unsigned document of type 5, 6 or 7 of generation 2. The document would pass, or nearly pass, all checks
 * that do not depend on the state of the chain if it were signed.
 */
export function anyOlderDocument(below: RandomBelow, sender = pick(PEOPLE, below)): Document {
  const type = 5 + below(3);
  const moves = { amount: pick(['1', '5000000000', 7], below), fee: '10000000', recipientId: '' };
  const shared = {
    ...(below(8) === 0 ? { recipientPublicKey: sender.publicKey } : {}),
    type,
    timestamp: pick([0, 1, 100, -5], below),
    senderPublicKey: sender.publicKey,
    senderId: sender.address,
  };
  switch (type) {
    case 5:
      return { ...shared, amount: '0', fee: '2500000000', recipientId: '', asset: { dapp: anyApplication(below) } };
    case 6:
      return { ...shared, ...moves, asset: { inTransfer: { dappId: pick(IDS, below) } } };
    default:
      return {
        ...shared,
        ...moves,
        recipientId: below(2) === 0 ? pick(PEOPLE, below).address : pick(OLDER_RECIPIENTS, below),
        asset: { outTransfer: { dappId: pick(IDS, below), transactionId: pick(IDS, below) } },
      };
  }
}

function anyApplication(below: RandomBelow): Record<string, unknown> {
  const text = (): string | undefined => pick([undefined, '', 'one', 'Grüße', 'x'.repeat(160)], below);
  return {
    name: pick(['app', 'Name', ' n ', '名前', 'n'.repeat(32)], below),
    type: below(2),
    category: below(9),
    link: pick([undefined, 'http://a.b/c.zip', 'x:.zip', 'a,b:.zip', '', 'http://a.b/c'], below),
    icon: pick(ICONS, below),
    tags: pick([undefined, '', 'a,b', 'a, a', 'a,b ,b'], below),
    description: text(),
  };
}

/**
 * Signs a document. If the reference (lisk-sdk) cannot compute the bytes of the document, the document gets a signature
 * of 64 zero bytes, which is invalid.
 */
export function sign(reference: ReferencePackage, document: Document, signers: Signers): void {
  const { sender, second, members = [] } = signers;
  delete document['signSignature'];
  document['signature'] = '00'.repeat(64);
  try {
    const parsed = JSON.parse(JSON.stringify(document)) as Document;
    const basic = Buffer.from(referenceTransaction(reference, parsed, NETWORK_IDENTIFIER).getBasicBytes());
    const bytes = reference.generation === 3 ? Buffer.concat([Buffer.from(NETWORK_IDENTIFIER, 'hex'), basic]) : basic;
    const signature = signatureOf(bytes, sender);
    document['signature'] = signature;
    const raw = Buffer.from(signature, 'hex');
    let signed = Buffer.concat([basic, raw]);
    if (second !== undefined) {
      const signSignature = signatureOf(Buffer.concat([bytes, raw]), second);
      document['signSignature'] = signSignature;
      signed = Buffer.concat([signed, Buffer.from(signSignature, 'hex')]);
    }
    if (members.length > 0) document['signatures'] = members.map((member) => signatureOf(bytes, member));
    document['id'] = idOf(signed);
  } catch {
    // The reference (lisk-sdk) cannot compute the bytes of this document.
  }
}

/** Returns the people whose keys a multisignature registration lists as members. */
export function namedMembers(document: Document): readonly Person[] {
  const asset = document['asset'] as { keysgroup?: unknown; multisignature?: { keysgroup?: unknown } } | undefined;
  const keysgroup = asset?.keysgroup ?? asset?.multisignature?.keysgroup;
  if (!Array.isArray(keysgroup)) return [];
  return keysgroup.flatMap((key: unknown) =>
    [...PEOPLE, ...DELEGATES].filter(
      ({ publicKey }) => typeof key === 'string' && key.slice(1).toLowerCase() === publicKey,
    ),
  );
}

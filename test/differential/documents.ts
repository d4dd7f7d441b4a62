/** Signed documents of transactions, and documents signed again after they were changed. */

import { idOf } from '../../src/crypto/hash.ts';
import type { Below } from '../fuzz/mutate.ts';
import { pick } from './mutations.ts';
import { anyAsset, inGeneration2, PEOPLE, signatureOf, type Person } from './people.ts';
import { referenceTransaction, type ReferencePackage } from './reference.ts';

export const NETWORK_IDENTIFIER = '11'.repeat(32);

export interface Signers {
  readonly sender: Person;
  readonly second?: Person | undefined;
  readonly members?: readonly Person[];
}

export type Document = Record<string, unknown>;

/** Types of transactions as generation 3 numbers them; those of generation 2 are 8 less. */
const TYPES = [8, 8, 9, 10, 11, 11, 12, 12];

/** A document that is valid as such. */
export function anyDocument(
  reference: ReferencePackage,
  below: Below,
  sender = pick(PEOPLE, below),
  delegates: readonly Person[] = [],
): Document {
  const type = pick(TYPES, below);
  const asset = anyAsset(type, below, delegates);
  const isFirst = reference.generation === 2;
  return {
    type: isFirst ? type - 8 : type,
    timestamp: pick([0, 1, 100, -5], below),
    senderPublicKey: sender.publicKey,
    ...(isFirst ? { senderId: sender.address, ...inGeneration2(type, asset, sender) } : { asset }),
  };
}

/** Signs what a document says, as far as the reference can tell what that is; leaves it as it is where it cannot. */
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
    // It says nothing that could be signed.
  }
}

/** People whose signatures a registration needs. */
export function namedMembers(document: Document): readonly Person[] {
  const asset = document['asset'] as { keysgroup?: unknown; multisignature?: { keysgroup?: unknown } } | undefined;
  const keysgroup = asset?.keysgroup ?? asset?.multisignature?.keysgroup;
  if (!Array.isArray(keysgroup)) return [];
  return keysgroup.flatMap((key: unknown) =>
    PEOPLE.filter(({ publicKey }) => typeof key === 'string' && key.slice(1).toLowerCase() === publicKey),
  );
}

/**
 * Targets that compare single transactions: the static validation, and the members that the parsed transaction keeps.
 * This node also writes each transaction in the encoding of the store and as JSON. From both forms, it must read an
 * equal transaction.
 */

import { isDeepStrictEqual } from 'node:util';
import type { RandomBelow } from '../fuzz/mutate.ts';
import { outcomeOf, type Comparison } from './comparison.ts';
import { anyDocument, anyOlderDocument, namedMembers, NETWORK_IDENTIFIER, sign, type Document } from './documents.ts';
import { mutate, textOf } from './mutations.ts';
import { oursOf, readValid, type Ours } from './ours.ts';
import { PEOPLE } from './people.ts';
import { referenceTransaction, type ReferencePackage } from './reference.ts';
import { withOlderTypes } from './reference-older-types.ts';
import type { Target } from './target.ts';

export function transactionTarget(reference: ReferencePackage): Target {
  const { generation } = reference;
  return targetOf(`generation ${generation}, transactions`, reference, oursOf(generation), (below) =>
    anyDocument(reference, below),
  );
}

/** Target for the types 5 to 7 of generation 2. */
export function olderTransactionTarget(reference: ReferencePackage): Target {
  const older = withOlderTypes(reference);
  return targetOf('generation 2, older transactions', older, oursOf(2, 1_000), anyOlderDocument);
}

function targetOf(
  name: string,
  reference: ReferencePackage,
  ours: Ours,
  anyCase: (below: RandomBelow) => Document,
): Target {
  return { name, compare: (below) => compareText(anyText(below)), compareText };

  function anyText(below: RandomBelow): string {
    const document = anyCase(below);
    const sender = PEOPLE.find(({ publicKey }) => publicKey === document['senderPublicKey']) ?? PEOPLE[0];
    if (sender === undefined) throw new Error('there are people');
    const second = below(4) === 0 ? PEOPLE[below(PEOPLE.length)] : undefined;
    const signers = { sender, second, members: below(2) === 0 ? namedMembers(document) : [] };
    if (below(2) === 0) {
      // This change comes before the signing, so that the signature covers the changed document.
      mutate(document, below);
      sign(reference, document, signers);
      if (below(3) === 0) mutate(document, below);
    } else {
      sign(reference, document, signers);
      mutate(document, below);
    }
    return textOf(document, below);
  }

  async function compareText(input: string): Promise<Comparison> {
    return {
      input,
      ours: await outcomeOf(() => {
        const transaction = readValid(ours, JSON.parse(input));
        const stored = ours.codec.decodeTransaction(Buffer.from(ours.codec.encodeTransaction(transaction)));
        if (!isDeepStrictEqual(stored, transaction)) throw new Error('the store gives back another transaction');
        const json = ours.codec.transactionToJson(transaction);
        if (!isDeepStrictEqual(ours.codec.transactionFromJson(JSON.parse(JSON.stringify(json))), transaction)) {
          throw new Error('its own JSON is read as another transaction');
        }
        return keptOf(json);
      }),
      reference: await outcomeOf(() => {
        const transaction = referenceTransaction(reference, JSON.parse(input), NETWORK_IDENTIFIER);
        const { status, errors } = transaction.validate();
        if (status !== 1) throw errors;
        return keptOf(transaction.toJSON());
      }),
    };
  }
}

/** Members of a transaction's JSON that depend on the chain, the time or the node. */
const REMARKS = ['blockId', 'height', 'confirmations', 'receivedAt', 'relays'];

/** Returns the members of a transaction's JSON that are the same on all nodes of the network. */
function keptOf(json: object): unknown {
  const kept = JSON.parse(JSON.stringify(json)) as Record<string, unknown>;
  for (const name of REMARKS) delete kept[name];
  return kept;
}

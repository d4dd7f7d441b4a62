/**
 * Classes of difference that are known and stay, each with its reason. `docs/protocol/rule-differences.md` lists the same, held to
 * this table by a test.
 */

import { HTTP_DIFFERENCES } from './http/known-http-differences.ts';

export interface KnownDifference {
  /** Meets the names that the harness gives to differences (`comparison.ts`); undefined where it makes no such case. */
  readonly matches?: RegExp;
  /** Meets the names of targets; all by default. */
  readonly target?: RegExp;
  /** Meets the inputs; all by default. Without it, one difference could hide another of the same name. */
  readonly input?: RegExp;
  readonly reference: string;
  readonly here: string;
  readonly reason: string;
}

/** As JSON writes half of a surrogate pair; whole pairs stand there as they are. */
const LONE_SURROGATE = /\\ud[89a-f]/i;

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    matches:
      /^accepted here, refused there: (Invalid time value|Cannot convert object to primitive value|'\.receivedAt' should match format "date-time")$/,
    target: /transactions|headers|blocks/,
    reference: 'a transaction whose `receivedAt` is no moment is refused: its constructor throws',
    here: '`receivedAt` is not read',
    reason:
      'Each node writes the member for itself, none stores it, and which texts are moments depends on the runtime. A node of ' +
      'the reference never passes such a transaction on, and this node passes it on without the member.',
  },
  {
    matches:
      /^accepted here, refused there: ('\.(id|confirmations|generatorAddress|previousBlockId)' should|'\.payloadLength' should be integer$|'' should have required property 'id'$)/,
    target: /headers/,
    reference:
      'a block whose `id` is missing or no id, that has members `confirmations` or `generatorAddress` (and `previousBlockId` in generation 2) of a wrong form, or whose `payloadLength` is null, is refused',
    here: 'these members of a block are not read: its id is computed; null is a length of 0',
    reason:
      'Nobody signed them, and none is passed on or stored. A node of the reference never passes such a copy on, and this node ' +
      'passes on the block without them.',
  },
  {
    reference:
      'assets of generation 3 nest as deep as the stack of a process holds when it stores them: below 1,780 levels in a fresh one, up to 3,141 in one that has run for long',
    here: 'blocks may hold 3,400 levels; the pool takes 256, and so does what is forged',
    reason:
      'Such a block splits a network of real nodes: some store it and others cannot. This node takes what any of them stores, and forges what all of them ' +
      'store. A deeper block is passed on by real nodes and stored by none.',
  },
  {
    reference: 'a member of an asset that is named `__proto__` is kept',
    here: 'it is dropped where it comes from a peer',
    reason:
      'It is not signed and counts for nothing, and objects with such a member are a danger to code that copies them.',
  },
  {
    reference:
      'the pool takes transactions with unknown members up to the size of a message, and with any amount among them',
    here: 'the pool takes 8,192 bytes of an asset with unknown members, and an amount from 0 to 200 million LSK; blocks may hold more',
    reason:
      'Up to 5,000 transactions wait in memory, and a block of them must fit in a message. An amount that is negative, has a ' +
      'fraction or exceeds all that exists has no honest use: it shifts vote weights.',
  },
  {
    matches: /^both accept, another result at \.asset\.data$/,
    input: LONE_SURROGATE,
    reference: 'half of a surrogate pair in the data of a transfer is kept until the transfer is stored',
    here: 'it is replaced by U+FFFD when the transfer is read',
    reason:
      'What is signed are the UTF-8 bytes, in which it is U+FFFD already, and the reference stores these bytes: from there on ' +
      'it says U+FFFD too.',
  },
  {
    matches: /^both accept, another result at \.(signature|signSignature|recipientPublicKey)$/,
    target: /transactions/,
    input: /"(signature|signSignature|recipientPublicKey)":"[0-9a-f]*[A-F]/,
    reference:
      "the sender's signatures (`signature`, `signSignature`), and `recipientPublicKey` in generation 2, keep their capitals until the transaction is stored",
    here: 'they are in lower case from the moment at which the transaction is read',
    reason:
      'Both nodes verify bytes, so the same transactions are valid, with the same ids. The reference stores the signatures as ' +
      'bytes: in a block that it reads from its database they are in lower case too.',
  },
  {
    matches: /^accepted here, refused there: new BigNumber\(\) number type has more than # significant digits: #$/,
    target: /headers/,
    reference: 'a total of a block that is a number of JSON with more than 15 digits is refused',
    here: 'it is taken for the sum of the transactions where that is the same number',
    reason:
      'What is signed is the sum. Some nodes write totals as numbers, and a block of ten million LSK must not part them from ' +
      'this node; it passes the block on with a text.',
  },
  {
    matches: /^both accept, another result at \.asset\.dapp\./,
    target: /older/,
    input: LONE_SURROGATE,
    reference:
      'half of a surrogate pair in the texts of an application (type 5 of older history) passes the checks that need no state, and cannot be stored',
    here: 'it is replaced by U+FFFD when the transaction is read',
    reason: 'No history holds such a text, and nobody can add one any more.',
  },
  {
    matches: /^refused here, accepted there: the transaction cannot be written as bytes$/,
    target: /older/,
    reference:
      'types 6 and 7 of older history pass the checks that need no state with an amount beyond 64 bits, and type 7 to a recipient that is a number with a fraction (`7.5L`), or from an application whose id has zeros before it and more than 255 characters',
    here: 'they are refused when they are read',
    reason:
      'No account can pay such an amount. Both types are allowed below a height of the past of the public networks alone, where ' +
      'nobody can add a transaction any more.',
  },
  {
    reference: 'two applications (type 5 of older history) without a link cannot be registered in one block',
    here: 'they can: a link that is missing is none that could be taken',
    reason: 'As above, nobody can add such a transaction any more.',
  },
];

export function knownDifference(target: string, difference: string, example: string): KnownDifference | undefined {
  return [...KNOWN_DIFFERENCES, ...HTTP_DIFFERENCES].find(
    ({ matches, target: targets, input }) =>
      matches?.test(difference) === true && (targets?.test(target) ?? true) && (input?.test(example) ?? true),
  );
}

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
    reference: 'a transaction whose `receivedAt` is not a valid time is refused: its constructor throws',
    here: '`receivedAt` is not read',
    reason:
      'Each node sets the member itself, no node stores it, and the valid time formats depend on the runtime. A reference node ' +
      'never passes such a transaction on; this node passes it on without the member.',
  },
  {
    matches:
      /^accepted here, refused there: ('\.(id|confirmations|generatorAddress|previousBlockId)' should|'\.payloadLength' should be integer$|'' should have required property 'id'$)/,
    target: /headers/,
    reference:
      'a block is refused if its `id` is missing or not an id, if it has members `confirmations` or `generatorAddress` (and `previousBlockId` in generation 2) of a wrong form, or if its `payloadLength` is null',
    here: 'these members are not read: the id is computed, and null is a length of 0',
    reason:
      'They are not signed, and no node passes them on or stores them. A reference node never passes such a copy on; this node ' +
      'passes the block on without them.',
  },
  {
    reference:
      'the stack of the process limits the nesting of generation 3 assets when it stores them: below 1,780 levels in a fresh process, up to 3,141 in one that has run for long',
    here: 'blocks may have 3,400 levels; the pool accepts 256, and so do forged blocks',
    reason:
      'Such a block splits a network of real nodes: some store it and others cannot. This node accepts every block that any of ' +
      'them can store, and forges only blocks that all of them can store. Real nodes pass a deeper block on, but none stores ' +
      'it.',
  },
  {
    reference: 'a member of an asset with the name `__proto__` is kept',
    here: 'it is dropped if it comes from a peer',
    reason: 'It is not signed and has no effect, and objects with such a member endanger code that copies them.',
  },
  {
    reference:
      'the pool accepts transactions with unknown members up to the size of a message, and with any amount among them',
    here: 'the pool accepts 8,192 bytes of an asset with unknown members, and an amount from 0 to 200 million LSK; blocks may have more',
    reason:
      'Up to 5,000 transactions wait in memory, and a block of them must fit in a message. An amount that is negative, has a fraction or exceeds the supply has no honest use: it changes vote weights.',
  },
  {
    matches: /^both accept, another result at \.asset\.data$/,
    input: LONE_SURROGATE,
    reference: 'half of a surrogate pair in the data of a transfer is kept until the transfer is stored',
    here: 'it is replaced by U+FFFD when the transfer is read',
    reason:
      'The signed UTF-8 bytes contain U+FFFD already. The reference stores these bytes, so it also shows U+FFFD from then on.',
  },
  {
    matches: /^both accept, another result at \.(signature|signSignature|recipientPublicKey)$/,
    target: /transactions/,
    input: /"(signature|signSignature|recipientPublicKey)":"[0-9a-f]*[A-F]/,
    reference:
      "the sender's signatures (`signature`, `signSignature`), and `recipientPublicKey` in generation 2, keep their capitals until the transaction is stored",
    here: 'they are in lower case as soon as the transaction is read',
    reason:
      'Both nodes verify bytes, so the same transactions are valid, with the same ids. The reference stores the signatures as bytes, so in a block from its database they are in lower case too.',
  },
  {
    matches: /^accepted here, refused there: new BigNumber\(\) number type has more than # significant digits: #$/,
    target: /headers/,
    reference: 'a block total that is a JSON number with more than 15 digits is refused',
    here: 'it counts as the sum of the transactions if that is the same number',
    reason:
      'The signature covers the sum. Some nodes write totals as numbers, and a block of ten million LSK must not split them ' +
      'from this node. This node passes the block on with a string.',
  },
  {
    matches: /^both accept, another result at \.asset\.dapp\./,
    target: /older/,
    input: LONE_SURROGATE,
    reference:
      'half of a surrogate pair in the strings of an application (type 5 of older history) passes the stateless checks, and cannot be stored',
    here: 'it is replaced by U+FFFD when the transaction is read',
    reason: 'No chain contains such a string, and nobody can add one any more.',
  },
  {
    matches: /^refused here, accepted there: the transaction cannot be written as bytes$/,
    target: /older/,
    reference:
      'types 6 and 7 of older history pass the stateless checks with an amount beyond 64 bits. Type 7 also passes with a recipient that is a number with a fraction (`7.5L`), or from an application whose id has leading zeros and more than 255 characters',
    here: 'they are refused when they are read',
    reason:
      'No account can pay such an amount. Both types are only allowed below a past height of the public networks, where nobody ' +
      'can add a transaction any more.',
  },
  {
    reference: 'two applications (type 5 of older history) without a link cannot be registered in one block',
    here: 'they can: a missing link cannot conflict with another',
    reason: 'Nobody can add such a transaction any more.',
  },
];

export function knownDifference(target: string, difference: string, example: string): KnownDifference | undefined {
  return [...KNOWN_DIFFERENCES, ...HTTP_DIFFERENCES].find(
    ({ matches, target: targets, input }) =>
      matches?.test(difference) === true && (targets?.test(target) ?? true) && (input?.test(example) ?? true),
  );
}

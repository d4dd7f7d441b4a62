/**
 * Known and accepted classes (kinds) of differences from the reference (lisk-sdk), each with its reason.
 * `docs/protocol/rule-differences.md` lists the same classes; a test compares the page with this table.
 */

import { HTTP_DIFFERENCES } from './http/known-http-differences.ts';

export interface KnownDifference {
  /**
   * Matches names of differences. `comparison.ts` creates the names. For HTTP answers, the function `disagreement`
   * creates them. Undefined for a difference that no case of `npm run differential` shows.
   */
  readonly matches?: RegExp;
  /** Matches the names of the targets in which the difference may occur. Undefined means all targets. */
  readonly target?: RegExp;
  /**
   * Matches the inputs that may cause the difference. Undefined means all inputs. A table entry without this pattern
   * could also match an unknown difference from another input, and so hide it.
   */
  readonly input?: RegExp;
  readonly reference: string;
  readonly here: string;
  readonly reason: string;
}

/**
 * Matches an unpaired surrogate, which `JSON.stringify` writes as an escape sequence. `JSON.stringify` writes a
 * surrogate pair as the character itself.
 */
const LONE_SURROGATE = /\\ud[89a-f]/i;

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    matches:
      /^accepted here, refused there: (Invalid time value|Cannot convert object to primitive value|'\.receivedAt' should match format "date-time")$/,
    target: /transactions|headers|blocks/,
    reference:
      'The reference refuses a transaction whose `receivedAt` is not a valid time, because the constructor of the transaction throws an error.',
    here: 'This node does not read `receivedAt`.',
    reason:
      'Each node sets `receivedAt` itself, no node stores it, and the JavaScript runtime decides which time formats are valid. A reference node never passes on a transaction with an invalid `receivedAt`. This node passes the transaction on without `receivedAt`.',
  },
  {
    matches:
      /^accepted here, refused there: ('\.(id|confirmations|generatorAddress|previousBlockId)' should|'\.payloadLength' should be integer$|'' should have required property 'id'$)/,
    target: /headers/,
    reference:
      'The reference refuses a block in JSON if `id` is missing or not an id, if `payloadLength` is null, or if `confirmations` or `generatorAddress` has a wrong form. In generation 2, a block names its parent in `previousBlock`, but the reference also refuses a wrong form of the unused member `previousBlockId`.',
    here: 'This node computes the id itself, and reads a `payloadLength` of null as 0. It ignores `confirmations`, `generatorAddress` and, in generation 2, `previousBlockId`.',
    reason:
      'The signature of the block covers the number 0 instead of a `payloadLength` of null, and does not cover the id and the ignored members. A reference node never passes on a block with one of these members in a wrong form. This node passes the block on with the computed id, with a `payloadLength` of 0, and without the ignored members.',
  },
  {
    reference:
      'An asset of generation 3 may contain nested objects and lists. When the reference stores the asset, the call stack of its process limits the depth of nesting. A new process can store at most 1,780 levels. A process that has run for a long time can store up to 3,141 levels.',
    here: 'This node accepts blocks with up to 3,400 levels. Assets in the pool of this node, and in the blocks that it forges, have at most 256 levels.',
    reason:
      'A block that only some reference nodes can store splits a network of reference nodes. This node accepts every block that any reference node can store, and forges only blocks that all reference nodes can store. No reference node can store a block with more than 3,141 levels.',
  },
  {
    reference: 'If an asset has a member with the name `__proto__`, the reference keeps this member.',
    here: 'When this node receives an asset from a peer, it drops each member `__proto__`.',
    reason:
      'The signature does not cover a member `__proto__`, and the member has no effect in the protocol. Code that copies an object with a member `__proto__` may change the prototype of the copy.',
  },
  {
    reference:
      'The pool of the reference limits the unknown members of an asset only by the maximum size of a message. If an asset has an unknown member `amount`, the pool of the reference accepts any value of this member.',
    here: 'In the pool of this node, an asset with unknown members has at most 8,192 bytes. If an asset has an unknown member `amount`, the pool of this node accepts only a whole number of beddows from 0 to 200 million LSK. This node accepts blocks with assets that exceed these limits.',
    reason:
      'By default, up to 5,000 transactions wait in memory, and a block of waiting transactions must fit in a message. A negative amount, a fraction and an amount above the supply have no honest use, because an unknown member `amount` moves no money.',
  },
  {
    matches: /^both accept, another result at \.asset\.data$/,
    input: LONE_SURROGATE,
    reference: 'The reference keeps half of a surrogate pair in the data of a transfer until it stores the transfer.',
    here: 'This node replaces half of a surrogate pair with U+FFFD when it reads the transfer.',
    reason:
      'The signed UTF-8 bytes already contain U+FFFD, because UTF-8 cannot encode half of a surrogate pair. The reference stores the signed bytes, and therefore also shows U+FFFD after it has stored the transfer.',
  },
  {
    matches: /^both accept, another result at \.(signature|signSignature|recipientPublicKey)$/,
    target: /transactions/,
    input: /"(signature|signSignature|recipientPublicKey)":"[0-9a-f]*[A-F]/,
    reference:
      "The reference keeps capital hex digits in the sender's signatures (`signature`, `signSignature`) until it stores the transaction. In generation 2, the reference also keeps capital hex digits in `recipientPublicKey`.",
    here: 'This node converts these members to lower case when it reads the transaction.',
    reason:
      'Both nodes decode these members to bytes before they verify the transaction, so both accept the same transactions with the same ids. The reference stores the signatures as bytes. When the reference reads a block from its database, the signatures are therefore also in lower case.',
  },
  {
    matches: /^accepted here, refused there: new BigNumber\(\) number type has more than # significant digits: #$/,
    target: /headers/,
    reference:
      'The reference refuses a block whose `totalAmount` or `totalFee` is a JSON number with more than 15 digits.',
    here: 'This node accepts such a number up to 2^53 - 1. In generation 2, this node also accepts a larger number if it equals the sum of the transactions, rounded to a double. As the total, this node uses the exact sum of the transactions instead of the received number.',
    reason:
      'The signature of the block covers the exact total, so a wrong sum makes the signature invalid. Some nodes send totals as JSON numbers. A total of ten million LSK or more has at least 16 digits. This node accepts such a total, so that it stays on the chain of these nodes. This node passes the block on with the total as a string.',
  },
  {
    matches: /^both accept, another result at \.asset\.dapp\./,
    target: /older/,
    input: LONE_SURROGATE,
    reference:
      'In the strings of an application registration (type 5, only in old blocks), half of a surrogate pair passes the stateless checks of the reference. The reference cannot store the transaction.',
    here: 'This node replaces half of a surrogate pair with U+FFFD when it reads the transaction.',
    reason:
      'No chain contains a string with half of a surrogate pair, and nobody can add a transaction of type 5 any more.',
  },
  {
    matches: /^refused here, accepted there: the transaction cannot be written as bytes$/,
    target: /older/,
    reference:
      'In the stateless checks, the reference accepts transactions of types 6 and 7 (only in old blocks) with an amount beyond 64 bits. For type 7, it also accepts a fraction in the recipient (`7.5L`), and an application id that has more than 255 characters because of leading zeros.',
    here: 'When this node reads the transaction, it refuses an amount beyond 64 bits, a fraction in the recipient, and an application id of more than 255 characters.',
    reason:
      'No account can pay an amount beyond 64 bits. The public networks allow types 6 and 7 only below a height that their chains have passed, so nobody can add a transaction of these types any more.',
  },
  {
    reference:
      'In one block, the reference cannot register two applications (type 5, only in old blocks) that have no member `link`.',
    here: 'In one block, this node can register two applications that have no member `link`, because two missing links do not conflict.',
    reason: 'Nobody can add a transaction of type 5 any more.',
  },
];

export function knownDifference(target: string, difference: string, example: string): KnownDifference | undefined {
  return [...KNOWN_DIFFERENCES, ...HTTP_DIFFERENCES].find(
    ({ matches, target: targets, input }) =>
      matches?.test(difference) === true && (targets?.test(target) ?? true) && (input?.test(example) ?? true),
  );
}

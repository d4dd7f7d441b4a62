/**
 * Classes of difference that are known and stay, each with its reason. `docs/protocol/differences.md` lists the same, held to
 * this table by a test.
 */

export interface KnownDifference {
  /** Meets the names that the harness gives to differences (`comparison.ts`). */
  readonly matches: RegExp;
  /** Meets the names of targets; all by default. */
  readonly target?: RegExp;
  readonly reference: string;
  readonly here: string;
  readonly reason: string;
}

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    matches: /^accepted here, refused there: (Invalid time value|'\.receivedAt' should match format "date-time")$/,
    reference: 'a transaction whose `receivedAt` is no moment is refused: its constructor throws',
    here: '`receivedAt` is not read',
    reason:
      'Each node writes the member for itself, none stores it, and which texts are moments depends on the runtime. A node of ' +
      'the reference never passes such a transaction on, and this node passes it on without the member.',
  },
  {
    matches: /^both accept, another result at \.asset\.data$/,
    reference: 'half of a surrogate pair in the data of a transfer is kept until the transfer is stored',
    here: 'it is replaced by U+FFFD when the transfer is read',
    reason:
      'What is signed are the UTF-8 bytes, in which it is U+FFFD already, and the reference stores these bytes: from there on ' +
      'it says U+FFFD too.',
  },
];

export function knownDifference(target: string, difference: string): KnownDifference | undefined {
  return KNOWN_DIFFERENCES.find((known) => known.matches.test(difference) && (known.target?.test(target) ?? true));
}

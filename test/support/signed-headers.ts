import type { SignedHeader } from '../../src/protocol/rules.ts';

/** A signed header in a signing journal (the file of the headers that a node's delegates have signed). */
export interface JournaledHeader {
  /** Public key. */
  readonly delegate: string;
  readonly header: SignedHeader;
}

/**
 * Returns the signed headers in the text of a signing journal (a file of signed headers), oldest first. Other lines,
 * such as the identity of the file, and an incomplete last line are left out.
 */
export function signedHeadersIn(journal: string): readonly JournaledHeader[] {
  return journal
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line.slice(line.indexOf('{'))) as Partial<SignedHeader> & { delegate: string })
    .flatMap(({ delegate, ...header }) => (isHeader(header) ? [{ delegate, header }] : []));
}

function isHeader(entry: Partial<SignedHeader>): entry is SignedHeader {
  return entry.blockId !== undefined;
}

/**
 * Defines the lines of the signing journal, and combines the lines about a delegate into one object (`Known`).
 */

import { isCanonicalHex } from '../primitives/bytes.ts';
import type { SignedHeader } from '../protocol/rules.ts';
import type { PublicKey } from '../protocol/types.ts';
import { checkedLine, contentOf } from './checked-lines.ts';

/**
 * Identifies the file into which a journal was written. A copy of the file has a different identity. Both members
 * contain a number as a string of decimal digits.
 */
export interface FileIdentity {
  readonly inode: string;
  /**
   * Birth time of the file in nanoseconds since 1970. The value has no meaning if the file system does not store birth
   * times.
   */
  readonly bornNs: string;
}

/** The newest values in the lines about one delegate, in a journal or in a watermark file (`watermark-files.ts`). */
export interface Known {
  /** The newest signed header. */
  readonly last?: SignedHeader;
  /**
   * Chain time, in whole seconds. Before this time, the delegate has possibly signed headers that are not in the
   * journal.
   */
  readonly heldSinceS?: number;
  /**
   * True if the node set `heldSinceS` in one of the cases that `SigningJournal.isCopyFor` describes, for example
   * because the journal or an imported record is a copy. It is then possible that another node has the original record
   * and signs the delegate's next header. Undefined in lines of earlier versions.
   */
  readonly isCopy?: boolean;
  /**
   * Timestamp of the newest block of the delegate that another node signed. Only blocks count that this node has
   * received or found on its chain (`Waits.noteForeign`), or that an imported record names. A header that this node
   * signs with the same or a later timestamp removes the value.
   */
  readonly foreignS?: number;
  /** Unix time in whole seconds at which the delegate moved to another node. */
  readonly movedAtS?: number;
  /**
   * The header, and the time of the delegate's move to another node, that this node copied from the delegate's
   * watermark, because the watermark was newer than the journal. A watermark is a record about one delegate, stored
   * outside of the data folder (`Watermark`). If the option `forging.riskDoubleForging` is on, the node ignores what
   * watermarks say, so this header and this time do not count. A later signed header replaces both.
   */
  readonly outside?: Pick<Known, 'last' | 'movedAtS'>;
  /** Id of block 2 of the chain for which the header `last` was signed. Only watermarks have this member. */
  readonly firstBlockId?: string;
}

export type Entry = DelegateEntry | FileIdentity;

/**
 * Mark of a line whose header or move came from the delegate's watermark, a record outside of the data folder
 * (`Known.outside`). Earlier versions ignore the mark.
 */
interface FromOutside {
  readonly isOutside?: true;
}

export type DelegateEntry =
  | (SignedHeader & { readonly delegate: PublicKey } & FromOutside)
  | {
      readonly delegate: PublicKey;
      readonly heldSinceS: number;
      readonly isCopy?: boolean;
      readonly foreignS?: number;
    }
  /** `NOT_MOVED` instead of a time says that the delegate has returned. */
  | ({ readonly delegate: PublicKey; readonly movedAtS: number } & FromOutside)
  | { readonly delegate: PublicKey; readonly firstBlockId: string };

/** Value of `movedAtS` in a line that ends an earlier move of the delegate. */
export const NOT_MOVED = 0;

/**
 * Adds the value in a line about a delegate to `known`. A line with a signed header ends an earlier move of the
 * delegate, because the node signs or imports a header only for a delegate that has returned. There is one exception: a
 * header with the mark `isOutside` ends only a move with this mark. A line with `heldSinceS` does not end a move. The
 * reason is that a node writes such a line when it finds that its journal is a copy, even if the delegate forges on
 * another node at this time.
 */
export function learn(known: Map<PublicKey, Known>, entry: DelegateEntry): void {
  const before = known.get(entry.delegate) ?? {};
  if ('heldSinceS' in entry) {
    const { heldSinceS, isCopy, foreignS = before.foreignS } = entry;
    const { isCopy: _, foreignS: __, ...rest } = before;
    known.set(entry.delegate, { ...rest, heldSinceS, ...definedOf({ isCopy, foreignS }) });
  } else if ('firstBlockId' in entry) known.set(entry.delegate, { ...before, firstBlockId: entry.firstBlockId });
  else if (entry.isOutside === true) known.set(entry.delegate, { ...before, outside: outsideWith(before, entry) });
  else {
    const { movedAtS: _, outside, ...rest } = before;
    if ('movedAtS' in entry) {
      const move = entry.movedAtS === NOT_MOVED ? {} : { movedAtS: entry.movedAtS };
      // A move in this journal replaces only the move that came from the watermark. The header that came from the
      // watermark stays.
      const header = outside?.last === undefined ? {} : { outside: { last: outside.last } };
      known.set(entry.delegate, { ...rest, ...header, ...move });
    } else {
      const { delegate, isOutside: __, ...last } = entry;
      const { foreignS = 0, ...kept } = rest;
      known.set(delegate, { ...kept, last, ...(foreignS > last.timestamp ? { foreignS } : {}) });
    }
  }
}

/**
 * Returns the new value of `Known.outside`. For one watermark, the line with the header comes before the line with the
 * move. The header therefore also replaces the move of an earlier watermark.
 */
function outsideWith(
  { outside }: Known,
  entry: (SignedHeader | { readonly movedAtS: number }) & { readonly delegate: PublicKey } & FromOutside,
): Pick<Known, 'last' | 'movedAtS'> {
  if ('movedAtS' in entry) return { ...outside, movedAtS: entry.movedAtS };
  const { delegate: _, isOutside: __, ...last } = entry;
  return { last };
}

/** Returns the last header of a delegate, from the journal itself or from a watermark (`SigningJournal.last`). */
export function lastOf({ last, outside }: Known): SignedHeader | undefined {
  return outside?.last ?? last;
}

/** Returns the result of `SigningJournal.isCopyFor` for a delegate. */
export function isCopyOf(known: Known): boolean {
  const { heldSinceS = 0, isCopy } = known;
  const last = lastOf(known);
  if (last !== undefined && last.timestamp >= heldSinceS) return false;
  // Lines of earlier versions have no member `isCopy`. If such a line starts a wait of a delegate with a signed header,
  // the reason for the wait was always that the record of the delegate was a copy.
  return isCopy ?? last !== undefined;
}

/** Returns the result of `FolderJournal.own` for a delegate. */
export function ownOf({ last, movedAtS }: Known): Pick<Known, 'last' | 'movedAtS'> {
  return { ...(last === undefined ? {} : { last }), ...(movedAtS === undefined ? {} : { movedAtS }) };
}

/**
 * Returns the lines with which a journal adopts the header of a watermark. The first line contains the header. The
 * second line (`heldSinceS: 0`) ends the delegate's wait. If a crash leaves only the first line, the delegate still
 * waits, and waits at least as long as without these lines.
 */
export function adoptedEntries(delegate: PublicKey, header: SignedHeader): readonly DelegateEntry[] {
  return [...outsideEntriesOf(delegate, { last: header }), { delegate, heldSinceS: 0 }];
}

/**
 * Returns the lines for a header that the node signs. If the journal has a wait of the delegate, the node signs only
 * when this wait is over or not necessary. After the signature, the wait must therefore not continue. If the wait has
 * started at or before the timestamp of the header, the line with the header ends the wait. The timestamp of the header
 * is the start of its slot. If the wait has started later (for example, during this slot), a second line ends the wait.
 */
export function signedEntries(delegate: PublicKey, header: SignedHeader, known: Known): readonly DelegateEntry[] {
  const isWaiting = (known.heldSinceS ?? 0) > header.timestamp;
  return [entryWith(delegate, header), ...(isWaiting ? [holdEntry(delegate, 0, false)] : [])];
}

/** Returns the shortest list of lines from which `learn` makes the given object `known`. */
export function entriesOf(delegate: PublicKey, known: Known): readonly DelegateEntry[] {
  const { last, heldSinceS, isCopy, foreignS, movedAtS, outside, firstBlockId } = known;
  return [
    ...(firstBlockId === undefined ? [] : [{ delegate, firstBlockId }]),
    ...(last === undefined ? [] : [entryWith(delegate, last)]),
    ...(heldSinceS === undefined ? [] : [holdEntry(delegate, heldSinceS, isCopy, foreignS)]),
    ...(movedAtS === undefined ? [] : [{ delegate, movedAtS }]),
    ...(outside === undefined ? [] : outsideEntriesOf(delegate, outside)),
  ];
}

/**
 * Returns the journal lines for the content of a watermark: one line for the header, if the watermark has one, and one
 * line for the time of the delegate's move to another node, if the watermark has one.
 */
export function outsideEntriesOf(
  delegate: PublicKey,
  { last, movedAtS }: Pick<Known, 'last' | 'movedAtS'>,
): readonly DelegateEntry[] {
  return [
    ...(last === undefined ? [] : [{ ...entryWith(delegate, last), isOutside: true as const }]),
    ...(movedAtS === undefined ? [] : [{ delegate, movedAtS, isOutside: true as const }]),
  ];
}

export function holdEntry(
  delegate: PublicKey,
  heldSinceS: number,
  isCopy: boolean | undefined,
  foreignS?: number,
): DelegateEntry {
  return { delegate, heldSinceS, ...definedOf({ isCopy, foreignS }) };
}

/** Returns the members that are not undefined. */
function definedOf(members: Partial<Record<'isCopy', boolean | undefined> & Record<'foreignS', number | undefined>>): {
  readonly isCopy?: boolean;
  readonly foreignS?: number;
} {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

export function entryWith(delegate: PublicKey, header: SignedHeader): SignedHeader & { readonly delegate: PublicKey } {
  return {
    delegate,
    blockId: header.blockId,
    height: header.height,
    timestamp: header.timestamp,
    maxHeightPrevoted: header.maxHeightPrevoted,
    maxHeightPreviouslyForged: header.maxHeightPreviouslyForged,
  };
}

export function lineOf(entry: Entry): Buffer {
  return checkedLine(entry);
}

export function entryOf(line: string): Entry | undefined {
  const entry = contentOf(line);
  return isEntry(entry) ? entry : undefined;
}

function isEntry(value: unknown): value is Entry {
  if (typeof value !== 'object' || value === null) return false;
  const members = value as Readonly<Record<string, unknown>>;
  if (isFileIdentity(members)) return true;
  const { delegate } = members;
  if (typeof delegate !== 'string' || !isCanonicalHex(delegate, 32)) return false;
  if ('heldSinceS' in members) return Number.isSafeInteger(members['heldSinceS']);
  if ('firstBlockId' in members) return typeof members['firstBlockId'] === 'string';
  if ('movedAtS' in members) return Number.isSafeInteger(members['movedAtS']);
  return isSignedHeader(value);
}

export function isFileIdentity(entry: object): entry is FileIdentity {
  const { inode, bornNs } = entry as Partial<FileIdentity>;
  return [inode, bornNs].every((text) => typeof text === 'string' && /^[0-9]{1,30}$/.test(text));
}

/** True when a value from a file has the form of a signed header in the journal. */
export function isSignedHeader(value: unknown): value is SignedHeader {
  if (typeof value !== 'object' || value === null) return false;
  const header = value as Partial<SignedHeader>;
  const numbers = [header.height, header.timestamp, header.maxHeightPrevoted, header.maxHeightPreviouslyForged];
  return typeof header.blockId === 'string' && numbers.every((number) => Number.isSafeInteger(number));
}

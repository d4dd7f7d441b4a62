/**
 * Exports the signing journal of a node to a file (signing record), and imports the file on another node. For each
 * delegate, the record has the last header that the delegate signed, or a chain time (`heldSinceS`), or both. Before
 * this time, the delegate has possibly signed headers that the record does not contain. The file has a checksum. By
 * default, a node that has exported its record does not sign any more. Therefore the exporting node and the importing
 * node do not sign for the same delegates at the same time.
 */

import { sha256Hex } from '../crypto/hash.ts';
import { isCanonicalHex, utf8 } from '../primitives/bytes.ts';
import { ProtocolError } from '../primitives/errors.ts';
import type { ChainParams } from '../protocol/params.ts';
import { holdAfter } from '../engine/forge/watermarked-journal.ts';
import type { SignedHeader } from '../protocol/rules.ts';
import type { PublicKey } from '../protocol/types.ts';
import type { JournalFile, TakenDelegate } from './journal-file.ts';
import { isSignedHeader } from './journal-lines.ts';

export interface SigningRecord {
  readonly networkIdentifier: string;
  /** Unix time of the export, in whole seconds. */
  readonly exportedAtS: number;
  /**
   * True when it is possible that a delegate has signed headers later than the header in the record. There are four
   * possible reasons: the exporting node continues to sign, the journal of that node possibly comes from a copied or
   * restored folder, a delegate of the record was already exported before, or the record was imported before.
   */
  readonly isCopy: boolean;
  readonly delegates: readonly DelegateRecord[];
}

export interface DelegateRecord {
  readonly publicKey: PublicKey;
  readonly last?: SignedHeader;
  /**
   * A chain time in whole seconds. Before this time, the delegate has possibly signed headers that the record does not
   * contain.
   */
  readonly heldSinceS?: number;
  /**
   * True if the journal of the exporting node has no header of the delegate, and if one of two conditions holds. Either
   * the journal says that its entries about the delegate are a possibly outdated copy (`SigningJournal.isCopyFor`), or
   * the exporting node has a watermark of the delegate (a file with the newest signed header, outside of the data
   * folder).
   */
  readonly isCopy?: true;
  /** The value of `Known.foreignS` in the journal of the exporting node; absent if that journal has no such value. */
  readonly foreignS?: number;
}

const FORMAT = 'bloomery signing record 1';
/** Maximum number of delegates in a record. No node has nearly so many delegates. */
const DELEGATES_MAX = 10_000;

/**
 * Makes a record of all delegates in a journal. The journal does not change. To end signing on this node, call
 * `moveRecord` afterwards.
 *
 * @param isBehind true for a delegate whose watermark has a header that the journal lacks
 */
export function recordOf(
  journal: JournalFile,
  { networkIdentifier }: Pick<ChainParams, 'networkIdentifier'>,
  {
    exportedAtS,
    isCopy,
    isBehind = () => false,
  }: Pick<SigningRecord, 'exportedAtS' | 'isCopy'> & { readonly isBehind?: (publicKey: PublicKey) => boolean },
): SigningRecord {
  const delegates = journal.delegates().map((publicKey): DelegateRecord => {
    const last = journal.last(publicKey);
    const heldSinceS = journal.heldSinceS(publicKey);
    const isOfCopy = last === undefined && (journal.isCopyFor(publicKey) || isBehind(publicKey));
    return {
      publicKey,
      ...(last === undefined ? {} : { last }),
      ...(heldSinceS === undefined ? {} : { heldSinceS }),
      ...(isOfCopy ? { isCopy: true } : {}),
      ...foreignOf(journal.foreignS(publicKey)),
    };
  });
  return { networkIdentifier, exportedAtS, isCopy, delegates };
}

/**
 * Ends signing for all delegates of a record. `journal` is the journal from which the record was made.
 *
 * @throws ProtocolError in the same cases as the writes of the journal
 */
export function moveRecord(journal: JournalFile, { delegates, exportedAtS }: SigningRecord): void {
  journal.move(
    delegates.map(({ publicKey }) => publicKey),
    exportedAtS,
  );
}

/** Id of a record, as hexadecimal text. A record and its copies (`isCopy`) have the same id. */
export function idOfRecord(record: SigningRecord): string {
  return checksumOf({ ...record, isCopy: false });
}

/**
 * True if a journal is up to date with a record. For each delegate of the record, the journal must have a signed
 * header, and must not say that the delegate has possibly signed later headers. If the record also has a header of the
 * delegate, the header in the journal must not be older. Also, the journal must not say that a delegate of the record
 * moved to another node.
 */
export function knowsAllOf(journal: JournalFile, { delegates }: SigningRecord): boolean {
  return delegates.every(({ publicKey, last }) => {
    const known = journal.last(publicKey);
    if (journal.movedAtS(publicKey) !== undefined || known === undefined) return false;
    if ((journal.heldSinceS(publicKey) ?? 0) > known.timestamp) return false;
    return last === undefined || known.timestamp >= last.timestamp;
  });
}

/**
 * True if the journal says that a delegate of the record moved to another node, and if this move was possibly later
 * than the export of the record. In this case, the other node possibly signs for the delegate.
 */
export function mayHaveMovedSince(journal: JournalFile, { delegates, exportedAtS }: SigningRecord): boolean {
  const moves = delegates.flatMap(({ publicKey, last }) => {
    const movedAtS = journal.movedAtS(publicKey);
    const known = journal.last(publicKey)?.timestamp ?? -1;
    return movedAtS === undefined ? [] : [{ movedAtS, newerByS: (last?.timestamp ?? -1) - known }];
  });
  // A move is the hand-over of a delegate from the node of the journal to another node. `earlier` contains the times of
  // the moves that count as not later than the export of the record. There are two cases. In the first case, the move
  // has the time of the export, so this export caused the move. In the second case, the record has a newer header of
  // the delegate than the journal, so the export was after the move. If the time of the move differs from the time of
  // the export, and the record has the same header of each delegate as the journal, it is unknown whether the move or
  // the export was first. The reason is that the two times can come from the clocks of two machines.
  const earlier = new Set([exportedAtS, ...moves.filter(({ newerByS }) => newerByS > 0).map((move) => move.movedAtS)]);
  return moves.some(({ movedAtS, newerByS }) => newerByS < 0 || !earlier.has(movedAtS));
}

export function textOfRecord(record: SigningRecord): string {
  return `${JSON.stringify({ format: FORMAT, ...record, checksum: checksumOf(record) }, null, 2)}\n`;
}

/**
 * Parses the text of a record.
 *
 * @param file name of the file with the text; the error names this file
 * @throws ProtocolError `SIGNING_RECORD_INVALID` with the fault in its message, if the text is not a valid record
 */
export function recordOfText(text: string, file: string): SigningRecord {
  const invalid = (reason: string): ProtocolError =>
    new ProtocolError('SIGNING_RECORD_INVALID', { file }, `${file}: ${reason}: export it again`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid('is not a signing record, or was cut short');
  }
  const { format, checksum, networkIdentifier, exportedAtS, isCopy, delegates } = (value ??
    {}) as Partial<SigningRecord> & {
    readonly format?: unknown;
    readonly checksum?: unknown;
  };
  if (format !== FORMAT) throw invalid(`is not a signing record of the form \`${FORMAT}\``);
  const isWhole =
    typeof networkIdentifier === 'string' &&
    Number.isSafeInteger(exportedAtS) &&
    typeof isCopy === 'boolean' &&
    Array.isArray(delegates) &&
    delegates.length <= DELEGATES_MAX &&
    delegates.every(isDelegateRecord);
  if (!isWhole) throw invalid('lacks a member, or has one of a wrong type');
  const record: SigningRecord = { networkIdentifier, exportedAtS: exportedAtS ?? 0, isCopy, delegates };
  if (checksum !== checksumOf(record)) throw invalid('was changed or damaged: its checksum does not match');
  return record;
}

/** @throws ProtocolError `SIGNING_RECORD_OTHER` if the record is not of the given network */
export function checkNetwork(
  { networkIdentifier: other }: SigningRecord,
  { networkIdentifier }: Pick<ChainParams, 'networkIdentifier'>,
): void {
  if (other === networkIdentifier) return;
  const message = `the signing record is of another network (network identifier ${other.slice(0, 16)}...)`;
  throw new ProtocolError('SIGNING_RECORD_OTHER', { networkIdentifier: other }, message);
}

/**
 * Returns what an import of the record writes to the journal (`JournalFile.take`). If the record and the journal both
 * have a header of a delegate, the journal gets the later header. In this header, the function raises
 * `maxHeightPrevoted` and `maxHeightPreviouslyForged` to the values of the earlier header, if those values are higher.
 * If the earlier header has a greater height than the later header, the function also raises
 * `maxHeightPreviouslyForged` to at least this greater height.
 *
 * The result also has a time (`heldSinceS`). Before this time, there are possibly unknown signatures of the delegate:
 * - A copy (`isCopy` of the record or of the delegate) can lack later signatures, so the time is usually `nowS`. More
 *   exactly, the time is the latest of four times, because the clock can be behind: `nowS`, the time directly after the
 *   header, `heldSinceS` in the record, and `heldSinceS` in the journal. The same time applies if the record has a
 *   header of the delegate that is earlier than `heldSinceS` in the record.
 * - If the record is not a copy, and counts as up to date for the delegate, the time is 0. The record counts as up to
 *   date if three conditions hold: the record has a header of the delegate, `heldSinceS` in the record is not later
 *   than this header, and the journal has no later header. Even if these conditions hold, the journal or the record
 *   possibly names a time (`foreignS`) at which another node signed a block of the delegate. If this time is after the
 *   header, the time in the result is `heldSinceS` in the journal (0 if the journal has none).
 * - In all other cases, the time is the later one of `heldSinceS` in the record and `heldSinceS` in the journal. But if
 *   the journal is a copy, the journal can lack signatures, so the time is the same as for a copied record.
 *
 * @param record a record of the network of the journal (`checkNetwork`)
 * @param nowS present chain time in whole seconds
 */
export function takenOf(journal: JournalFile, record: SigningRecord, nowS: number): readonly TakenDelegate[] {
  return record.delegates.map((delegate) => {
    const { publicKey, heldSinceS = 0 } = delegate;
    const known = journal.last(publicKey);
    const last = mergedHeader(known, delegate.last);
    const isNewest = isWhole(delegate) && last?.timestamp === delegate.last?.timestamp;
    // If `isWhole` is false, the record itself says that the delegate has possibly signed a later header than the
    // header in the record. The header in the record then possibly comes from a copied journal, even if the record has
    // no mark `isCopy`.
    const isOfCopy = delegate.isCopy === true || (delegate.last !== undefined && !isWhole(delegate));
    const isDoubtful = record.isCopy || isOfCopy || (journal.isCopied && !isNewest);
    const knownHeldS = journal.heldSinceS(publicKey) ?? 0;
    // Only a block after the header `last` counts as a block of another node. The exporting node itself signed the
    // blocks up to this header.
    const foreignS = Math.max(journal.foreignS(publicKey) ?? 0, delegate.foreignS ?? 0);
    const isNoted = foreignS > (last?.timestamp ?? 0);
    const unknownBeforeS = isNewest ? (isNoted ? knownHeldS : 0) : Math.max(heldSinceS, knownHeldS);
    return {
      publicKey,
      ...(last === undefined ? {} : { last }),
      heldSinceS: isDoubtful ? Math.max(holdAfter(last, nowS), heldSinceS, knownHeldS) : unknownBeforeS,
      isCopy: isDoubtful || (!isNewest && journal.isCopyFor(publicKey)),
      ...foreignOf(isNoted ? foreignS : undefined),
    };
  });
}

/**
 * Returns the number of delegates that wait after an import, because these delegates have possibly signed headers that
 * the record lacks.
 */
export function waitingAmong(delegates: readonly TakenDelegate[]): number {
  return delegates.filter(({ last, heldSinceS }) => last === undefined || heldSinceS > last.timestamp).length;
}

/** True if the record is not a copy, and contains an entry for each delegate of the journal. */
export function coversAllOf(journal: JournalFile, { isCopy, delegates }: SigningRecord): boolean {
  const covered = new Set(delegates.map(({ publicKey }) => publicKey));
  return !isCopy && journal.delegates().every((publicKey) => covered.has(publicKey));
}

/** True if the record has the newest header that the delegate signed before the export. */
export function isWhole({ last, heldSinceS = 0 }: DelegateRecord): boolean {
  return last !== undefined && heldSinceS <= last.timestamp;
}

function mergedHeader(one: SignedHeader | undefined, other: SignedHeader | undefined): SignedHeader | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const [earlier, later] = one.timestamp <= other.timestamp ? [one, other] : [other, one];
  return {
    ...later,
    maxHeightPrevoted: Math.max(later.maxHeightPrevoted, earlier.maxHeightPrevoted),
    maxHeightPreviouslyForged: Math.max(
      later.maxHeightPreviouslyForged,
      earlier.maxHeightPreviouslyForged,
      earlier.height > later.height ? earlier.height : 0,
    ),
  };
}

function foreignOf(foreignS: number | undefined): { readonly foreignS?: number } {
  return foreignS === undefined ? {} : { foreignS };
}

function isDelegateRecord(value: unknown): value is DelegateRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { publicKey, last, heldSinceS, isCopy, foreignS } = value as Partial<DelegateRecord>;
  return (
    typeof publicKey === 'string' &&
    isCanonicalHex(publicKey, 32) &&
    (last === undefined || isSignedHeader(last)) &&
    (heldSinceS === undefined || Number.isSafeInteger(heldSinceS)) &&
    (isCopy === undefined || isCopy) &&
    (foreignS === undefined || Number.isSafeInteger(foreignS)) &&
    (last !== undefined || heldSinceS !== undefined)
  );
}

/** Checksum of the members of a record in a fixed order, regardless of their order in the file. */
function checksumOf({ networkIdentifier, exportedAtS, isCopy, delegates }: SigningRecord): string {
  const parts = delegates.map(({ publicKey, last, heldSinceS, isCopy: isOfCopy, foreignS }) => [
    publicKey,
    last === undefined
      ? null
      : [last.blockId, last.height, last.timestamp, last.maxHeightPrevoted, last.maxHeightPreviouslyForged],
    heldSinceS ?? null,
    // If a delegate has neither `isCopy` nor `foreignS`, the list contains no values for these members. The checksum is
    // then the same as in earlier versions.
    ...(isOfCopy === true || foreignS !== undefined ? [isOfCopy ?? false] : []),
    ...(foreignS === undefined ? [] : [foreignS]),
  ]);
  return sha256Hex(utf8(JSON.stringify([FORMAT, networkIdentifier, exportedAtS, isCopy, parts])));
}

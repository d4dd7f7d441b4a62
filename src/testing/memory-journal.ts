/**
 * Implements the signing journal (the record of the headers that a node's delegates have signed) for a devnet that
 * keeps all its data in memory. For each delegate, this journal stores the same data as a signing journal in a file,
 * because both journals add entries with the functions of `journal-lines.ts`.
 */

import {
  adoptedEntries,
  holdEntry,
  isCopyOf,
  lastOf,
  learn,
  outsideEntriesOf,
  ownOf,
  signedEntries,
  type DelegateEntry,
  type Known,
} from '../node/journal-lines.ts';
import type { FolderJournal, Watermark } from '../ports/journal.ts';
import type { SignedHeader } from '../protocol/rules.ts';
import type { PublicKey } from '../protocol/types.ts';

export class MemorySigningJournal implements FolderJournal {
  readonly isCopied = false;
  readonly #known: Map<PublicKey, Known>;

  constructor(known: ReadonlyMap<PublicKey, Known> = new Map<PublicKey, Known>()) {
    this.#known = new Map(known);
  }

  copy(): MemorySigningJournal {
    return new MemorySigningJournal(this.#known);
  }

  last(publicKey: PublicKey): SignedHeader | undefined {
    return lastOf(this.#knownOf(publicKey));
  }

  heldSinceS(publicKey: PublicKey): number | undefined {
    return this.#knownOf(publicKey).heldSinceS;
  }

  isCopyFor(publicKey: PublicKey): boolean {
    return isCopyOf(this.#knownOf(publicKey));
  }

  movedAtS(publicKey: PublicKey): number | undefined {
    const { movedAtS, outside } = this.#knownOf(publicKey);
    return movedAtS ?? outside?.movedAtS;
  }

  foreignS(publicKey: PublicKey): number | undefined {
    return this.#knownOf(publicKey).foreignS;
  }

  outside(): 'unknown' {
    return 'unknown';
  }

  recalled(): undefined {
    return undefined;
  }

  adopt(publicKey: PublicKey, header: SignedHeader): void {
    this.#learn(adoptedEntries(publicKey, header));
  }

  record(publicKey: PublicKey, header: SignedHeader): void {
    this.#learn(signedEntries(publicKey, header, this.#knownOf(publicKey)));
  }

  hold(publicKey: PublicKey, sinceS: number, isCopy = false, foreignS?: number): void {
    this.#learn([holdEntry(publicKey, sinceS, isCopy, foreignS)]);
  }

  copyFrom(publicKey: PublicKey, watermark: Pick<Watermark, 'last' | 'movedAtS'>): void {
    this.#learn(outsideEntriesOf(publicKey, watermark));
  }

  own(publicKey: PublicKey): Pick<Watermark, 'last' | 'movedAtS'> {
    return ownOf(this.#knownOf(publicKey));
  }

  delegates(): readonly PublicKey[] {
    return [...this.#known.keys()];
  }

  recordFileIdentity(): void {
    // There is nothing to record, because a journal in memory has no file.
  }

  close(): void {
    // There is nothing to close, because a journal in memory has no file.
  }

  #knownOf(publicKey: PublicKey): Known {
    return this.#known.get(publicKey) ?? {};
  }

  #learn(entries: readonly DelegateEntry[]): void {
    for (const entry of entries) learn(this.#known, entry);
  }
}

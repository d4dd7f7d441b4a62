/** Implements the signing journal of a node in a devnet that keeps all its data in memory. */

import type { FolderJournal, Watermark } from '../ports/journal.ts';
import type { SignedHeader } from '../protocol/rules.ts';
import type { PublicKey } from '../protocol/types.ts';

export class MemorySigningJournal implements FolderJournal {
  readonly isCopied = false;
  readonly #last = new Map<PublicKey, SignedHeader>();
  readonly #heldSinceS = new Map<PublicKey, number>();
  readonly #copies = new Set<PublicKey>();

  copy(): MemorySigningJournal {
    const copy = new MemorySigningJournal();
    for (const [publicKey, header] of this.#last) copy.#last.set(publicKey, header);
    for (const [publicKey, sinceS] of this.#heldSinceS) copy.#heldSinceS.set(publicKey, sinceS);
    for (const publicKey of this.#copies) copy.#copies.add(publicKey);
    return copy;
  }

  last(publicKey: PublicKey): SignedHeader | undefined {
    return this.#last.get(publicKey);
  }

  heldSinceS(publicKey: PublicKey): number | undefined {
    return this.#heldSinceS.get(publicKey);
  }

  isCopyFor(publicKey: PublicKey): boolean {
    return this.#copies.has(publicKey);
  }

  movedAtS(): undefined {
    return undefined;
  }

  foreignS(): undefined {
    return undefined;
  }

  outside(): 'unknown' {
    return 'unknown';
  }

  recalled(): undefined {
    return undefined;
  }

  adopt(publicKey: PublicKey, header: SignedHeader): void {
    this.record(publicKey, header);
    this.hold(publicKey, 0);
  }

  record(publicKey: PublicKey, header: SignedHeader): void {
    this.#last.set(publicKey, header);
  }

  hold(publicKey: PublicKey, sinceS: number, isCopy = false): void {
    this.#heldSinceS.set(publicKey, sinceS);
    if (isCopy) this.#copies.add(publicKey);
    else this.#copies.delete(publicKey);
  }

  copyFrom(publicKey: PublicKey, { last }: Pick<Watermark, 'last'>): void {
    if (last !== undefined) this.record(publicKey, last);
  }

  own(publicKey: PublicKey): Pick<Watermark, 'last'> {
    const last = this.last(publicKey);
    return last === undefined ? {} : { last };
  }

  delegates(): readonly PublicKey[] {
    return [...new Set([...this.#last.keys(), ...this.#heldSinceS.keys()])];
  }

  recordFileIdentity(): void {
    // There is nothing to record, because a journal in memory has no file.
  }

  close(): void {
    // There is nothing to close, because a journal in memory has no file.
  }
}

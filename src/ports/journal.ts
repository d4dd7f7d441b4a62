/** The signing journal: what each delegate signed here, on disk before it is sent, and what is known of the time before. */

import type { SignedHeader } from '../protocol/rules.ts';
import type { PublicKey } from '../protocol/types.ts';

export interface SigningJournal {
  /** The last header that the delegate signed on this node; undefined for none. */
  last(publicKey: PublicKey): SignedHeader | undefined;
  /**
   * Chain time in whole seconds before which the delegate may have signed headers that this journal does not tell of;
   * undefined when it tells of all.
   */
  heldSinceS(publicKey: PublicKey): number | undefined;
  /** Unix time in whole seconds at which the record of the delegate was handed to another node; undefined if it was not. */
  movedAtS(publicKey: PublicKey): number | undefined;
  /** Keeps a header. Durable (flushed to the disk) when this returns. */
  record(publicKey: PublicKey, header: SignedHeader): void;
  /** Keeps that nothing certain is known of what the delegate signed before a moment. Durable when this returns. */
  hold(publicKey: PublicKey, sinceS: number): void;
  close(): void;
}

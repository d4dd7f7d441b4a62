/** The signing journal: what each delegate signed here, on disk before it is sent. */

import type { SignedHeader } from '../protocol/rules.ts';
import type { PublicKey } from '../protocol/types.ts';

export interface SigningJournal {
  /** The last header that the delegate signed on this node; undefined for none. */
  last(publicKey: PublicKey): SignedHeader | undefined;
  /** Keeps a header. Durable (flushed to the disk) when this returns. */
  record(publicKey: PublicKey, header: SignedHeader): void;
  close(): void;
}

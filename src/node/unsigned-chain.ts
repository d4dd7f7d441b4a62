/**
 * Marks stores with unsigned content. A devnet can add transactions of impersonated accounts, and blocks for the
 * delegates of a forked chain, without valid signatures. A node does not verify stored blocks again, so the store of
 * each such devnet node is marked. A node outside a devnet refuses a marked store.
 */

import { ProtocolError } from '../primitives/errors.ts';
import type { NoteName } from '../ports/notes.ts';
import type { NoteStore } from '../ports/store.ts';

const NOTE: NoteName = 'chain/unsigned';

/** Marks a store. Must be called before the node accepts the first unsigned block or transaction. */
export function markUnsigned(store: NoteStore): void {
  if (store.note(NOTE) !== undefined) return;
  store.transact((writer) => {
    writer.setNote(NOTE, Uint8Array.of(1));
  });
}

/** @throws ProtocolError `STORE_OF_DEVNET` for a store that was marked */
export function refuseUnsigned(store: Pick<NoteStore, 'note'>, directory: string): void {
  if (store.note(NOTE) === undefined) return;
  throw new ProtocolError(
    'STORE_OF_DEVNET',
    { directory },
    `The chain in ${directory} is that of a devnet with unsigned blocks or transactions, so no other node accepts it. ` +
      'Continue it with bloomery devnet, or start this node with another data directory.',
  );
}

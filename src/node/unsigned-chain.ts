/**
 * Marks stores that possibly contain blocks or transactions without valid signatures. On a devnet, the nodes accept
 * unsigned transactions of impersonated accounts. A forked devnet has a publicly known substitute key. The nodes of a
 * forked devnet accept a signature with this key for any account and any delegate. Outside a devnet, such blocks and
 * transactions are invalid, but a node does not verify the blocks in its store again. A node of a forked devnet, or of
 * a devnet with impersonated accounts, therefore marks its store, and a node outside a devnet refuses a marked store.
 */

import { ProtocolError } from '../primitives/errors.ts';
import type { NoteName } from '../ports/notes.ts';
import type { NoteStore } from '../ports/store.ts';

const NOTE: NoteName = 'chain/unsigned';

/** Marks a store. Call the function before the node accepts a block or transaction without a valid signature. */
export function markUnsigned(store: NoteStore): void {
  if (store.note(NOTE) !== undefined) return;
  store.transact((writer) => {
    writer.setNote(NOTE, Uint8Array.of(1));
  });
}

/**
 * @param directory data folder that the error names
 * @throws ProtocolError `STORE_OF_DEVNET` for a marked store
 */
export function refuseUnsigned(store: Pick<NoteStore, 'note'>, directory: string): void {
  if (store.note(NOTE) === undefined) return;
  throw new ProtocolError(
    'STORE_OF_DEVNET',
    { directory },
    `The chain in ${directory} is that of a devnet with unsigned blocks or transactions, so no other node accepts it. ` +
      'Continue it with bloomery devnet, or start this node with another data folder.',
  );
}

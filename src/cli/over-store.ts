/** Work over a chain store whose bytes may be anything: a flipped byte in a value makes every kind of error in its decoders. */

import { codeOf, messageOf } from '../primitives/errors.ts';
import { storeDamaged } from '../store/disk/environment.ts';
import { CommanderError } from 'commander';

/**
 * Calls `work`. What it throws without a code of ours comes of bytes that nobody wrote, or of a defect: both are named.
 *
 * @param directory folder of the store, which is there already
 * @throws ProtocolError `STORE_DAMAGED`, and what `work` throws with a code
 */
export async function overStore<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const hasCode = codeOf(error) !== undefined || error instanceof CommanderError;
    const isOfSystem = typeof (error as NodeJS.ErrnoException).syscall === 'string';
    if (hasCode || isOfSystem) throw error;
    const why = `${messageOf(error)} (should \`bloomery verify\` find nothing wrong, then please report this)`;
    throw storeDamaged(directory, why, error);
  }
}

/**
 * If work on a chain store fails with an unexpected error, reports the store as damaged. A wrong byte in a value causes
 * many kinds of errors in the decoders, so no single kind of error shows damage.
 */

import { codeOf, messageOf } from '../primitives/errors.ts';
import { storeDamaged } from '../store/disk/store-refusals.ts';
import { CommanderError } from 'commander';

/**
 * Calls `work`. ProtocolErrors, errors of Commander and errors of system calls pass unchanged. Any other error of
 * `work` means damaged bytes or a defect of this program. The function replaces such an error by an error that names
 * both possibilities.
 *
 * @param directory folder of the store, for the error
 * @throws the errors of `work`. An error that has no code and does not come from the system shows damage or a defect of
 *   the program. For such an error, the function throws the ProtocolError `STORE_DAMAGED` instead
 */
export async function withDamageReport<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const hasCode = codeOf(error) !== undefined || error instanceof CommanderError;
    const isOfSystem = typeof (error as NodeJS.ErrnoException).syscall === 'string';
    if (hasCode || isOfSystem) throw error;
    const why = `${messageOf(error)} (if \`bloomery verify\` finds no damage, please report this error)`;
    throw storeDamaged(directory, why, error);
  }
}

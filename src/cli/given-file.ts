/** Files that a command is told to write. */

import { statSync } from 'node:fs';
import { ProtocolError } from '../primitives/errors.ts';

/**
 * Devices and pipes are written to as they are.
 *
 * @throws ProtocolError `FILE_EXISTS` for a file that is there, unless it is to be replaced
 */
export function checkNotReplaced(file: string, { force }: { readonly force?: true }): void {
  if (force === true || statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return;
  throw new ProtocolError(
    'FILE_EXISTS',
    { file },
    `${file} is there already: name another file, or replace it with --force`,
  );
}

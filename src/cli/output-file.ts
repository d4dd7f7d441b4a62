/** Checks that a command does not replace an existing file by mistake. */

import { statSync } from 'node:fs';
import { ProtocolError } from '../primitives/errors.ts';

/**
 * Refuses to replace a file. Devices and pipes are accepted.
 *
 * @throws ProtocolError `FILE_EXISTS` for an existing file, unless `force` is given
 */
export function checkNotReplaced(file: string, { force }: { readonly force?: true }): void {
  if (force === true || statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return;
  throw new ProtocolError(
    'FILE_EXISTS',
    { file },
    `${file} already exists: name another file, or replace it with --force`,
  );
}

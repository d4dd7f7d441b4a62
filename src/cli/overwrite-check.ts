/** Checks that a command does not replace an existing file by mistake. */

import { statSync } from 'node:fs';
import { ProtocolError } from '../primitives/errors.ts';

/**
 * Refuses to replace an existing regular file, unless `force` is given. The function accepts anything else that exists,
 * such as a device or a pipe.
 *
 * @throws ProtocolError `FILE_EXISTS`
 */
export function checkNotOverwritten(file: string, { force }: { readonly force?: true }): void {
  if (force === true || statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return;
  throw new ProtocolError(
    'FILE_EXISTS',
    { file },
    `${file} already exists: name another file, or replace it with --force`,
  );
}

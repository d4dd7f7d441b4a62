/** Checks that a command does not replace an existing file by mistake. */

import { realpathSync, statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { ProtocolError } from '../primitives/errors.ts';
import { usageError } from './error-lines.ts';

/**
 * Refuses to replace an existing regular file, unless `force` is given. The function accepts a path of any other kind,
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

/**
 * Refuses an output file in the data folder that the command reads, even with `--force`: the file could replace the
 * chain or the signing record (the file with the headers that the node's delegates have signed).
 *
 * @throws ProtocolError `USAGE`
 */
export function checkOutside(file: string, folder: string): void {
  const parent = dirname(resolve(file));
  if (statSync(parent, { throwIfNoEntry: false }) === undefined) return;
  const path = relative(realpathSync(folder), realpathSync(parent));
  if (path === '' || !/^\.\.($|[/\\])/.test(path))
    throw usageError(`${file} is in ${folder}, which contains the data of the node: name a file in another folder`);
}

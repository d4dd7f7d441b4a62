/**
 * Writes the folder of a network. The new files replace the old folder only if all new files are complete and a node
 * can load these files.
 */

import { chmodSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadNetwork, NETWORK_NAME, type Network } from '../config/network.ts';
import { ProtocolError } from '../primitives/errors.ts';
import { makeFolder } from '../store/disk/folder.ts';
import { ACCOUNTS_FILE } from './genesis/accounts-file.ts';
import { usageError } from './error-lines.ts';

/** Files that only the owner can read. */
const SECRET_FILES: ReadonlySet<string> = new Set(['forgers.json', ACCOUNTS_FILE]);

/**
 * @throws ProtocolError `USAGE` for an invalid name
 */
export function checkNetworkName(name: string): void {
  if (NETWORK_NAME.test(name)) return;
  throw usageError(`--name \`${name}\` must be lower-case letters, digits, \`-\`, \`_\` and \`.\`, at most 32`);
}

/**
 * @param remedy advice at the end of the error message
 * @throws ProtocolError `OUT_NOT_EMPTY` if `directory` is a file, or a folder that is not empty
 */
export function checkEmpty(directory: string, remedy: string): void {
  if (!existsSync(directory)) return;
  if (statSync(directory).isDirectory() && readdirSync(directory).length === 0) return;
  throw new ProtocolError('OUT_NOT_EMPTY', { directory }, `${directory}: exists and is not empty: ${remedy}`);
}

/**
 * Writes the files into a temporary folder beside `out`, and loads this folder in the same way as a node. Then removes
 * the old folder `out`, and renames the temporary folder to `out`.
 *
 * @param files contents of the files, by file name
 * @param sourceOf returns a path for the name of a file; error messages show this path, and not the path of the
 *   temporary file
 * @throws ProtocolError the error of `loadNetwork`, with the paths from `sourceOf`. In this case, the function does not
 *   change the folder `out`
 */
export function writeNetworkFolder(
  out: string,
  files: ReadonlyMap<string, string>,
  sourceOf = (file: string): string => join(out, file),
): Network {
  makeFolder(dirname(out));
  const draft = mkdtempSync(join(dirname(out), '.network-'));
  try {
    for (const [file, content] of files) {
      writeFileSync(join(draft, file), content, { mode: SECRET_FILES.has(file) ? 0o600 : 0o644 });
    }
    chmodSync(draft, 0o755);
    const network = loadNetwork(draft);
    rmSync(out, { recursive: true, force: true });
    renameSync(draft, out);
    return { ...network, directory: out };
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!(error instanceof ProtocolError)) throw error;
    let { message } = error;
    for (const file of files.keys()) message = message.replaceAll(join(draft, file), sourceOf(file));
    throw new ProtocolError(error.code, error.data, message, { cause: error });
  }
}

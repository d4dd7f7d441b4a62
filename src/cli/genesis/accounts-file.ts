/** The file `accounts.json` of a network that Bloomery has created. The file contains passphrases in clear text. */

import { join } from 'node:path';
import { readBounded } from '../../config/bounded-file.ts';
import { ProtocolError } from '../../primitives/errors.ts';

export interface KnownAccount {
  readonly name: string;
  readonly address: string;
  readonly publicKey: string;
  readonly passphrase: string;
}

export const ACCOUNTS_FILE = 'accounts.json';
const FILE_BYTES_MAX = 1024 * 1024;

/**
 * @throws ProtocolError `NETWORK_UNREADABLE` when the file is missing, too large or not JSON
 */
export function readAccounts(directory: string): readonly KnownAccount[] {
  const file = join(directory, ACCOUNTS_FILE);
  try {
    return (
      JSON.parse(readBounded(file, { bytesMax: FILE_BYTES_MAX }).toString('utf8')) as {
        accounts: readonly KnownAccount[];
      }
    ).accounts;
  } catch (error) {
    throw new ProtocolError('NETWORK_UNREADABLE', { file }, `${file}: cannot be read`, { cause: error });
  }
}

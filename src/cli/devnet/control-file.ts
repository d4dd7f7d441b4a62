/**
 * Writes and reads the file with the control port of a running devnet, and with the token that this port requires. Only
 * the user who started the devnet can read the file.
 */

import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readBounded } from '../../config/bounded-file.ts';
import { ProtocolError } from '../../primitives/errors.ts';

export interface ControlAccess {
  readonly port: number;
  /** Token that the control port requires; 64 hexadecimal digits. */
  readonly token: string;
}

export const CONTROL_FILE = 'control.json';
const FILE_BYTES_MAX = 4096;
const OWNER_ALONE = 0o600;

export function writeControlFile(directory: string, access: ControlAccess): void {
  const file = join(directory, CONTROL_FILE);
  const draft = `${file}.draft`;
  rmSync(draft, { force: true });
  writeFileSync(draft, `${JSON.stringify(access)}\n`, { mode: OWNER_ALONE, flag: 'wx' });
  renameSync(draft, file);
}

export function removeControlFile(directory: string): void {
  rmSync(join(directory, CONTROL_FILE), { force: true });
}

export function isControlFileThere(directory: string): boolean {
  return existsSync(join(directory, CONTROL_FILE));
}

/** @throws ProtocolError `DEVNET_NOT_RUNNING` when the file is missing, unreadable or malformed */
export function readControlFile(directory: string): ControlAccess {
  try {
    const text = readBounded(join(directory, CONTROL_FILE), { bytesMax: FILE_BYTES_MAX }).toString('utf8');
    const { port, token } = JSON.parse(text) as Partial<ControlAccess>;
    if (Number.isInteger(port) && typeof token === 'string' && /^[0-9a-f]{64}$/.test(token)) {
      return { port: Number(port), token };
    }
  } catch {
    // If the file cannot be read or parsed, the function throws the same error as for wrong content.
  }
  throw notRunning(directory);
}

export function notRunning(directory: string): ProtocolError {
  return new ProtocolError(
    'DEVNET_NOT_RUNNING',
    { directory },
    `no devnet runs in ${directory}: start it with bloomery devnet, or name its folder with --data-dir`,
  );
}

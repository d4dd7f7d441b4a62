/**
 * Stores the watermarks of signatures as files, one for each delegate of a network. A watermark contains the newest
 * signed header of a delegate. If the delegate was handed over to another node, the watermark also contains the time of
 * the hand-over. By default, the files are outside the data folder. When the operator restores a data folder from a
 * backup, the watermarks therefore do not change, and reveal that the signing journal in the restored data folder is
 * old. The lines of the files have the same form as the lines of the signing journal (`journal-lines.ts`).
 */

import { closeSync, fsync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { messageOf } from '../primitives/errors.ts';
import type { SigningWatermarks, Watermark } from '../ports/journal.ts';
import type { Observer } from '../ports/observer.ts';
import type { PublicKey } from '../protocol/types.ts';
import { makeFolder } from '../store/disk/folder.ts';
import { identityOf, isSameFile, renewTimeOfChange } from './file-identity.ts';
import { entriesOf, entryOf, isFileIdentity, learn, lineOf, type FileIdentity, type Known } from './journal-lines.ts';

/** Value of `forging.watermarkFolder` with which the node stores no watermarks. */
const NO_WATERMARKS = 'none';
/**
 * Number of digits of a network identifier in file names. This number is enough to distinguish the networks on a
 * machine.
 */
const IDENTIFIER_DIGITS = 16;

/**
 * Finds the folder for watermarks.
 *
 * @param configured a path, `none`, or an empty text for the default folder of the user
 * @param environment variables of the process; the default folder is `$XDG_STATE_HOME/bloomery/signed`, or
 *   `~/.local/state/bloomery/signed` if `XDG_STATE_HOME` is not set
 * @returns undefined when the node stores no watermarks
 */
export function watermarkFolderOf(configured: string, environment: NodeJS.ProcessEnv): string | undefined {
  if (configured === NO_WATERMARKS) return undefined;
  if (configured !== '') return configured;
  const state = environment['XDG_STATE_HOME'] ?? '';
  // The XDG base directory specification says that a relative path is invalid, and must be ignored.
  return join(isAbsolute(state) ? state : join(homedir(), '.local', 'state'), 'bloomery', 'signed');
}

/**
 * The identity that `write` puts into the file of a watermark with the mark `Watermark.isCopied` (the delegate has
 * possibly signed later headers). No file has this inode and birth time, so `read` always returns this watermark with
 * the mark.
 */
const NO_FILE: FileIdentity = { inode: '0', bornNs: '0' };

export class WatermarkFiles implements SigningWatermarks {
  readonly #folder: string;
  readonly #network: string;
  readonly #observer: Observer;
  /**
   * Delegates whose watermark file could not be read or written. When a later write of a delegate's file succeeds, the
   * node removes the delegate from this set.
   */
  readonly #failing = new Set<PublicKey>();

  constructor(folder: string, networkIdentifier: string, observer: Observer) {
    this.#folder = folder;
    this.#network = networkIdentifier.slice(0, IDENTIFIER_DIGITS);
    this.#observer = observer;
  }

  /**
   * Writes a test file into the folder, and then removes it. Logs a warning if the write or the removal fails. Without
   * this check, the operator would learn that the folder is unusable only after the first signature.
   */
  check(): void {
    try {
      makeFolder(this.#folder, 0o700);
      const file = join(this.#folder, `${this.#network}.${process.pid}.check`);
      closeSync(openSync(file, 'w', 0o600));
      rmSync(file);
    } catch (error) {
      this.#warn('written', error);
    }
  }

  read(publicKey: PublicKey): Watermark | undefined {
    let descriptor: number | undefined;
    try {
      descriptor = openSync(this.#file(publicKey), 'r');
      renewIfAllowed(descriptor);
      const known = new Map<PublicKey, Known>();
      let isCopied = false;
      for (const line of readFileSync(descriptor, 'utf8').split('\n')) {
        const entry = entryOf(line);
        if (entry === undefined) continue;
        if (isFileIdentity(entry)) isCopied = !isSameFile(descriptor, entry);
        else if (entry.delegate === publicKey) learn(known, entry);
      }
      const watermark = known.get(publicKey);
      return watermark === undefined || !isCopied ? watermark : { ...watermark, isCopied };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#logFailure('read', publicKey, error);
      return undefined;
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }

  /**
   * Replaces the whole file, and does not wait until the new file is flushed to the disk. A power cut can lose the new
   * content, but the signing journal, which is already on the disk, contains the newest header. The last line of the
   * new file has the identity (inode and birth time) of this file. If an older file is later restored from a backup,
   * the restored last line does not have the identity of the restored file, and so reveals the backup. If the watermark
   * has the mark `isCopied` (the delegate has possibly signed later headers), the last line has the identity `NO_FILE`,
   * which no file has.
   */
  write(publicKey: PublicKey, { last, movedAtS, firstBlockId, isCopied }: Watermark): void {
    const file = this.#file(publicKey);
    const known = {
      ...(firstBlockId === undefined ? {} : { firstBlockId }),
      ...(last === undefined ? {} : { last }),
      ...(movedAtS === undefined ? {} : { movedAtS }),
    };
    const lines = Buffer.concat(entriesOf(publicKey, known).map(lineOf));
    try {
      makeFolder(this.#folder, 0o700);
      // On some file systems, the reported birth time changes when the file changes. On such a file system, every
      // watermark would look like a copy, so the watermark gets no identity.
      const identify = isCopied === true ? () => NO_FILE : identityOf;
      if (!replaceFile(file, (descriptor) => Buffer.concat([lines, lineOf(identify(descriptor))])) && isCopied !== true)
        replaceFile(file, () => lines);
      this.#failing.delete(publicKey);
    } catch (error) {
      this.#logFailure('written', publicKey, error);
      this.#remove(file);
    }
  }

  /**
   * Removes a file that the node could not replace. The watermark in this file is outdated, so keeping it would be
   * dangerous. If the signing journal were later lost or restored from a backup, the node would treat the old header in
   * this watermark as the newest signed header of the delegate. The delegate could then sign a contradicting header.
   */
  #remove(file: string): void {
    try {
      rmSync(file, { force: true });
    } catch {
      // No second warning is necessary: `write` has already logged that it could not write the watermark.
    }
  }

  #file(publicKey: PublicKey): string {
    return join(this.#folder, `${this.#network}-${publicKey}`);
  }

  /** Adds the delegate to `#failing`, and logs the failed read or write if `#failing` was empty before. */
  #logFailure(what: 'read' | 'written', publicKey: PublicKey, error: unknown): void {
    const isFirst = this.#failing.size === 0;
    this.#failing.add(publicKey);
    if (isFirst) this.#warn(what, error);
  }

  #warn(what: 'read' | 'written', error: unknown): void {
    const message =
      `watermarks of signatures cannot be ${what}, so they cannot reveal a data folder that was restored from a backup; ` +
      'set another folder with forging.watermarkFolder, or `none` to run without watermarks';
    this.#observer.log('warn', 'FORGING_WATERMARK_FAILED', message, {
      folder: this.#folder,
      reason: messageOf(error),
    });
  }
}

/**
 * Makes `isSameFile` compare birth times. An archive program can restore a small file within one tick of the clock. The
 * change time of the file is then equal to its birth time, and `isSameFile` would compare only the inodes.
 */
function renewIfAllowed(descriptor: number): void {
  try {
    renewTimeOfChange(descriptor);
  } catch {
    // The system does not renew the change time of the file if the user is not allowed to change the access rights of
    // the file, or if the file system is mounted for reading only. If the change time is equal to the birth time,
    // `isSameFile` then compares the inodes instead of the birth times. Equal inodes prove less, because file systems
    // reuse inodes.
  }
}

/**
 * Replaces a file by a new file with the given content.
 *
 * @param contentOf gets the descriptor of the new file, which is still empty
 * @returns false if the identity of the new file has changed with its content
 */
function replaceFile(file: string, contentOf: (descriptor: number) => Buffer): boolean {
  const draft = `${file}.${process.pid}.new`;
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    const identity = identityOf(descriptor);
    writeSync(descriptor, contentOf(descriptor));
    renameSync(draft, file);
    const isSame = isSameFile(descriptor, identity);
    fsync(descriptor, () => closeSync(descriptor));
    return isSame;
  } catch (error) {
    closeSync(descriptor);
    rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * Files in memory behind the synchronous functions of `node:fs`, for tests that need thousands of small writes, or a
 * process that is killed between two writes. Only paths below one folder are in memory. The inode numbers and the times
 * of the files depend only on the calls and on the clock of the test, so each run of a test is the same.
 */

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname } from 'node:path';

/** Thrown by each write of a process that was killed. */
export class ProcessKilled extends Error {
  readonly code = 'EIO';
}

interface Inode {
  readonly number: number;
  readonly bornNs: bigint;
  changedNs: bigint;
  content: Buffer;
}

interface Opened {
  readonly inode: Inode | 'folder';
  readonly isAppending: boolean;
  position: number;
}

const FIRST_DESCRIPTOR = 1_000_000_000;
const NS_PER_MS = 1_000_000n;
/**
 * Part of the name of each lock file. On a real disk, the lock files of a killed process stay, but do not prevent the
 * next process from taking the lock. In `MemoryFiles`, a killed process can still remove its lock files, so that the
 * next process can take the lock, too.
 */
const LOCK_FILE = /\.in-use\./;

export class MemoryFiles {
  /** Path of the folder whose content is in memory. */
  readonly root: string;
  readonly #nowMs: () => number;
  readonly #names = new Map<string, Inode | 'folder'>();
  readonly #opened = new Map<number, Opened>();
  #nextInode = 1;
  #nextDescriptor = FIRST_DESCRIPTOR;
  #ticks = 0n;
  #writes = 0;
  #killAt = Infinity;

  constructor(root: string, nowMs: () => number) {
    this.root = root;
    this.#nowMs = nowMs;
    this.#names.set(root, 'folder');
  }

  /**
   * Runs a process that is killed at one of its writes: the write and all later writes throw.
   *
   * @param at number of the write, from 1 on; Infinity for a process that is not killed
   * @returns whether the process was killed
   */
  killedAt(at: number, process: () => void): boolean {
    this.#writes = 0;
    this.#killAt = at;
    try {
      process();
      return this.isKilled;
    } catch (error) {
      if (!this.isKilled) throw error;
      return true;
    } finally {
      this.#killAt = Infinity;
    }
  }

  get isKilled(): boolean {
    return this.#writes >= this.#killAt;
  }

  /** Contents of the files directly in a folder, by name. Lock files are left out. */
  copyOf(folder: string): ReadonlyMap<string, Buffer> {
    const copy = new Map<string, Buffer>();
    for (const [path, inode] of this.#names)
      if (inode !== 'folder' && dirname(path) === folder && !LOCK_FILE.test(path))
        copy.set(path.slice(folder.length + 1), Buffer.from(inode.content));
    return copy;
  }

  /**
   * Copies files into a folder. With `isOver`, existing files keep their inodes and other files stay, as with `cp -a`
   * over a folder. Otherwise, the folder is removed first.
   */
  put(folder: string, copy: ReadonlyMap<string, Buffer>, isOver: boolean): void {
    if (!isOver) this.remove(folder);
    this.#names.set(folder, 'folder');
    for (const [name, content] of copy) this.#write(this.#create(`${folder}/${name}`), Buffer.from(content));
  }

  remove(path: string): void {
    for (const name of this.#names.keys()) if (name === path || name.startsWith(`${path}/`)) this.#names.delete(name);
  }

  /** Replaces functions of `node:fs`. @returns a function that ends the replacement */
  install(): () => void {
    const real: Record<string, unknown> = {};
    const functions = fs as unknown as Record<string, unknown>;
    const replace = (name: string, isOurs: (first: unknown) => boolean, ours: (...args: never[]) => unknown): void => {
      const before = functions[name] as (...args: unknown[]) => unknown;
      real[name] = before;
      functions[name] = (...args: unknown[]) =>
        isOurs(args[0]) ? (ours as (...args: unknown[]) => unknown)(...args) : before(...args);
    };
    const isPath = (path: unknown): boolean =>
      typeof path === 'string' && (path === this.root || path.startsWith(`${this.root}/`));
    const isDescriptor = (descriptor: unknown): boolean =>
      typeof descriptor === 'number' && descriptor >= FIRST_DESCRIPTOR;
    const isEither = (file: unknown): boolean => isPath(file) || isDescriptor(file);
    replace('openSync', isPath, (path: string, flags: string | number = 'r') => this.#open(path, flags));
    replace('closeSync', isDescriptor, (descriptor: number) => this.#opened.delete(descriptor));
    replace('writeSync', isDescriptor, (descriptor: number, bytes: Buffer, offset = 0) => {
      this.#append(descriptor, bytes.subarray(offset));
      return bytes.length - offset;
    });
    replace('writeFileSync', isEither, (file: string | number, text: string | Buffer) => {
      const descriptor = typeof file === 'number' ? file : this.#open(file, 'w');
      this.#append(descriptor, Buffer.from(text as string));
    });
    replace('readSync', isDescriptor, (descriptor: number, into: Buffer) => {
      const opened = this.#at(descriptor);
      const count = contentOf(opened).copy(into, 0, opened.position);
      opened.position += count;
      return count;
    });
    replace('readFileSync', isEither, (file: string | number, encoding?: BufferEncoding) => {
      const content = typeof file === 'number' ? contentOf(this.#at(file)) : this.#inodeOf(file).content;
      return encoding === undefined ? Buffer.from(content) : content.toString(encoding);
    });
    replace('fsyncSync', isDescriptor, (descriptor: number) => {
      this.#at(descriptor);
      this.#count('');
    });
    replace('fsync', isDescriptor, (_descriptor: number, then: (error: null) => void) => then(null));
    replace('ftruncateSync', isDescriptor, (descriptor: number, bytes: number) => {
      this.#count('');
      const { inode } = this.#at(descriptor);
      if (inode !== 'folder') this.#write(inode, inode.content.subarray(0, bytes));
    });
    replace('fchmodSync', isDescriptor, (descriptor: number) => {
      const { inode } = this.#at(descriptor);
      if (inode !== 'folder') inode.changedNs = this.#nowNs();
    });
    replace('fstatSync', isDescriptor, (descriptor: number) => statsOf(this.#at(descriptor).inode));
    replace('statSync', isPath, (path: string) => statsOf(this.#names.get(path) ?? missing(path)));
    replace('lstatSync', isPath, (path: string) => statsOf(this.#names.get(path) ?? missing(path)));
    replace('existsSync', isPath, (path: string) => this.#names.has(path));
    replace('realpathSync', isPath, (path: string) => path);
    replace('utimesSync', isPath, () => undefined);
    replace('readdirSync', isPath, (path: string) =>
      [...this.#names.keys()].filter((name) => dirname(name) === path).map((name) => name.slice(path.length + 1)),
    );
    replace('mkdirSync', isPath, (path: string) => {
      if (this.#names.has(path)) throw failure('EEXIST', path);
      this.#count(path);
      this.#names.set(path, 'folder');
    });
    replace('renameSync', isPath, (from: string, to: string) => {
      const inode = this.#inodeOf(from);
      this.#count(to);
      this.#names.delete(from);
      this.#names.set(to, inode);
    });
    replace('rmSync', isPath, (path: string, { force = false }: { readonly force?: boolean } = {}) => {
      if (!this.#names.has(path) && !force) throw failure('ENOENT', path);
      if (this.#names.has(path)) this.#count(path);
      this.remove(path);
    });
    syncBuiltinESMExports();
    return () => {
      Object.assign(fs, real);
      syncBuiltinESMExports();
    };
  }

  #open(path: string, flags: string | number): number {
    const found = this.#names.get(path);
    const isReading = typeof flags === 'number' || flags.startsWith('r');
    if (found === undefined && isReading) throw failure('ENOENT', path);
    if (found !== undefined && !isReading && flags.includes('x')) throw failure('EEXIST', path);
    if (found === undefined) this.#count(path);
    const inode = found ?? this.#create(path);
    if (flags === 'w' && inode !== 'folder' && inode.content.length > 0) {
      this.#count(path);
      this.#write(inode, Buffer.alloc(0));
    }
    const descriptor = this.#nextDescriptor;
    this.#nextDescriptor += 1;
    this.#opened.set(descriptor, { inode, isAppending: !isReading, position: 0 });
    return descriptor;
  }

  #append(descriptor: number, bytes: Buffer): void {
    const { inode } = this.#at(descriptor);
    if (inode === 'folder') throw failure('EISDIR', '');
    const isLock = [...this.#names].some(([name, each]) => each === inode && LOCK_FILE.test(name));
    // A process that is killed during a write has written only a part of the bytes.
    const isKilledNow = !isLock && this.#writes + 1 === this.#killAt;
    if (isKilledNow) this.#write(inode, Buffer.concat([inode.content, bytes.subarray(0, bytes.length >> 1)]));
    if (!isLock) this.#count('');
    this.#write(inode, Buffer.concat([inode.content, bytes]));
  }

  /** Counts a write, and throws if the process is killed at this write or was killed before. */
  #count(path: string): void {
    if (LOCK_FILE.test(path)) return;
    this.#writes += 1;
    if (this.#writes >= this.#killAt) throw new ProcessKilled('the process was killed');
  }

  #create(path: string): Inode {
    const found = this.#names.get(path);
    if (found !== undefined && found !== 'folder') return found;
    const bornNs = this.#nowNs();
    const inode = { number: this.#nextInode, bornNs, changedNs: bornNs, content: Buffer.alloc(0) };
    this.#nextInode += 1;
    this.#names.set(path, inode);
    return inode;
  }

  #write(inode: Inode, content: Buffer): void {
    inode.content = content;
    inode.changedNs = this.#nowNs();
  }

  #at(descriptor: number): Opened {
    return this.#opened.get(descriptor) ?? missing(String(descriptor));
  }

  #inodeOf(path: string): Inode {
    const inode = this.#names.get(path);
    return inode === undefined || inode === 'folder' ? missing(path) : inode;
  }

  /** Each call returns a later time, so no two files have the same birth time. */
  #nowNs(): bigint {
    this.#ticks += 1n;
    return BigInt(this.#nowMs()) * NS_PER_MS + this.#ticks;
  }
}

function contentOf({ inode }: Opened): Buffer {
  return inode === 'folder' ? missing('') : inode.content;
}

function statsOf(inode: Inode | 'folder'): object {
  const isFolder = inode === 'folder';
  const [bornNs, changedNs] = isFolder ? [0n, 0n] : [inode.bornNs, inode.changedNs];
  return {
    ino: isFolder ? 0n : BigInt(inode.number),
    birthtimeNs: bornNs,
    ctimeNs: changedNs,
    nlink: 1,
    size: isFolder ? 0 : inode.content.length,
    isFile: () => !isFolder,
    isDirectory: () => isFolder,
    isFIFO: () => false,
    isSocket: () => false,
    isSymbolicLink: () => false,
  };
}

function missing(path: string): never {
  throw failure('ENOENT', path);
}

function failure(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

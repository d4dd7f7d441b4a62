/**
 * One process per folder, or per thing in it that has a name. A claim is a file named after its process, so a claim left by
 * a killed process is recognised and never blocks a restart: its process number is gone, waits for its parent to notice, or
 * belongs to a process that started at another moment; and what is removed as stale is never a claim made since.
 *
 * Process numbers say nothing across containers, where each node may be number 1: an owner with a clock touches its claim
 * now and then and listens on a socket beside it. A claim that was made in another container is stale when it was not touched
 * for a while and nobody listens: a paused process keeps its claim.
 */

import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, resolve } from 'node:path';

import type { Clock, Timer } from '../../ports/clock.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { isHolderListening, listenAsHolder } from './holder-socket.ts';

export interface ProcessLock {
  /**
   * Whether its claim is still there. A process that stood still for long (a paused container) finds it taken for stale, and
   * maybe another at work in its place.
   */
  isHeld(): boolean;
  release(): void;
}

const TOUCH_MS = 5_000;
/** So long a claim of another container counts after it was touched last: a busy owner may be late. */
const ELSEWHERE_MS_MAX = 30_000;

/** Process number of an owner, boot of the machine and clock ticks until its start, and where processes are numbered. */
const OWNER = /^(\d+)\.([0-9a-z]+(?:-\d+)?)(?:-in(\d+))?$/;

/** Claims of this very process: a claim in its name that it does not know was left by an earlier one with its number. */
const ownClaims = new Set<string>();

/**
 * Claims first and looks for other claims second: of processes that start at once several may be refused, but never are
 * two let in.
 *
 * @param directory a folder that exists
 * @param name what is claimed in it: claims are files `<name>.<process number>.<its start>`, and with a clock
 *   `-in<where processes are numbered>` behind that
 * @param clock for things that other containers may reach too; without it a claim from there counts as long as it is there
 * @throws ProtocolError `LOCKED` with `directory`, `name`, the owner's `pid` and, in words, the `owner` while a living process
 *   holds it; what writing the claim throws
 */
export function takeLock(directory: string, name: string, clock?: Clock): ProcessLock {
  const here = clock === undefined || NUMBERED_IN === undefined ? '' : `-in${NUMBERED_IN}`;
  const file = resolve(directory, `${name}.${process.pid}.${startOf(process.pid) ?? 'unknown'}${here}`);
  if (ownClaims.has(file)) throw locked(directory, name, { pid: process.pid, isElsewhere: false });
  writeFileSync(file, '');
  ownClaims.add(file);
  const stopTouching = clock === undefined ? undefined : keepTouching(file, clock);
  const socket = clock === undefined ? undefined : listenAsHolder(resolve(directory), socketOf(file));
  const release = (): void => {
    stopTouching?.();
    socket?.close();
    rmSync(file, { force: true });
    ownClaims.delete(file);
  };
  try {
    refuseOthers(directory, name, file, clock);
  } catch (error) {
    release();
    throw error;
  }
  return { isHeld: () => ownClaims.has(file) && existsSync(file), release };
}

/**
 * Owner of a claim that counts, in words; undefined when there is none. Looking changes nothing.
 *
 * @param clock as for `takeLock`
 */
export function ownerOf(directory: string, name: string, clock: Clock | undefined): string | undefined {
  return wordsForFirst(claimsIn(directory, name, clock));
}

/** As `ownerOf`, of claims that were made in another container. */
export function ownerElsewhere(directory: string, name: string, clock: Clock): string | undefined {
  return wordsForFirst(claimsIn(directory, name, clock).filter(({ isElsewhere }) => isElsewhere));
}

function wordsForFirst(claims: readonly Claim[]): string | undefined {
  const owner = claims.find(({ isHeld }) => isHeld);
  return owner === undefined ? undefined : wordsFor(owner);
}

/** Removes stale claims on the way. */
function refuseOthers(directory: string, name: string, ownFile: string, clock: Clock | undefined): void {
  for (const claim of claimsIn(directory, name, clock)) {
    if (resolve(claim.file) === ownFile) continue;
    if (claim.isHeld) throw locked(directory, name, claim);
    rmSync(claim.file, { force: true });
    rmSync(join(directory, socketOf(claim.file)), { force: true });
  }
}

interface Owner {
  readonly pid: number;
  readonly isElsewhere: boolean;
}

interface Claim extends Owner {
  readonly file: string;
  readonly isHeld: boolean;
}

function claimsIn(directory: string, name: string, clock: Clock | undefined): readonly Claim[] {
  return readdirSync(directory).flatMap((entry) => {
    const match = entry.startsWith(`${name}.`) ? OWNER.exec(entry.slice(name.length + 1)) : null;
    if (match === null) return [];
    const [, number, start = '', numberedIn] = match;
    const pid = Number(number);
    const file = join(directory, entry);
    const isElsewhere = numberedIn !== undefined && numberedIn !== NUMBERED_IN;
    const isHeld = isElsewhere
      ? isOfThisBoot(start) && (isTouched(file, clock) || isHolderListening(directory, socketOf(file)))
      : isAlive(pid) && (startOf(pid) ?? start) === start;
    return [{ file, pid, isElsewhere, isHeld }];
  });
}

function locked(directory: string, name: string, by: Owner): ProtocolError {
  const owner = wordsFor(by);
  return new ProtocolError(
    'LOCKED',
    { directory, name, pid: by.pid, owner },
    `${join(directory, name)}: in use by ${owner}`,
  );
}

function wordsFor({ pid, isElsewhere }: Owner): string {
  if (!isElsewhere) return `process ${pid}`;
  return `process ${pid} of another container (one that was killed counts for ${ELSEWHERE_MS_MAX / 1000} s, a paused one until it is ended)`;
}

/** Name of the socket beside a claim. */
function socketOf(claim: string): string {
  return `${basename(claim)}.sock`;
}

/** Returns how to stop it. */
function keepTouching(file: string, clock: Clock): () => void {
  let timer: Timer;
  const touch = (): void => {
    try {
      utimesSync(file, clock.nowMs() / 1000, clock.nowMs() / 1000);
    } catch {
      // It is gone, as `isHeld` says, or the disk fails: others say so.
    }
    timer = clock.after(TOUCH_MS, touch);
  };
  touch();
  return () => timer.cancel();
}

function isTouched(file: string, clock: Clock | undefined): boolean {
  try {
    // One that the clock was set back behind is as old: its owner would have touched it since.
    return clock === undefined || Math.abs(clock.nowMs() - statSync(file).mtimeMs) < ELSEWHERE_MS_MAX;
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives and belongs to someone else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Names where processes are numbered: each container counts for itself. Undefined where the system does not tell. */
const NUMBERED_IN = numberedIn();

function numberedIn(): string | undefined {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0];
  } catch {
    return undefined;
  }
}

function isOfThisBoot(start: string): boolean {
  return start.split('-')[0] === startOf(process.pid)?.split('-')[0];
}

/**
 * When the process started: boot of the machine and clock ticks since; `ended` for one that was killed and waits for its
 * parent to notice. Undefined where the system does not tell.
 */
function startOf(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8);
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses and may hold spaces: fields are counted from the third.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return 'ended';
    return fields[19] === undefined ? undefined : `${boot}-${fields[19]}`;
  } catch {
    return undefined;
  }
}

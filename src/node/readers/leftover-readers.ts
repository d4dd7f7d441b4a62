/**
 * Ends readers (processes that answer HTTP for a node) that still run after their node has ended. Usually a reader ends
 * when its node ends. But a reader that hangs or is paused does not end, and keeps the listening socket open. The next
 * start of the node could then not open the HTTP port. The node therefore writes a file for each of its readers. At its
 * next start, the node reads these files to find leftover readers.
 */

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../ports/clock.ts';
import { isEnding, parentOf, startOf } from '../../store/disk/process-start.ts';

/**
 * Name of the file that the node writes for a reader. The name contains the process number of the reader, and the start
 * time of the reader as `startOf` returns it.
 */
const FILE = /^reader\.(\d+)\.([0-9a-z]+-\d+)$/;
const LOOK_MS = 10;
/**
 * Maximum time, in milliseconds, that the operating system gets to end all threads of a killed process and to close its
 * sockets.
 */
const END_MS_MAX = 5_000;

/**
 * Writes a file that records a running reader. The name of the file contains the process number and the start time of
 * the reader. The content of the file is the process number of the node. If the operating system does not report the
 * start time of the reader, or the disk refuses the file, the function leaves no file.
 *
 * @param directory folder of the node's data
 * @param nodePid process number of the node
 * @returns a function that removes the file; the caller calls it when the reader has ended
 */
export function noteReader(directory: string, pid: number, nodePid: number): () => void {
  const start = startOf(pid);
  const file = join(directory, `reader.${pid}.${start ?? ''}`);
  if (!FILE.test(`reader.${pid}.${start ?? ''}`)) return () => undefined;
  try {
    writeFileSync(file, String(nodePid));
  } catch {
    // The error is ignored, because a full or failing disk must not prevent the node from answering requests. The file
    // is removed, because its content (the process number of the node) can be missing.
    rmSync(file, { force: true });
  }
  return () => {
    rmSync(file, { force: true });
  };
}

/**
 * Kills the readers whose node has ended. If the node of a reader is still ending, the function first waits for the end
 * of this node. After the kill, the function waits for the end of the reader. Each wait takes at most `END_MS_MAX`. In
 * two cases, the function does not kill a reader, because the node of the reader runs or possibly runs. In the first
 * case, the parent process of the reader is still the node that wrote the reader's file. In the second case, the file
 * does not contain the process number of the node.
 *
 * @param directory folder of the node's data; the folder need not exist
 * @returns process numbers of the killed readers
 */
export async function endLeftoverReaders(directory: string, clock: Clock): Promise<readonly number[]> {
  const killed: number[] = [];
  const until = async (isDone: () => boolean): Promise<void> => {
    for (let waitedMs = 0; !isDone() && waitedMs < END_MS_MAX; waitedMs += LOOK_MS) {
      await new Promise<void>((resolve) => clock.after(LOOK_MS, resolve));
    }
  };
  for (const { file, pid, start } of notesIn(directory)) {
    const isRunning = (): boolean => startOf(pid) === start;
    const nodePid = nodePidIn(file);
    if (nodePid === undefined && isRunning()) continue;
    // A killed node stays the parent of its readers, and keeps its ports, until its last thread has ended.
    if (nodePid !== undefined) await until(() => !isEnding(nodePid));
    if (isRunning()) {
      if (parentOf(pid) === nodePid) continue;
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // The kill fails if the reader ended in the meantime, or belongs to another user.
        continue;
      }
      killed.push(pid);
    }
    await until(() => !isRunning() && !isEnding(pid));
    rmSync(file, { force: true });
  }
  return killed;
}

/**
 * A file that `noteReader` wrote: its path, and the process number and the start time that its name contains (see
 * `FILE`).
 */
interface Note {
  readonly file: string;
  readonly pid: number;
  readonly start: string;
}

function notesIn(directory: string): readonly Note[] {
  let entries: readonly string[];
  try {
    entries = readdirSync(directory);
  } catch {
    return [];
  }
  return entries.flatMap((entry) => {
    const [, pid, start = ''] = FILE.exec(entry) ?? [];
    return pid === undefined ? [] : [{ file: join(directory, entry), pid: Number(pid), start }];
  });
}

function nodePidIn(file: string): number | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    return /^[1-9]\d*$/.test(text) ? Number(text) : undefined;
  } catch {
    return undefined;
  }
}

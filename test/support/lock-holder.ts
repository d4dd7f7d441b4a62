/**
 * Tries to take a lock of a folder at a given time, prints the process id and the result, and then runs until a test
 * kills the process. Usage: `lock-holder.js FOLDER [UNIX-TIME-MS [NAME]]`. The default name of the lock is `thing`.
 */

import { messageOf } from '../../src/primitives/errors.ts';
import { takeLock } from '../../src/store/disk/process-lock.ts';

const [folder = '', startMs = '0', name = 'thing'] = process.argv.slice(2);
// Some tests start several of these processes, which must try to take the lock at the same moment. Timers are too
// inexact for this, so the process polls the clock in a tight loop.
while (Date.now() < Number(startMs));
let word: string;
try {
  takeLock(folder, name);
  word = 'taken';
} catch (error) {
  word = `refused ${messageOf(error)}`;
}
process.stdout.write(`${process.pid} ${word}\n`);
setInterval(() => undefined, 1000);

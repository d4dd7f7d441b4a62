/** Entry of the executable: runs the command of `process.argv` and sets the exit code. */

import { CommanderError } from 'commander';
import { note, noteText } from './output.ts';
import { EXIT, problemOf } from './problems.ts';
import { createProgram } from './program.ts';
import { nameSourcesInTraces } from './stack-traces.ts';

nameSourcesInTraces();
process.on('uncaughtException', fail);

try {
  await createProgram().parseAsync(process.argv);
  process.exit(process.exitCode ?? EXIT.ok);
} catch (error) {
  fail(error);
}

/** Whatever went wrong is one line. */
function fail(error: unknown): never {
  // Help and version end in an error of exit code 0 that has printed already.
  if (error instanceof CommanderError && error.exitCode === 0) process.exit(EXIT.ok);
  const problem = problemOf(error);
  note(problem.line);
  if (process.env['BLOOMERY_DEBUG'] === '1' && error instanceof Error) noteText(`${error.stack}\n`);
  process.exit(problem.exitCode);
}

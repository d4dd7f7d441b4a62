/** Entry of the executable: runs the command of `process.argv` and sets the exit code. */

import { CommanderError } from 'commander';
import { EXIT, problemOf } from './problems.ts';
import { createProgram } from './program.ts';

try {
  await createProgram().parseAsync(process.argv);
  process.exit(process.exitCode ?? EXIT.ok);
} catch (error) {
  // Help and version end in an error of exit code 0 that has printed already.
  if (error instanceof CommanderError && error.exitCode === 0) process.exit(EXIT.ok);
  const problem = problemOf(error);
  process.stderr.write(`${problem.line}\n`);
  if (process.env['BLOOMERY_DEBUG'] === '1' && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  process.exit(problem.exitCode);
}

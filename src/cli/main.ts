/** Entry point of the executable: it runs the command in `process.argv` and sets the exit code. */

import { CommanderError } from 'commander';
import { printStderr, writeStderr } from './output.ts';
import { EXIT, errorLineOf } from './error-lines.ts';
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

/**
 * Prints any error in one line, and ends the process. With `BLOOMERY_DEBUG=1`, the function also prints the stack
 * trace.
 */
function fail(error: unknown): never {
  // Commander throws an error with exit code 0 after it has printed the help or the version.
  if (error instanceof CommanderError && error.exitCode === 0) process.exit(EXIT.ok);
  const errorLine = errorLineOf(error);
  printStderr(errorLine.line);
  if (process.env['BLOOMERY_DEBUG'] === '1' && error instanceof Error) writeStderr(`${error.stack}\n`);
  process.exit(errorLine.exitCode);
}

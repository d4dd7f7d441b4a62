/**
 * A program that runs the commands of its standard input and prints the output of each. Each line of the input is a
 * JSON list of arguments.
 */

import { readFileSync } from 'node:fs';
import { printLine } from '../../src/cli/output.ts';
import { errorLineOf } from '../../src/cli/error-lines.ts';
import { createProgram } from '../../src/cli/program.ts';

for (const line of readFileSync(0, 'utf8').trim().split('\n')) {
  try {
    await createProgram().parseAsync(['node', 'bloomery', ...(JSON.parse(line) as string[])]);
  } catch (error) {
    printLine(errorLineOf(error).line);
  }
}

/** Program: runs the commands of its standard input, a JSON list of arguments on each line, and prints what each says. */

import { readFileSync } from 'node:fs';
import { printLine } from '../../src/cli/output.ts';
import { problemOf } from '../../src/cli/problems.ts';
import { createProgram } from '../../src/cli/program.ts';

for (const line of readFileSync(0, 'utf8').trim().split('\n')) {
  try {
    await createProgram().parseAsync(['node', 'bloomery', ...(JSON.parse(line) as string[])]);
  } catch (error) {
    printLine(problemOf(error).line);
  }
}

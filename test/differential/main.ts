/**
 * `npm run differential`: the published packages of the reference beside this node's rules, or, with `--http`, a real node and two
 * of ours on one chain. `flags.ts` has the command line, `session.ts` the run.
 */

import { readFlags } from './flags.ts';

const flags = readFlags(process.argv.slice(2), Date.now() % 1_000_000, {
  write: (text) => (text.startsWith('error: ') ? process.stderr : process.stdout).write(text),
  exit: (code) => process.exit(code),
});
// Loaded behind the flags: wrong ones are refused at once.
const { compareAll } = await import('./session.ts');
process.exitCode = await compareAll(flags);

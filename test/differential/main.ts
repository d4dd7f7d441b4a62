/**
 * `npm run differential`: compares the published packages of the reference (lisk-sdk) with the rules of this node. With
 * `--http` it compares a real node with two nodes of this project on one chain. `flags.ts` reads the command line, and
 * `session.ts` makes the comparison.
 */

import { readFlags } from './flags.ts';

const flags = readFlags(process.argv.slice(2), Date.now() % 1_000_000, {
  write: (text) => (text.startsWith('error: ') ? process.stderr : process.stdout).write(text),
  exit: (code) => process.exit(code),
});
// Import the session only after the flags are checked, so that invalid flags are refused immediately.
const { compareAll } = await import('./session.ts');
process.exitCode = await compareAll(flags);

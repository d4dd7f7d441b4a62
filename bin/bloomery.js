#!/usr/bin/env node
/** The executable. The executable checks the Node version and the build, and then runs the compiled command line. */

import { existsSync } from 'node:fs';

const NODE_MIN = [20, 19];
const MAIN = new URL('../dist/src/bundle/main.js', import.meta.url);

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1])) {
  console.error(`bloomery needs Node ${NODE_MIN.join('.')} or newer; this is Node ${process.versions.node}.`);
  process.exitCode = 1;
} else if (!existsSync(MAIN)) {
  console.error('bloomery is not built yet: run "npm run build" in its folder.');
  process.exitCode = 1;
} else {
  try {
    await import(MAIN.href);
  } catch (error) {
    // A loaded program reports its own errors. Here, loading itself failed, because it opens many files.
    if (error?.code !== 'EMFILE' && error?.code !== 'ENFILE') throw error;
    console.error('bloomery: too many open files: raise the limit of the process (ulimit -n)');
    process.exitCode = 1;
  }
}

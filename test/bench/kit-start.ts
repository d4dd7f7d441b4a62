/** Measures how fast `bloomery/testing` starts a devnet in a new process. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { StartFigures } from './devnet-start.ts';

/** Times that `startDevnet` takes for the first devnet of a process, and then for a second devnet of the process. */
export interface KitFigures {
  readonly first: StartFigures;
  readonly next: StartFigures;
}

const MEASURE = `
const { startDevnet } = await import(process.argv[1]);
const measured = async () => {
  const [before, begun] = [process.cpuUsage(), performance.now()];
  const net = await startDevnet();
  const { user, system } = process.cpuUsage(before);
  const figures = { seconds: (performance.now() - begun) / 1000, processorSeconds: (user + system) / 1e6 };
  await net.close();
  return figures;
};
console.log(JSON.stringify({ first: await measured(), next: await measured() }));
`;

/** @param root folder of the built package */
export async function measureKitStart(root: string): Promise<KitFigures> {
  const args = ['--input-type=module', '-e', MEASURE, join(root, 'dist/src/bundle/testing.js')];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 120_000 });
  return JSON.parse(stdout) as KitFigures;
}

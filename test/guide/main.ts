/**
 * `npm run guide`: runs the whole guide for delegates on a devnet of four nodes. Checks that no two
 * headers that the delegate signed contradict each other. The check covers the headers from all three data folders of
 * the guide. The command takes up to half an hour, with slots of two seconds.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { createRules } from '../../src/protocol/generations.ts';
import type { Generation } from '../../src/protocol/params.ts';
import { generationsIn, testProgram } from '../support/program.ts';
import { walkGuide } from './walk.ts';

const STEP_TIMEOUT_MS = 30 * 60_000;

const { generation: chosen = [2, 3] } = testProgram('guide', 'Runs the whole guide for delegates on a devnet')
  .option('--generation <numbers...>', 'protocol generations (default: both at the same time)', generationsIn)
  .parse()
  .opts<{ readonly generation?: readonly Generation[] }>();
const results = await Promise.allSettled(chosen.map(walk));
for (const result of results) {
  if (result.status === 'fulfilled') continue;
  console.error(result.reason);
  process.exitCode = 1;
}

async function walk(generation: Generation): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-guide-'));
  const print = (line: string): void => console.log(`generation ${generation} ${line}`);
  try {
    const { signed } = await walkGuide({ generation, directory, nodes: 4, stepTimeoutMs: STEP_TIMEOUT_MS, print });
    for (const [folder, headers] of signed) print(`${folder} signed ${headers.map(({ height }) => height).join(', ')}`);
    const { params } = loadNetwork(packagedNetworkDirectory(generation === 2 ? 'devnet-gen2' : 'devnet'));
    const rules = createRules(params);
    // A header can be in two journals, because the guide imports a signing record into another data folder.
    const distinct = [...new Map([...signed.values()].flat().map((header) => [header.blockId, header])).values()];
    const broken = distinct.flatMap((one, index) =>
      distinct.slice(index + 1).flatMap((other) => rules.contradiction(one, other) ?? []),
    );
    for (const folder of ['forger', 'elsewhere', 'bare']) {
      if ((signed.get(folder)?.length ?? 0) === 0)
        throw new Error(`generation ${generation}: nothing signed in ${folder}`);
    }
    if (broken.length > 0) throw new Error(`generation ${generation}: contradictions: ${broken.join('; ')}`);
    print(`${distinct.length} headers of the delegate, none contradicts another`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

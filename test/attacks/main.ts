/**
 * `npm run attacks`: attacks the first node of a devnet of real processes, one attack after the other. Prints a table
 * with a verdict for each attack. Exits with code 1 if the node failed in at least one attack.
 */

import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import type { Generation } from '../../src/protocol/params.ts';
import { generationIn, positiveNumber, testProgram, wholeNumber } from '../support/program.ts';
import { Arena } from './arena.ts';
import { attacksOn, floodsOn, NO_ATTACK, SETTINGS, type Setting } from './attacks.ts';
import { measure, type Attack, type Measured } from './measure.ts';

interface Flags {
  readonly generation?: Generation;
  readonly setting?: Setting;
  readonly seconds: number;
  readonly only: string;
  readonly part: Part;
  readonly nodes: number;
  readonly tries: number;
  readonly connections?: readonly number[];
  readonly profile?: string;
}

/**
 * One of several parts of the list of attacks. The member `of` is the number of parts. This part has the attacks whose
 * index in the list, divided by `of`, leaves the remainder `index`.
 */
interface Part {
  readonly index: number;
  readonly of: number;
}

const flags = testProgram(
  'attacks',
  'Attacks the first node of a devnet of real processes, one attack after the other, and prints a verdict for each',
)
  .option('--generation <number>', 'protocol generation, 2 or 3 (default: one after the other)', generationIn)
  .addOption(
    new Option('--setting <name>', 'configuration of the nodes (default: one after the other)').choices([...SETTINGS]),
  )
  .option('--seconds <number>', 'length of each attack', positiveNumber, 6)
  .option('--only <text>', 'only attacks whose names hold this text', '')
  .addOption(
    new Option('--part <i/n>', 'only the first, second, ... of n parts of the attacks')
      .default({ index: 0, of: 1 }, '1/1')
      .argParser(part),
  )
  .option('--nodes <number>', 'nodes of the devnet', wholeNumber(1), 3)
  .option('--tries <number>', 'tries of an attack before it counts as failed on a busy machine', wholeNumber(1), 3)
  .option('--connections <numbers>', 'only HTTP floods, each with each of these numbers of connections', counts)
  .option('--profile <directory>', 'write a CPU profile of the node for each attack into this folder')
  .parse()
  .opts<Flags>();

const GENERATIONS: readonly Generation[] = flags.generation === undefined ? [3, 2] : [flags.generation];

const CHOSEN_SETTINGS = SETTINGS.filter((setting) => flags.setting === undefined || flags.setting === setting);
/**
 * Maximum duration, in seconds, of the run without an attack. The run shows the missed slots and the memory growth that
 * the machine itself causes.
 */
const CALM_S_MAX = 60;

let failures = 0;
console.log(row('attack', 'what the node did', 'missed', 'grown MB', 'seconds', 'verdict'));
for (const generation of GENERATIONS) {
  for (const setting of CHOSEN_SETTINGS) failures += await underFire(generation, setting);
}
console.log(failures === 0 ? 'the nodes stood all attacks' : `${failures} attacks were not stood`);
process.exitCode = failures === 0 ? 0 : 1;

async function underFire(generation: 2 | 3, setting: Setting): Promise<number> {
  const pace = { seconds: flags.seconds, blocksAfter: 1, tries: flags.tries };
  const { connections, only, part: chosenPart } = flags;
  const all = connections === undefined ? attacksOn(generation, setting) : floodsOn(generation, connections);
  const chosen = all.filter(({ name }, at) => name.includes(only) && at % chosenPart.of === chosenPart.index);
  if (chosen.length === 0) return 0;
  const arena = await Arena.open(generation, flags.nodes, chosen, setting);
  try {
    // Lower the priority of this process. The attacker runs on the same machine as the nodes, and without a lower
    // priority it could take processor time from them.
    setPriority(10);
    let failed = 0;
    for (const attack of [NO_ATTACK, ...chosen]) {
      const isNone = attack === NO_ATTACK;
      const profile = flags.profile === undefined ? undefined : await arena.profile();
      const measured = await measure(
        arena,
        attack,
        isNone ? { ...pace, seconds: Math.min(pace.seconds, CALM_S_MAX) } : pace,
      );
      if (profile !== undefined)
        writeFileSync(join(flags.profile ?? '', fileNameOf(attack)), JSON.stringify(await profile()));
      print(measured, setting);
      if (!isNone && measured.faults.length > 0) failed += 1;
    }
    return failed;
  } finally {
    await arena.close();
  }
}

function fileNameOf({ name }: Attack): string {
  return `${name.replaceAll(/[^A-Za-z0-9]+/g, '-')}.cpuprofile`;
}

function print(measured: Measured, setting: Setting): void {
  const { attack, generation, did, slotsMissed, grownBytes, seconds, faults } = measured;
  const grown = (grownBytes / 1024 / 1024).toFixed(1);
  const verdict = faults.length === 0 ? 'stood' : `FAILED: ${faults.join('; ')}`;
  console.log(
    row(
      `${generation}${setting === 'default' ? '' : ` ${setting}`}: ${attack}`,
      did,
      String(slotsMissed),
      grown,
      seconds.toFixed(1),
      verdict,
    ),
  );
}

function row(attack: string, did: string, missed: string, grown: string, seconds: string, verdict: string): string {
  return `${attack.padEnd(62)}${did.padEnd(56)}${missed.padStart(7)}${grown.padStart(10)}${seconds.padStart(9)}  ${verdict}`;
}

function part(text: string): Part {
  const [, first, of] = /^([1-9][0-9]{0,2})\/([1-9][0-9]{0,2})$/.exec(text) ?? [];
  if (first === undefined || Number(first) > Number(of)) throw new InvalidArgumentError('It should be like 1/3.');
  return { index: Number(first) - 1, of: Number(of) };
}

function counts(text: string): readonly number[] {
  return text.split(',').map(wholeNumber(1));
}

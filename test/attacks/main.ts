/**
 * `npm run attacks -- [--generation 2|3] [--setting default|public|portable] [--seconds 6] [--only TEXT] [--part 1/3]
 * [--nodes 3] [--tries 3] [--connections 1,50,2000] [--profile DIRECTORY]`: attacks the first node of a devnet of real
 * processes, one attack after the other. Prints a table with a verdict for each attack. Exits with code 1 if the node
 * failed in at least one attack.
 *
 * With `--connections`, the command runs only the HTTP floods: each flood once with each of the given numbers of
 * connections. `--only` selects the attacks whose names contain TEXT. `--part 1/3` selects the first of three parts
 * of the attacks, so that a long run can be split. `--profile` writes a CPU profile of the node for each attack.
 */

import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Arena } from './arena.ts';
import { attacksOn, floodsOn, NO_ATTACK, SETTINGS, type Setting } from './attacks.ts';
import { measure, type Attack, type Measured } from './measure.ts';

const { values } = parseArgs({
  options: {
    generation: { type: 'string' },
    setting: { type: 'string' },
    seconds: { type: 'string', default: '6' },
    only: { type: 'string', default: '' },
    part: { type: 'string', default: '1/1' },
    nodes: { type: 'string', default: '3' },
    tries: { type: 'string', default: '3' },
    connections: { type: 'string' },
    profile: { type: 'string' },
  },
});

const GENERATIONS =
  values.generation === undefined ? ([3, 2] as const) : ([values.generation === '2' ? 2 : 3] as const);

const CHOSEN_SETTINGS = SETTINGS.filter((setting) => values.setting === undefined || values.setting === setting);
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
  const pace = { seconds: Number(values.seconds), blocksAfter: 1, tries: Number(values.tries) };
  const [part = 1, parts = 1] = values.part.split('/').map(Number);
  const counts = values.connections?.split(',').map(Number);
  const all = counts === undefined ? attacksOn(generation, setting) : floodsOn(generation, counts);
  const chosen = all.filter(({ name }, index) => name.includes(values.only) && index % parts === part - 1);
  if (chosen.length === 0) return 0;
  const arena = await Arena.open(generation, Number(values.nodes), chosen, setting);
  try {
    // Lower the priority of this process. The attacker runs on the same machine as the nodes, and without a lower
    // priority it could take processor time from them.
    setPriority(10);
    let failed = 0;
    for (const attack of [NO_ATTACK, ...chosen]) {
      const isNone = attack === NO_ATTACK;
      const profile = values.profile === undefined ? undefined : await arena.profile();
      const measured = await measure(
        arena,
        attack,
        isNone ? { ...pace, seconds: Math.min(pace.seconds, CALM_S_MAX) } : pace,
      );
      if (profile !== undefined)
        writeFileSync(join(values.profile ?? '', fileNameOf(attack)), JSON.stringify(await profile()));
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

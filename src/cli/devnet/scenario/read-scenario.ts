/**
 * Reads and checks all steps of a scenario before the devnet starts, so that no run fails later because of a malformed
 * step.
 */

import { readBounded } from '../../../config/bounded-file.ts';
import { messageOf, ProtocolError } from '../../../primitives/errors.ts';
import type { Generation } from '../../../protocol/params.ts';
import { MINING_MODES } from '../mining.ts';
import { isBlockTime, BLOCK_TIMES_TEXT } from '../block-timing.ts';
import { YamlValue } from './yaml-value.ts';
import { readStep } from './read-step.ts';
import type { Scenario, ScenarioDevnet, Step } from './scenario.ts';

/** Maximum size of a scenario file, in bytes. Scenarios that people write are much smaller. */
const FILE_BYTES_MAX = 1024 * 1024;
const STEPS_MAX = 1_000;
const NAME_CHARACTERS_MAX = 200;
const NODES_MAX = 32;
const DELEGATES_MAX = 101;
const DEVNET_NAMES = ['nodes', 'mine', 'generation', 'delegates', 'blockTime', 'network'] as const;
const NODES = 4;

/** @throws ProtocolError `SCENARIO_UNREADABLE`; `SCENARIO_INVALID` with the line of the fault */
export function readScenarioFile(file: string): Scenario {
  let text: string;
  try {
    text = readBounded(file, { bytesMax: FILE_BYTES_MAX }).toString('utf8');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : messageOf(error);
    throw new ProtocolError('SCENARIO_UNREADABLE', { file }, `${file}: the scenario cannot be read: ${reason}`, {
      cause: error,
    });
  }
  return readScenario(text, file);
}

/** @throws ProtocolError `SCENARIO_INVALID` with the line of the fault */
export function readScenario(text: string, file: string): Scenario {
  const root = YamlValue.of(text, file);
  const members = root.known('a scenario', ['name', 'devnet', 'steps']);
  const [name, steps] = [members.get('name'), members.get('steps')];
  if (name === undefined) throw root.fault('a scenario must have a `name`');
  if (steps === undefined) throw root.fault('a scenario must have `steps`');
  const title = name.text('the name');
  if (title === '' || title.length > NAME_CHARACTERS_MAX) {
    throw name.fault(`the name must have 1 to ${NAME_CHARACTERS_MAX} characters`);
  }
  const devnet = devnetIn(members.get('devnet'));
  const items = steps.items('`steps`');
  if (items.length === 0 || items.length > STEPS_MAX) throw steps.fault(`there must be 1 to ${STEPS_MAX} steps`);
  const read: Step[] = [];
  let nodes = devnet.nodes;
  const snapshots = new Set<string>();
  for (const item of items) {
    const step = readStep(item, nodes);
    read.push(step);
    if (step.work.kind !== 'operation') continue;
    const { operation, parameters } = step.work;
    if (operation === 'add') nodes += 1;
    const { name: snapshot } = parameters as { readonly name?: string };
    if (snapshot === undefined) continue;
    if (operation === 'snapshot') snapshots.add(snapshot);
    // A scenario runs on a new devnet, which has only the snapshots that earlier steps make.
    else if (!snapshots.has(snapshot)) throw item.fault(`no step before makes the snapshot \`${snapshot}\``);
  }
  return { name: title, devnet, steps: read };
}

function devnetIn(yaml: YamlValue | undefined): ScenarioDevnet {
  const members: ReadonlyMap<string, YamlValue> =
    yaml === undefined || yaml.isEmpty ? new Map() : yaml.known('`devnet`', DEVNET_NAMES);
  const [nodes, mine, generation] = [members.get('nodes'), members.get('mine'), members.get('generation')];
  const [delegates, blockTime, network] = [members.get('delegates'), members.get('blockTime'), members.get('network')];
  const mode = mine?.oneOf('`mine`', MINING_MODES) ?? MINING_MODES[0];
  if (delegates !== undefined && network !== undefined) {
    throw delegates.fault('`delegates` is for the packaged devnets: a network has its own number of delegates');
  }
  return {
    nodes: nodes?.integer('`nodes`', 1, NODES_MAX) ?? NODES,
    mine: mode,
    generation: (generation?.integer('`generation`', 2, 3) ?? 3) as Generation,
    ...(delegates === undefined ? {} : { delegates: delegates.integer('`delegates`', 1, DELEGATES_MAX) }),
    ...(blockTime === undefined ? {} : { blockTime: blockTimeIn(blockTime, mode) }),
    ...(network === undefined ? {} : { network: network.text('`network`') }),
  };
}

function blockTimeIn(yaml: YamlValue, mode: ScenarioDevnet['mine']): number {
  const seconds = yaml.number('`blockTime`');
  if (!isBlockTime(seconds)) throw yaml.fault(`\`blockTime\` must be ${BLOCK_TIMES_TEXT}`);
  if (seconds < 2 && mode !== 'interval') throw yaml.fault('`blockTime` below 2 is for `mine: interval`');
  return seconds;
}

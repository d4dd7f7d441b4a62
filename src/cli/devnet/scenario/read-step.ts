/** Reads one step of a scenario: an action, or expectations. */

import { delayMsOfText, durationMsOf, lossOfText, partsOfText, skewMsOfText } from '../parse-faults.ts';
import { MINED_SLOTS_MAX, MINING_MODES } from '../mining.ts';
import { parseTime } from '../parse-time.ts';
import { isSnapshotName } from '../snapshots.ts';
import type { YamlValue } from './yaml-value.ts';
import { readConditions } from './read-conditions.ts';
import { WITHIN_MS, type Step, type StepWork } from './scenario.ts';
import { ACCOUNT_NAME, checkedNodes, lskIn, nodeIn, nodesIn, accountIn } from './values.ts';

/**
 * Maximum duration, in milliseconds, that a scenario can give in a step `wait` or in the key `within` of a step. A
 * longer duration probably has a wrong unit.
 */
const WAIT_MS_MAX = 3_600_000;

/**
 * A function that reads the value of an action, such as `3` in the step `mine: 3`.
 *
 * @param nodes number of nodes of the devnet before the step
 */
type ReadAction = (value: YamlValue, nodes: number) => StepWork;

const ACTIONS: Readonly<Record<string, ReadAction>> = {
  mine: (value) => operation('mine', { slots: value.isEmpty ? 1 : value.integer('`mine`', 1, MINED_SLOTS_MAX) }),
  mode: (value) => operation('mode', { mode: value.oneOf('`mode`', MINING_MODES) }),
  warp: (value) => {
    // The next line checks only that the text is a time. When the step runs, `warp` checks that the time is not before
    // the time of the chain clock.
    value.parsed('`warp`', (text) => parseTime(text, 0));
    return operation('warp', { to: value.text('`warp`') });
  },
  freeze: nothing('freeze'),
  resume: (value, nodes) => operation('resume', value.isEmpty ? {} : { node: nodeIn(value, nodes) }),
  partition: (value, nodes) => operation('partition', { parts: partsIn(value, nodes) }),
  heal: nothing('heal'),
  delay: (value, nodes) => {
    const { amount, named } = amountIn(value, 'time', nodes);
    return operation('delay', { delayMs: amount.parsed('`delay`', delayMsOfText), ...named });
  },
  loss: (value, nodes) => {
    const { amount, named } = amountIn(value, 'share', nodes);
    return operation('loss', { loss: amount.parsed('`loss`', lossOfText), ...named });
  },
  skew: (value, nodes) => {
    const [node, by] = required(value, '`skew`', ['node', 'by']);
    return operation('skew', { node: nodeIn(node, nodes), skewMs: by.parsed('`by`', skewMsOfText) });
  },
  kill: ofNode('kill'),
  restart: ofNode('restart'),
  pause: ofNode('pause'),
  add: nothing('add'),
  snapshot: named('snapshot'),
  revert: named('revert'),
  fund: (value) => {
    const [to, amount] = required(value, '`fund`', ['to', 'amount']);
    return { kind: 'fund', to: accountIn(to), amount: positiveAmountIn(amount) };
  },
  transfer: (value, nodes) => {
    const members = value.known('`transfer`', ['from', 'to', 'amount', 'node']);
    const [from, to, amount] = required(value, '`transfer`', ['from', 'to', 'amount'], members);
    const node = members.get('node');
    const sender = from.text('`from`');
    if (!ACCOUNT_NAME.test(sender)) throw from.fault('`from` must be the name of an account, such as account_1');
    return {
      kind: 'transfer',
      from: sender,
      to: accountIn(to),
      amount: positiveAmountIn(amount),
      node: node === undefined ? 0 : nodeIn(node, nodes),
    };
  },
  wait: (value) => ({ kind: 'wait', ms: durationIn(value, '`wait`') }),
};

const NAMES = [...Object.keys(ACTIONS), 'expect'];

/**
 * @param nodes number of nodes of the devnet before the step
 * @throws ProtocolError `SCENARIO_INVALID` with the line of the fault
 */
export function readStep(yaml: YamlValue, nodes: number): Step {
  if (!yaml.isMap) {
    // If a step gives its action no value, the step can be a plain text, such as `freeze` or `mine`.
    const name = yaml.text('a step');
    const read = ACTIONS[name];
    if (read === undefined) throw yaml.unknown('a step', name, NAMES);
    return { line: yaml.line, text: name, work: read(yaml.without(), nodes) };
  }
  const members = yaml.known('a step', [...NAMES, 'name', 'within']);
  const [found, second] = [...members].filter(([name]) => NAMES.includes(name));
  if (found === undefined) throw yaml.fault('a step must have an action, or `expect`');
  const [name, value] = found;
  if (second !== undefined) throw second[1].fault(`a step has one action: put \`${second[0]}\` into a step of its own`);
  const within = members.get('within');
  const title = members.get('name')?.text('`name`');
  const step = { line: yaml.line, text: title ?? `${name} ${value.inline()}`.trim() };
  const read = ACTIONS[name];
  if (read !== undefined) {
    if (within !== undefined) throw within.fault('`within` is for `expect`');
    return { ...step, work: read(value, nodes) };
  }
  const { conditions, named: asked } = readConditions(value, nodes);
  const withinMs = within === undefined ? WITHIN_MS : durationIn(within, '`within`');
  return { ...step, work: { kind: 'expect', expected: { withinMs, conditions, ...asked } } };
}

function operation(name: string, parameters: object): StepWork {
  return { kind: 'operation', operation: name, parameters };
}

function nothing(name: string): ReadAction {
  return (value) => {
    if (!value.isEmpty) throw value.fault(`\`${name}\` takes no value`);
    return operation(name, {});
  };
}

function ofNode(name: string): ReadAction {
  return (value, nodes) => operation(name, { node: nodeIn(value, nodes) });
}

function named(name: string): ReadAction {
  return (value) => {
    const text = value.text(`\`${name}\``);
    if (!isSnapshotName(text)) throw value.fault(`\`${text}\` cannot be the name of a snapshot`);
    return operation(name, { name: text });
  };
}

function partsIn(yaml: YamlValue, nodes: number): readonly (readonly number[])[] {
  const parts = yaml.isList
    ? yaml.items('`partition`').map((part) => nodesIn(part, nodes))
    : yaml.parsed('`partition`', (text) => partsOfText([text]));
  const all = parts.flatMap((part) => checkedNodes(yaml, part, nodes));
  const twice = all.find((node, position) => all.indexOf(node) !== position);
  if (twice !== undefined) throw yaml.fault(`node ${twice} is listed twice: a node can be in one part only`);
  if (parts.length < 2 && all.length === nodes) throw yaml.fault('one part of all nodes cuts nothing: name two parts');
  return parts;
}

/**
 * Reads the amount of a network fault (`delay` or `loss`): a text such as `150ms`, or a map with the amount and
 * optionally the key `nodes`.
 *
 * @param name key of the amount in the map
 */
function amountIn(
  yaml: YamlValue,
  name: string,
  nodes: number,
): { readonly amount: YamlValue; readonly named: { readonly nodes?: readonly number[] } } {
  if (!yaml.isMap) return { amount: yaml, named: {} };
  const members = yaml.known('it', [name, 'nodes']);
  const [amount] = required(yaml, 'it', [name], members);
  const of = members.get('nodes');
  return { amount, named: of === undefined ? {} : { nodes: nodesIn(of, nodes) } };
}

type YamlValuesOf<T extends readonly string[]> = { readonly [K in keyof T]: YamlValue };

function required<const T extends readonly string[]>(
  yaml: YamlValue,
  what: string,
  names: T,
  members = yaml.known(what, names),
): YamlValuesOf<T> {
  // The cast is needed because the type of the result of `map` does not contain the length of the tuple.
  return names.map((name) => {
    const found = members.get(name);
    if (found === undefined) throw yaml.fault(`${what} must have \`${name}\``);
    return found;
  }) as unknown as YamlValuesOf<T>;
}

function positiveAmountIn(yaml: YamlValue): bigint {
  const amount = lskIn(yaml);
  if (amount > 0n) return amount;
  throw yaml.fault('the amount must be more than 0 LSK');
}

function durationIn(yaml: YamlValue, what: string): number {
  const ms = durationMsOf(yaml.text(what));
  if (ms !== undefined && ms <= WAIT_MS_MAX) return ms;
  throw yaml.fault(`${what} must be a time up to an hour, such as 500ms, 30s or 2m`);
}

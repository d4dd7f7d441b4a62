/** Reads the expectations of a step of a scenario. */

import type { YamlValue } from './yaml-value.ts';
import type { Bounds, Condition, Expected } from './scenario.ts';
import { lskIn, nodesIn, accountIn } from './values.ts';

/** A function that reads the value of a condition. */
type ReadCondition = (value: YamlValue) => Condition;

const CONDITIONS: Readonly<Record<string, ReadCondition>> = {
  heights: (value) => ({ kind: 'heights', bounds: countsIn(value, 'min') }),
  finalized: (value) => ({ kind: 'finalized', bounds: countsIn(value, 'min') }),
  finalityLag: (value) => ({ kind: 'finalityLag', bounds: countsIn(value, 'max') }),
  sameBlock: (value) => ({ kind: 'sameBlock', isSame: value.flag('`sameBlock`') }),
  pool: (value) => ({ kind: 'pool', bounds: countsIn(value, undefined) }),
  noPenalty: (value) => {
    if (!value.flag('`noPenalty`')) throw value.fault('`noPenalty` can only be true');
    return { kind: 'noPenalty' };
  },
  account: (value) => {
    const members = value.known('`account`', ['of', 'balance']);
    const [of, balance] = [members.get('of'), members.get('balance')];
    if (of === undefined || balance === undefined) throw value.fault('`account` must have `of` and `balance`');
    return { kind: 'account', account: accountIn(of), balance: boundsIn(balance, lskIn, undefined) };
  },
  metric: (value) => {
    const members = value.known('`metric`', ['name', 'labels', 'equals', 'min', 'max']);
    const name = members.get('name')?.text('`name`') ?? '';
    if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw value.fault('`metric` must have the `name` of a metric');
    const labels = members.get('labels')?.members('`labels`') ?? new Map<string, YamlValue>();
    return {
      kind: 'metric',
      name,
      labels: new Map([...labels].map(([label, yaml]) => [label, yaml.text('a label')])),
      bounds: memberBounds(value, members, (yaml) => yaml.number('a bound')),
    };
  },
  log: (value) => {
    if (!value.isMap) return { kind: 'log', code: codeIn(value), bounds: { min: 1 } };
    const members = value.known('`log`', ['code', 'equals', 'min', 'max']);
    const code = members.get('code');
    if (code === undefined) throw value.fault('`log` must have a `code`');
    const isBounded = ['equals', 'min', 'max'].some((name) => members.has(name));
    const bounds = isBounded ? memberBounds(value, members, countIn) : { min: 1 };
    return { kind: 'log', code: codeIn(code), bounds };
  },
};

/** @throws ProtocolError `SCENARIO_INVALID` with the line of the fault */
export function readConditions(
  yaml: YamlValue,
  nodes: number,
): { readonly conditions: readonly Condition[]; readonly named: Pick<Expected, 'nodes'> } {
  const members = yaml.known('`expect`', [...Object.keys(CONDITIONS), 'nodes']);
  const conditions = [...members].flatMap(([name, value]) => CONDITIONS[name]?.(value) ?? []);
  if (conditions.length === 0) throw yaml.fault('`expect` needs at least one condition');
  const of = members.get('nodes');
  return { conditions, named: of === undefined ? {} : { nodes: nodesIn(of, nodes) } };
}

/**
 * Reads the bounds of a condition: a single number, or a map. The map contains either `equals`, or one or both of `min`
 * and `max`.
 *
 * @param alone the bound to which a single number applies; undefined if the single number is both bounds
 */
function countsIn(yaml: YamlValue, alone: 'min' | 'max' | undefined): Bounds<number> {
  return boundsIn(yaml, countIn, alone);
}

function countIn(yaml: YamlValue): number {
  return yaml.integer('a bound', 0, 2 ** 32 - 1);
}

/** @param alone the bound to which a single value applies; undefined if the single value is both bounds */
function boundsIn<T extends number | bigint>(
  yaml: YamlValue,
  read: (yaml: YamlValue) => T,
  alone: 'min' | 'max' | undefined,
): Bounds<T> {
  if (yaml.isMap) return memberBounds(yaml, yaml.known('it', ['equals', 'min', 'max']), read);
  const bound = read(yaml);
  return alone === undefined ? { min: bound, max: bound } : { [alone]: bound };
}

function memberBounds<T extends number | bigint>(
  yaml: YamlValue,
  members: ReadonlyMap<string, YamlValue>,
  read: (yaml: YamlValue) => T,
): Bounds<T> {
  const [equals, min, max] = ['equals', 'min', 'max'].map((name) => {
    const found = members.get(name);
    return found === undefined ? undefined : read(found);
  });
  if (equals !== undefined && (min !== undefined || max !== undefined)) {
    throw yaml.fault('`equals` cannot be combined with `min` or `max`');
  }
  if (equals !== undefined) return { min: equals, max: equals };
  if (min === undefined && max === undefined) throw yaml.fault('give `min`, `max` or `equals`');
  return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
}

function codeIn(yaml: YamlValue): string {
  const code = yaml.text('`code`');
  if (/^[A-Z][A-Z0-9_]{1,63}$/.test(code)) return code;
  throw yaml.fault('the code of a log line has capital letters, digits and `_`, such as BLOCK_APPLIED');
}

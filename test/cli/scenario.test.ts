/** Tests how scenario files are read, and how their results are reported. */

import { appendFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { junitOf } from '../../src/cli/devnet/scenario/junit.ts';
import { LogCodes } from '../../src/cli/devnet/scenario/log-codes.ts';
import { metricIn } from '../../src/cli/devnet/scenario/metric-text.ts';
import { readScenario, readScenarioFile } from '../../src/cli/devnet/scenario/read-scenario.ts';
import { packageDirectory } from '../../src/config/package.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const EXAMPLES = join(packageDirectory(), 'docs', 'examples', 'scenarios');

function steps(...lines: readonly string[]) {
  return readScenario(
    `name: a\ndevnet: { nodes: 3 }\nsteps:\n${lines.map((line) => `  - ${line}\n`).join('')}`,
    'a.yaml',
  ).steps;
}

function works(...lines: readonly string[]) {
  return steps(...lines).map(({ work }) => work);
}

test('every example scenario is valid', (t) => {
  const files = readdirSync(EXAMPLES);
  t.true(files.length >= 6);
  for (const file of files) t.true(readScenarioFile(join(EXAMPLES, file)).steps.length > 2, file);
});

test('a scenario has a devnet of four nodes by default', (t) => {
  t.deepEqual(readScenario('name: a\nsteps: [heal]\n', 'a.yaml').devnet, { nodes: 4, mine: 'interval', generation: 3 });
  t.deepEqual(
    readScenario(
      'name: a\ndevnet: { nodes: 2, mine: instant, generation: 2, network: ./own }\nsteps: [heal]\n',
      'a.yaml',
    ).devnet,
    { nodes: 2, mine: 'instant', generation: 2, network: './own' },
  );
  t.like(readScenario('name: a\ndevnet: { delegates: 5, blockTime: 0.5 }\nsteps: [heal]\n', 'a.yaml').devnet, {
    delegates: 5,
    blockTime: 0.5,
  });
});

test('actions become the same requests that the commands send to a devnet', (t) => {
  const operation = (name: string, parameters: object) => ({ kind: 'operation', operation: name, parameters });
  t.deepEqual(works('mine', 'mine: 5', 'heal', 'freeze: ', 'resume', 'resume: 1', 'add', 'restart: 3'), [
    operation('mine', { slots: 1 }),
    operation('mine', { slots: 5 }),
    operation('heal', {}),
    operation('freeze', {}),
    operation('resume', {}),
    operation('resume', { node: 1 }),
    operation('add', {}),
    operation('restart', { node: 3 }),
  ]);
  const parts = operation('partition', { parts: [[0], [1, 2]] });
  t.deepEqual(works('partition: 0|1,2', 'partition: [[0], [1, 2]]', 'partition: [0, "1,2"]').slice(0, 2), [
    parts,
    parts,
  ]);
  t.deepEqual(works('delay: 150ms', 'delay: { time: 2s, nodes: [1] }', 'loss: 5%', 'loss: { share: 0.5%, nodes: 1 }'), [
    operation('delay', { delayMs: 150 }),
    operation('delay', { delayMs: 2000, nodes: [1] }),
    operation('loss', { loss: 0.05 }),
    operation('loss', { loss: 0.005, nodes: [1] }),
  ]);
  t.deepEqual(works('skew: { node: 1, by: -3s }', 'warp: 1h', 'snapshot: one', 'revert: one', 'mode: instant'), [
    operation('skew', { node: 1, skewMs: -3000 }),
    operation('warp', { to: '1h' }),
    operation('snapshot', { name: 'one' }),
    operation('revert', { name: 'one' }),
    operation('mode', { mode: 'instant' }),
  ]);
  t.deepEqual(
    works(
      'fund: { to: 77L, amount: 0.00000001 }',
      'transfer: { from: account_1, to: account_2, amount: 12.5, node: 2 }',
    ),
    [
      { kind: 'fund', to: '77L', amount: 1n },
      { kind: 'transfer', from: 'account_1', to: 'account_2', amount: 1_250_000_000n, node: 2 },
    ],
  );
  t.deepEqual(works('wait: 1.5s'), [{ kind: 'wait', ms: 1500 }]);
});

test('expectations have bounds, nodes and a time limit', (t) => {
  const conditions = (text: string) => {
    const [work] = works(text);
    return work?.kind === 'expect' ? work.expected : undefined;
  };
  t.deepEqual(conditions('expect: { heights: 5, finalized: 2, finalityLag: 18 }'), {
    withinMs: 30_000,
    conditions: [
      { kind: 'heights', bounds: { min: 5 } },
      { kind: 'finalized', bounds: { min: 2 } },
      { kind: 'finalityLag', bounds: { max: 18 } },
    ],
  });
  t.deepEqual(conditions('{ expect: { sameBlock: false, noPenalty: true, nodes: [0, 2] }, within: 2m }'), {
    withinMs: 120_000,
    nodes: [0, 2],
    conditions: [{ kind: 'sameBlock', isSame: false }, { kind: 'noPenalty' }],
  });
  t.deepEqual(
    conditions('expect: { account: { of: account_1, balance: { min: 1 } }, log: BLOCK_APPLIED }')?.conditions,
    [
      { kind: 'account', account: 'account_1', balance: { min: 100_000_000n } },
      { kind: 'log', code: 'BLOCK_APPLIED', bounds: { min: 1 } },
    ],
  );
  t.deepEqual(conditions('expect: { metric: { name: a_total, labels: { code: 1 }, equals: 2 } }')?.conditions, [
    { kind: 'metric', name: 'a_total', labels: new Map([['code', '1']]), bounds: { min: 2, max: 2 } },
  ]);
  t.deepEqual(conditions('expect: { pool: 3 }')?.conditions, [{ kind: 'pool', bounds: { min: 3, max: 3 } }]);
  t.deepEqual(conditions('expect: { pool: { min: 1, max: 4 } }')?.conditions, [
    { kind: 'pool', bounds: { min: 1, max: 4 } },
  ]);
});

test('a revert needs an earlier step that makes its snapshot', (t) => {
  t.is(works('snapshot: one', 'snapshot: two', 'revert: one', 'revert: two', 'revert: one').length, 5);
  for (const lines of [
    ['revert: nevermade'],
    ['revert: one', 'snapshot: one'],
    ['snapshot: one', 'revert: nevermade'],
  ]) {
    const line = 4 + lines.findIndex((each) => each.startsWith('revert'));
    const error = t.throws(() => steps(...lines), { code: 'SCENARIO_INVALID' });
    t.regex(error?.message ?? '', new RegExp(`a\\.yaml: line ${line}:.*no step before makes the snapshot`));
  }
});

test('a day that the month does not have is refused with its line', (t) => {
  t.throws(() => steps('heal', 'warp: 2030-02-30'), {
    code: 'SCENARIO_INVALID',
    message: /a\.yaml: line 5:.*is not a time in the future/,
  });
});

test('an added node counts for the later steps', (t) => {
  t.is(works('add', 'kill: 3').length, 2);
  t.throws(() => works('kill: 3', 'add'), {
    message: 'a.yaml: line 4: the number of a node must be an integer from 0 to 2',
  });
});

test('each step has a name in the report', (t) => {
  t.deepEqual(
    steps('heal', 'mine: 5', '{ name: all meet, expect: { sameBlock: true } }', 'partition: [[0], [1, 2]]').map(
      ({ text, line }) => `${line} ${text}`,
    ),
    ['4 heal', '5 mine 5', '6 all meet', '7 partition [[0], [1, 2]]'],
  );
});

for (const [text, sentence] of [
  ['', 'line 1: a scenario must be a map of names and values'],
  ['name: a\n', 'line 1: a scenario must have `steps`'],
  ['steps: [heal]\n', 'line 1: a scenario must have a `name`'],
  ['name: a\nsteps: []\n', 'line 2: there must be 1 to 1000 steps'],
  ['name: a\nstep: [heal]\n', 'line 2: a scenario has no `step`: did you mean steps?'],
  ['name: a\nname: b\nsteps: [heal]\n', 'line 2: it is not YAML: Map keys must be unique'],
  ['name: a\nsteps: [heal\n', /line \d: it is not YAML: /],
  ['name: a\ndevnet:\n  nodes: 33\nsteps: [heal]\n', 'line 3: `nodes` must be an integer from 1 to 32'],
  ['name: a\ndevnet:\n  node: 3\nsteps: [heal]\n', 'line 3: `devnet` has no `node`: did you mean nodes?'],
  ['name: a\ndevnet:\n  mine: slowly\nsteps: [heal]\n', 'line 3: `mine` must be one of interval, instant, on-demand'],
  ['name: a\ndevnet:\n  blockTime: 2.5\nsteps: [heal]\n', /line 3: `blockTime` must be an integer from 2 to 3600/],
  [
    'name: a\ndevnet: { mine: instant, blockTime: 0.5 }\nsteps: [heal]\n',
    'line 2: `blockTime` below 2 is for `mine: interval`',
  ],
  [
    'name: a\ndevnet: { network: own, delegates: 5 }\nsteps: [heal]\n',
    /line 2: `delegates` is for the packaged devnets/,
  ],
  ['name: a\nsteps:\n  - &x heal\n  - *x\n', 'line 4: an alias is not for scenarios: write the value'],
] as const) {
  test(`a scenario is refused with its line: ${JSON.stringify(text)}`, (t) => {
    const error = t.throws(() => readScenario(text, 'a.yaml'), { code: 'SCENARIO_INVALID' });
    if (typeof sentence === 'string') t.is(error?.message, `a.yaml: ${sentence}`);
    else t.regex(error?.message ?? '', sentence);
  });
}

for (const [step, sentence] of [
  ['mines: 5', 'a step has no `mines`: did you mean mine?'],
  ['dance', /a step has no `dance`: there are mine, mode, warp/],
  ['{ mine: 5, heal: }', 'a step has one action: put `heal` into a step of its own'],
  ['{ name: nothing }', 'a step must have an action, or `expect`'],
  ['{ mine: 5, within: 3s }', '`within` is for `expect`'],
  ['mine: 0', '`mine` must be an integer from 1 to 10000'],
  ['mine: 1.5', '`mine` must be an integer from 1 to 10000'],
  ['heal: now', '`heal` takes no value'],
  ['kill', 'the number of a node must be an integer from 0 to 2'],
  ['partition: 0|3', 'there is no node 3: the last one is 2'],
  ['partition: 0,1|1', 'node 1 is listed twice: a node can be in one part only'],
  ['partition: [[0, 1, 2]]', 'one part of all nodes cuts nothing: name two parts'],
  ['partition: here', /`partition`: `here` is not part of a network/],
  ['delay: 150', /`delay`: `150` is not a delay/],
  ['delay: { nodes: [1] }', 'it must have `time`'],
  ['loss: { share: 5%, nodes: [7] }', 'the number of a node must be an integer from 0 to 2'],
  ['skew: { node: 1, by: 3s }', /`by`: `3s` is not a clock offset/],
  ['warp: soon', /`warp`: `soon` is not a time in the future/],
  ['snapshot: ../up', '`../up` cannot be the name of a snapshot'],
  ['fund: { to: nobody at all, amount: 1 }', /`nobody at all` is neither the name of an account/],
  ['fund: { to: 77L, amount: much }', 'an amount must be a number of LSK with at most 8 decimals'],
  ['fund: { to: 77L, amount: 0 }', 'the amount must be more than 0 LSK'],
  ['transfer: { to: 77L, amount: 1 }', '`transfer` must have `from`'],
  ['wait: 5', /`wait` must be a time up to an hour/],
  ['wait: 2h', /`wait` must be a time up to an hour/],
  ['expect: {}', '`expect` needs at least one condition'],
  ['expect: { height: 5 }', '`expect` has no `height`: did you mean heights?'],
  ['expect: { heights: many }', 'a bound must be an integer from 0 to 4294967295'],
  ['expect: { heights: { equals: 1, min: 1 } }', '`equals` cannot be combined with `min` or `max`'],
  ['expect: { heights: {} }', 'give `min`, `max` or `equals`'],
  ['expect: { sameBlock: yes }', '`sameBlock` must be true or false'],
  ['expect: { noPenalty: false }', '`noPenalty` can only be true'],
  ['expect: { metric: { name: "a b", min: 1 } }', '`metric` must have the `name` of a metric'],
  ['expect: { metric: { name: a } }', 'give `min`, `max` or `equals`'],
  ['expect: { pool: none }', 'a bound must be an integer from 0 to 4294967295'],
  ['expect: { log: started }', /the code of a log line has capital letters/],
  ['{ expect: { heights: 1 }, within: soon }', /`within` must be a time up to an hour/],
] as const) {
  test(`a step is refused with its line: ${step}`, (t) => {
    const error = t.throws(() => steps('heal', step), { code: 'SCENARIO_INVALID' });
    if (typeof sentence === 'string') t.is(error?.message, `a.yaml: line 5: ${sentence}`);
    else t.regex(error?.message ?? '', sentence);
    t.true(error?.message.startsWith('a.yaml: line 5: '));
  });
}

test('the JUnit report has each step, with failures and skipped steps, for any names', (t) => {
  const scenario = readScenario('name: a <b> & "c"\nsteps: [heal, "mine", freeze]\n', 'a.yaml');
  const [first, second] = scenario.steps;
  if (first === undefined || second === undefined) return t.fail();
  const results = [
    { step: first, tookMs: 1500 },
    { step: second, tookMs: 500, failure: 'expected <1> & found "2\u0007"' },
  ];
  t.is(
    junitOf({ scenario, results }),
    `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="0" skipped="1" time="2">
  <testsuite name="a &lt;b&gt; &amp; &quot;c&quot;" tests="3" failures="1" errors="0" skipped="1" time="2">
    <testcase classname="a &lt;b&gt; &amp; &quot;c&quot;" name="1 heal" time="1.5"/>
    <testcase classname="a &lt;b&gt; &amp; &quot;c&quot;" name="2 mine" time="0.5"><failure message="line 2: expected &lt;1&gt; &amp; found &quot;2?&quot;"/></testcase>
    <testcase classname="a &lt;b&gt; &amp; &quot;c&quot;" name="3 freeze" time="0"><skipped/></testcase>
  </testsuite>
</testsuites>
`,
  );
  const ended = junitOf({ scenario, results: [], error: 'no port' });
  t.regex(ended, /tests="4" failures="0" errors="1" skipped="3"/);
  t.regex(ended, /name="devnet" time="0"><error message="no port"\/>/);
});

test('a metric is the sum of the samples with its labels', (t) => {
  const text =
    '# TYPE a_total counter\na_total{code="x",on="1"} 2\na_total{code="x",on="2"} 3\na_total{code="y"} 5\nb 1.5\nab 7\n';
  const none = new Map<string, string>();
  t.is(metricIn(text, 'a_total', none), 10);
  t.is(metricIn(text, 'a_total', new Map([['code', 'x']])), 5);
  t.is(metricIn(text, 'a_total', new Map([['code', 'z']])), undefined);
  t.is(metricIn(text, 'b', none), 1.5);
  t.is(metricIn(text, 'c', none), undefined);
});

test('log lines with a code are counted once, also while the log grows', (t) => {
  const file = join(temporaryFolder(t), 'node.log');
  const codes = new LogCodes();
  t.is(codes.count(file, ['A_B']), 0);
  writeFileSync(
    file,
    '{"level":"info","code":"A_B","message":"x"}\nno line of a log "code":"A_B"\n{"level":"info","co',
  );
  t.is(codes.count(file, ['A_B']), 1);
  appendFileSync(file, 'de":"A_B"}\n{"level":"info","code":"C"}\n');
  t.is(codes.count(file, ['A_B']), 2);
  t.is(codes.count(file, ['A_B', 'C', 'D']), 3);
});

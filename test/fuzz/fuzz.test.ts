import test from 'ava';
import { corpusOf } from './corpus.ts';
import { fuzz, outcomeOf, type Target } from './fuzzer.ts';
import { mutated, belowOf } from './mutate.ts';
import { allTargets, closeTargets } from './targets.ts';

const INPUTS = 12_000;
/** The fixed seed gives the same inputs in every run. `npm run fuzz` uses new inputs in each run. */
const SEED = 3_000_002;

test('no decoder crashes, hangs or fills the memory on corrupted inputs', async (t) => {
  t.timeout(600_000);
  const targets = await allTargets();
  t.teardown(() => closeTargets(targets));
  const weights = targets.reduce((sum, { weight = 1 }) => sum + weight, 0);
  for (const target of targets) {
    const inputs = Math.ceil((INPUTS * (target.weight ?? 1)) / weights);
    const corpus = corpusOf(target.name);
    const { findings } = await fuzz(target, { seed: SEED, inputs: inputs + corpus.length, corpus });
    t.deepEqual(
      findings.map(({ what, input }) => `${target.name}: ${what}: ${input.toString('base64').slice(0, 4_000)}`),
      [],
    );
  }
});

const FAULTY_TARGET: Target = {
  name: 'touchy',
  seeds: [Buffer.from('{"a":1}')],
  isDeclared: (error) => error instanceof SyntaxError,
  run(input) {
    if (input.includes('b')) throw new TypeError('a mistake');
    return typeof JSON.parse(input.toString('utf8'));
  },
};

test('an error that no decoder declares is a finding, with the input that leads to it', async (t) => {
  const { findings } = await fuzz(FAULTY_TARGET, { seed: 1, inputs: 3_000, corpus: [] });
  t.is(findings.length, 1);
  const [finding] = findings;
  t.regex(finding?.what ?? '', /^undeclared TypeError/);
  t.truthy((await outcomeOf(FAULTY_TARGET, finding?.input ?? Buffer.alloc(0))).fault);
  t.is((await outcomeOf(FAULTY_TARGET, Buffer.from('{'))).fault, undefined);
});

test('a seed generates the same inputs again', (t) => {
  const make = (seed: number) => {
    const below = belowOf(seed);
    return Array.from({ length: 200 }, () => mutated(FAULTY_TARGET.seeds, ['word'], below).toString('base64'));
  };
  t.deepEqual(make(7), make(7));
  t.notDeepEqual(make(7), make(8));
});

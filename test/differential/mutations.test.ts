import test from 'ava';
import { belowOf } from '../fuzz/mutate.ts';
import type { Comparison } from './comparison.ts';
import { anyDocument } from './documents.ts';
import { repeatInOtherCase } from './mutations.ts';
import { doubleOf } from './reference-node.ts';
import { referencePackage } from './reference.ts';
import { targetsOf } from './targets.ts';

const SEED = 15;
const CASES = 400;

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: a mutation repeats an asset member under a name in another letter case`, (t) => {
    const reference = referencePackage(generation);
    const below = belowOf(SEED);
    const repeated = new Set<string>();
    for (let round = 0; round < CASES; round += 1) {
      const document = anyDocument(reference, below);
      const before = structuredClone(document);
      repeatInOtherCase(document, below);
      const names = namesInTwoCases(document['asset']);
      t.is(names.length, namesIn(before['asset']).length === 0 ? 0 : 1, JSON.stringify(document));
      for (const name of names) repeated.add(name);
      t.like(document, before, 'what was there is still there');
      t.deepEqual({ ...document, asset: null }, { ...before, asset: null }, 'all else is as it was');
    }
    for (const name of ['data', 'publickey', 'username', 'votes', 'min', 'keysgroup'])
      t.true(repeated.has(name), `${name} of ${[...repeated].join()}`);
  });

  test(`generation ${generation}: the harness sends such cases alone and in blocks, some accepted`, async (t) => {
    const reference = referencePackage(generation);
    const targets = targetsOf({ package: reference, handlers: doubleOf(reference) });
    for (const name of ['transactions', 'blocks']) {
      const target = targets.find((each) => each.name === `generation ${generation}, ${name}`);
      if (target === undefined) throw new Error(`no target of ${name}`);
      const below = belowOf(SEED);
      const asked: Comparison[] = [];
      for (let round = 0; round < CASES; round += 1) asked.push(await target.compare(below));
      const odd = asked.filter(({ input }) => assetsOf(JSON.parse(input)).some((asset) => hasTwoCases(asset)));
      t.true(odd.length > CASES / 100, `${name}: ${odd.length} of ${CASES}`);
      t.true(
        odd.some((each) => each.reference.accepted),
        `${name}: none of ${odd.length} is accepted`,
      );
    }
  });
}

/** Assets in the input of a comparison: the asset of its transaction, or of each transaction in its block. */
function assetsOf(input: unknown): unknown[] {
  const { asset, block } = input as { asset?: unknown; block?: { transactions: { asset?: unknown }[] } };
  return block === undefined ? [asset] : block.transactions.map((each) => each.asset);
}

function hasTwoCases(asset: unknown): boolean {
  return namesInTwoCases(asset).length > 0;
}

/** Names that one object, at any depth, contains in more than one letter case. The result has them in lower case. */
function namesInTwoCases(value: unknown): string[] {
  return objectsIn(value).flatMap((object) => {
    const names = Object.keys(object).map((name) => name.toLowerCase());
    return [...new Set(names)].filter((name) => names.indexOf(name) !== names.lastIndexOf(name));
  });
}

function namesIn(value: unknown): string[] {
  return objectsIn(value).flatMap((object) => Object.keys(object));
}

function objectsIn(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return [];
  const inside = Object.values(value).flatMap((member) => objectsIn(member));
  return Array.isArray(value) ? inside : [value, ...inside];
}

import test, { type ExecutionContext } from 'ava';
import { Expectations } from '../../src/cli/devnet/scenario/expectations.ts';
import type { Bounds } from '../../src/cli/devnet/scenario/scenario.ts';
import { nodeAnswering } from '../support/node-answering.ts';

const CONFIRMED = 104;

async function expectationsOver(t: ExecutionContext, pools: readonly number[]): Promise<Expectations> {
  const ports = await Promise.all(pools.map((pool) => nodeWith(t, pool)));
  const unused = { wsPort: 0, directory: '', configFile: '', logFile: '', config: {}, delegates: [] };
  const nodes = ports.map((httpPort, index) => ({
    stateName: 'running' as const,
    node: { ...unused, index, httpPort },
  }));
  return new Expectations({ nodes: () => nodes, addressOf: (who) => who });
}

/** @returns port of the node */
async function nodeWith(t: ExecutionContext, pool: number): Promise<number> {
  const status = {
    ...{ height: 9, chainMaxHeightFinalized: 1, networkHeight: 9, consensus: 100, syncing: false },
    transactions: { confirmed: CONFIRMED, total: CONFIRMED + pool },
  };
  return Number(new URL(await nodeAnswering(t, { '/node/status': { data: status } })).port);
}

function poolOf(bounds: Bounds<number>, nodes?: readonly number[]) {
  return { withinMs: 0, conditions: [{ kind: 'pool', bounds } as const], ...(nodes === undefined ? {} : { nodes }) };
}

test('the pool of each node is checked against its bounds, and confirmed transactions do not count', async (t) => {
  const expectations = await expectationsOver(t, [2, 3]);
  t.is(await expectations.difference(poolOf({ min: 2, max: 3 })), undefined);
  t.deepEqual(await expectations.difference(poolOf({ min: 2, max: 2 })), {
    expected: 'transactions in the pool 2 on nodes 0, 1',
    found: 'node 0: 2, node 1: 3',
  });
  t.deepEqual(await expectations.difference(poolOf({ min: 4 })), {
    expected: 'transactions in the pool at least 4 on nodes 0, 1',
    found: 'node 0: 2, node 1: 3',
  });
});

test('a scenario can check the pool of one node', async (t) => {
  const expectations = await expectationsOver(t, [2, 0]);
  t.is(await expectations.difference(poolOf({ min: 0, max: 0 }, [1])), undefined);
  t.deepEqual(await expectations.difference(poolOf({ min: 0, max: 0 }, [0])), {
    expected: 'transactions in the pool 0 on node 0',
    found: 'node 0: 2',
  });
});

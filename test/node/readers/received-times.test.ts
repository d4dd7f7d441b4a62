/** Checks that a reading process reports the same arrival time for a transaction as the node. */

import test from 'ava';
import { setUpEvents } from '../../http/event-fixture.ts';
import { waitFor } from '../../support/devnet.ts';
import { watchForks } from '../../support/forked-readers.ts';
import type { Untyped } from '../../support/untyped.ts';

/**
 * Returns the arrival time of a transaction. The time is unknown for about a third of the transactions, as if they had
 * arrived in blocks.
 */
function receivedAtOf(id: string): number | undefined {
  const number = Number(BigInt(id) % 1_000n);
  return number % 3 === 0 ? undefined : 1_700_000_000_000 + number;
}

test('a reader knows when transactions arrived, both before and after its start', async (t) => {
  const fixture = await setUpEvents(t, { processes: 1, receivedAtOf });
  const readers = watchForks(t);
  fixture.append(30);
  const origin = await fixture.serve();
  const seen = async (): Promise<Map<string, string | undefined>> => {
    const { data } = (await (await fetch(`${origin}/api/transactions?limit=100`)).json()) as Untyped;
    return new Map(data.map(({ id, receivedAt }: Untyped) => [id, receivedAt]));
  };
  const expected = (): Map<string, string | undefined> => {
    const all = fixture.blocks.flatMap(({ transactions }) => transactions);
    return new Map(
      all.map(({ id }) => {
        const timeMs = receivedAtOf(id);
        return [id, timeMs === undefined ? undefined : new Date(timeMs).toISOString()];
      }),
    );
  };
  const isSame = (what: string): Promise<boolean> =>
    waitFor(
      what,
      async () => {
        const [found, right] = [await seen(), expected()];
        const isRight = found.size >= Math.min(100, right.size) && [...found].every(([id, at]) => right.get(id) === at);
        if (!isRight) throw new Error(JSON.stringify([...found]));
        return true;
      },
      30_000,
    );
  t.true([...expected().values()].some((at) => at !== undefined));
  t.true(await isSame('the times from before the reader'));
  fixture.append(3);
  t.true(await isSame('the times from after the start of the reader'));
  readers.at(-1)?.kill('SIGKILL');
  fixture.append(3);
  await waitFor(
    'the next reader',
    async () => (readers.length > 1 ? true : Promise.reject(new Error('not yet'))),
    30_000,
  );
  t.true(await isSame('the times from before the next reader'));
});

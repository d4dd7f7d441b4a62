import test from 'ava';
import { DevnetFaults } from '../../src/cli/devnet/faults.ts';
import {
  delayMsOfText,
  lossOfText,
  nodesOfText,
  partsOfText,
  durationMsOf,
  skewMsOfText,
} from '../../src/cli/devnet/parse-faults.ts';

const NODES = [0, 1, 2, 3].map((index) => ({ index, wsPort: 5000 + index }));
const NUMBERS = NODES.map(({ index }) => index);

test('a new devnet has no fault', (t) => {
  const faults = new DevnetFaults();
  t.deepEqual(faults.active(NUMBERS), { parts: [], nodes: [] });
  t.deepEqual(faults.of(1, NODES), { links: [], skewMs: 0 });
  t.is(faults.partOf(0), faults.partOf(3));
});

test('a partition cuts only the links between its parts, and the nodes not named form one more part', (t) => {
  const faults = new DevnetFaults();
  faults.partition([[0, 1]]);
  const cut = { isCut: true, delayMs: 0, loss: 0 };
  t.deepEqual(faults.of(0, NODES).links, [
    { wsPort: 5002, ...cut },
    { wsPort: 5003, ...cut },
  ]);
  t.deepEqual(faults.of(3, NODES).links, [
    { wsPort: 5000, ...cut },
    { wsPort: 5001, ...cut },
  ]);
  t.deepEqual(faults.active(NUMBERS).parts, [
    [0, 1],
    [2, 3],
  ]);
  t.is(faults.partOf(2), faults.partOf(3));
  faults.partition([[0], [1, 2, 3]]);
  t.deepEqual(faults.active(NUMBERS).parts, [[0], [1, 2, 3]]);
  faults.heal();
  t.deepEqual(faults.active(NUMBERS), { parts: [], nodes: [] });
});

test('a link has the higher delay and loss of its two nodes, seen from both ends', (t) => {
  const faults = new DevnetFaults();
  faults.delay(50, undefined);
  faults.delay(200, [1]);
  faults.lose(0.1, [1, 2]);
  const link = (from: number, to: number) => faults.of(from, NODES).links.find(({ wsPort }) => wsPort === 5000 + to);
  t.like(link(0, 1), { isCut: false, delayMs: 200, loss: 0.1 });
  t.like(link(1, 0), { isCut: false, delayMs: 200, loss: 0.1 });
  t.like(link(0, 3), { delayMs: 50, loss: 0 });
  t.deepEqual(faults.active(NUMBERS).nodes[1], { node: 1, delayMs: 200, loss: 0.1, skewMs: 0 });
  faults.delay(0, undefined);
  t.like(link(0, 1), { delayMs: 0, loss: 0.1 });
  t.is(link(0, 3), undefined);
});

test('a skewed clock affects one node only', (t) => {
  const faults = new DevnetFaults();
  faults.skew(2, -3000);
  t.deepEqual(
    NUMBERS.map((index) => faults.of(index, NODES).skewMs),
    [0, 0, -3000, 0],
  );
  t.deepEqual(faults.active(NUMBERS).nodes, [{ node: 2, delayMs: 0, loss: 0, skewMs: -3000 }]);
});

test('faults are parsed in the forms that users type', (t) => {
  t.deepEqual(partsOfText(['0,1|2,3']), [
    [0, 1],
    [2, 3],
  ]);
  t.deepEqual(partsOfText(['0, 1', '2,3 | 4']), [[0, 1], [2, 3], [4]]);
  t.deepEqual(nodesOfText([]), undefined);
  t.deepEqual(nodesOfText(['1', '2,3']), [1, 2, 3]);
  t.deepEqual(['150ms', '2s', '1.5s', '0ms', '60s'].map(delayMsOfText), [150, 2000, 1500, 0, 60_000]);
  t.deepEqual(['5%', '0.5%', '0%', '100%'].map(lossOfText), [0.05, 0.005, 0, 1]);
  t.deepEqual(['+3s', '-500ms', '+1.5s', '0s', '-0s', '+2m', '-1h'].map(skewMsOfText), [
    ...[3000, -500, 1500, 0, 0, 120_000, -3_600_000],
  ]);
});

test('any other text is refused with an error that repeats it', (t) => {
  const refused = (read: (text: string) => unknown, texts: readonly string[]): void => {
    for (const text of texts)
      t.throws(() => read(text), { code: 'USAGE', message: new RegExp(`^\`${escaped(text)}\``) });
  };
  refused((text) => partsOfText([text]), ['', 'a', '0,,1', '0;1', '-1', '100', '1.5']);
  refused((text) => nodesOfText([text]), ['', 'x', '1,', '1 2']);
  refused(delayMsOfText, ['', '150', 'ms', '61s', '-1s', '0.1ms', '1e3ms', '1 s']);
  refused(lossOfText, ['', '5', '101%', '-5%', '5 %', 'half']);
  refused(skewMsOfText, ['', '3s', '+3', '++3s', '+25h', 'ahead']);
});

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

test('each number of whole milliseconds is read, in every unit', (t) => {
  for (let ms = 0; ms < 10_000; ms += 1) {
    const seconds = `${Math.floor(ms / 1000)}.${String(ms % 1000).padStart(3, '0')}s`;
    if (durationMsOf(seconds) !== ms) t.fail(`${seconds} is read as ${durationMsOf(seconds)}`);
  }
  t.deepEqual(
    ['4.35m', '0.001h', '99999999h', '1.5ms', '3.0ms', '0.0001s', '1.s', '.5s', '1e3s', 's'].map(durationMsOf),
    [261_000, 3600, 359_999_996_400_000, undefined, 3, undefined, undefined, undefined, undefined, undefined],
  );
});

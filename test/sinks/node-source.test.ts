import test, { type ExecutionContext } from 'ava';
import { setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openNodeSource } from '../../src/cli/sink/node-source.ts';
import type { Network } from '../../src/config/network.ts';
import { codeOf } from '../../src/primitives/errors.ts';
import type { Block } from '../../src/protocol/types.ts';
import { emptyMemorySink, MemorySink } from '../../src/sinks/memory-sink.ts';
import { RowMaker } from '../../src/sinks/row-maker.ts';
import { runSink } from '../../src/sinks/run.ts';
import { joinedRows } from '../../src/sinks/tables.ts';
import type { TestNetwork } from '../support/chain-maker.ts';
import { sorted } from './contract.ts';
import { fullChain, type FullChain } from './full-chain.ts';
import { serveChain } from './served-chain.ts';

const FORK = 54;
const running = new AbortController().signal;
// Many tests listen to the signal at the same time. Without this call, Node.js would print a warning.
setMaxListeners(0, running);

/** Returns the result of `work`; undefined if `work` does not end within 20 s. */
function orLate<T>(work: Promise<T>): Promise<T | undefined> {
  return Promise.race([work, sleep(20_000, undefined, { ref: false })]);
}

function networkOf({ params, genesisJson }: TestNetwork): Pick<Network, 'name' | 'params' | 'genesisJson'> {
  return { name: 'made', params, genesisJson };
}

function rowsOf({ maker }: FullChain, blocks: readonly Block[]): unknown {
  const rows = new RowMaker(maker.rules);
  return sorted(joinedRows(blocks.map((block) => rows.rowsOf(block))));
}

for (const generation of [2, 3] as const) {
  const chain = fullChain(generation, 58);
  const branch = fullChain(generation, 61, 1, FORK);

  test(`generation ${generation}: a sink reads all blocks of a node, and continues where it stopped`, async (t) => {
    const { url, append } = await serveChain(t, chain.maker.rules, chain.blocks.slice(0, 44));
    const source = await openNodeSource(url, networkOf(chain.network), { depth: 10, signal: running, pauseMs: 5 });
    const content = emptyMemorySink();
    const run = { source, rangeBlocks: 10, signal: new AbortController().signal, follows: false };
    await runSink({ ...run, sink: new MemorySink(content) });
    t.deepEqual(sorted(new MemorySink(content).rows()), rowsOf(chain, chain.blocks.slice(0, 44)));
    t.is(content.ranges.length, 3);
    append(chain.blocks.slice(44));
    await runSink({ ...run, sink: new MemorySink(content) });
    t.deepEqual(sorted(new MemorySink(content).rows()), rowsOf(chain, chain.blocks));
    t.true(content.ranges.length >= 4);
  });

  test(`generation ${generation}: a sink follows a node through reorganisations, one of them while cut off`, async (t) => {
    const served = await serveChain(t, chain.maker.rules, chain.blocks.slice(0, 50));
    const source = await openNodeSource(served.url, networkOf(chain.network), {
      depth: 10,
      signal: running,
      pauseMs: 5,
    });
    const content = emptyMemorySink();
    const abort = new AbortController();
    let wake: () => void = () => undefined;
    const run = runSink({
      source,
      sink: new MemorySink(content),
      rangeBlocks: 10,
      signal: abort.signal,
      follows: true,
      onProgress: () => wake(),
    });
    const reached = async (tipId: string | undefined): Promise<void> => {
      while (content.tail.at(-1)?.blockId !== tipId) await new Promise<void>((resolve) => (wake = resolve));
    };
    await Promise.race([run, reached(chain.blocks[49]?.id)]);
    served.append(chain.blocks.slice(50));
    await Promise.race([run, reached(chain.blocks.at(-1)?.id)]);
    served.revertTo(FORK - 1);
    served.append(branch.blocks.slice(FORK - 1, 58));
    await Promise.race([run, reached(branch.blocks[57]?.id)]);
    t.deepEqual(sorted(new MemorySink(content).rows()), rowsOf(branch, branch.blocks.slice(0, 58)));
    await served.restart(() => {
      served.revertTo(FORK - 1);
      served.append(chain.blocks.slice(FORK - 1, 57));
    });
    await Promise.race([run, reached(chain.blocks[56]?.id)]);
    t.deepEqual(sorted(new MemorySink(content).rows()), rowsOf(chain, chain.blocks.slice(0, 57)));
    abort.abort();
    await run;
  });
}

test('a node of another network is refused', async (t) => {
  const [two, three] = [fullChain(2, 5), fullChain(3, 5)];
  const { url } = await serveChain(t, three.maker.rules, three.blocks);
  const error = await t.throwsAsync(
    openNodeSource(url, networkOf(two.network), { depth: 10, signal: running, pauseMs: 5 }),
  );
  t.is(codeOf(error), 'SINK_OF_OTHER_CHAIN');
});

type Answering = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Starts a proxy in front of a node.
 *
 * @param answers answers a request and returns true, or returns false to let the proxy send the request to the node
 */
async function inFrontOf(t: ExecutionContext, nodeUrl: string, answers: Answering): Promise<string> {
  const server = createServer((request, response) => {
    if (answers(request, response)) return;
    void fetch(`${nodeUrl}${request.url ?? ''}`).then(
      async ({ status, headers, body }) => {
        response.writeHead(status, { 'content-type': headers.get('content-type') ?? '' });
        if (body === null) return response.end();
        for await (const bytes of body as AsyncIterable<Uint8Array>) response.write(bytes);
        return response.end();
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const isStream = (request: IncomingMessage): boolean => request.url?.includes('events') === true;

function send(response: ServerResponse, ...events: readonly (readonly [string, unknown])[]): true {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [event, data] of events) {
    response.write(`id: 1.1\nevent: ${event}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  }
  return true;
}

const short = fullChain(3, 12);
const header = { height: 2, id: '17', numberOfTransactions: 1, totalAmount: '0', totalFee: '0', reward: '0' };

const REFUSALS: Readonly<Record<string, readonly [Answering, string, RegExp]>> = {
  'an answer 400': [
    (request, response) => isStream(request) && !!response.writeHead(400).end('{"message":"no such height"}'),
    'NODE_ANSWER_UNEXPECTED',
    /no such height/,
  ],
  'an event that is not JSON': [
    (request, response) => isStream(request) && send(response, ['blocks/new', '{"height":']),
    'NODE_ANSWER_MALFORMED',
    /carries no JSON/,
  ],
  'a block without amounts': [
    (request, response) => isStream(request) && send(response, ['blocks/new', { height: 2, id: '17' }]),
    'NODE_ANSWER_MALFORMED',
    /does not decode/,
  ],
  'a transaction that does not decode': [
    (request, response) =>
      isStream(request) &&
      send(response, ['blocks/new', header], ['transactions/included', { blockId: '17', type: 99, asset: {} }]),
    'NODE_ANSWER_MALFORMED',
    /block 2 that does not decode/,
  ],
};

for (const [what, [answers, code, message]] of Object.entries(REFUSALS)) {
  for (const phase of ['backfill', 'live'] as const) {
    test(`a sink that gets ${what} from its node ends with one line that says so (${phase})`, async (t) => {
      const { url } = await serveChain(t, short.maker.rules, short.blocks);
      const front = await inFrontOf(t, url, answers);
      const source = await openNodeSource(front, networkOf(short.network), { depth: 10, signal: running, pauseMs: 5 });
      const reading = phase === 'backfill' ? source.blocks(1, 5) : source.changes(1, running);
      const error = await t.throwsAsync(
        (async () => {
          for await (const _ of reading);
        })(),
      );
      t.is(codeOf(error), code);
      t.regex(error?.message ?? '', message);
      t.notRegex(error?.message ?? '', /\n/);
    });
  }
}

test('a sink repeats a request to a busy or disconnected node after Retry-After, and logs this once', async (t) => {
  const { url } = await serveChain(t, short.maker.rules, short.blocks);
  const askedMs: number[] = [];
  const refusals: readonly Answering[] = [
    (_, response) => !!response.writeHead(503, { 'retry-after': '1' }).end('{"message":"busy"}'),
    (_, response) => !!response.writeHead(429).end('{"message":"too many"}'),
    (_, response) => !!response.destroy(),
    (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('id: 1.1\n');
      setTimeout(() => response.destroy(), 20);
      return true;
    },
  ];
  const front = await inFrontOf(t, url, (request, response) => {
    if (!isStream(request)) return false;
    const refusal = refusals[askedMs.length];
    askedMs.push(performance.now());
    return refusal?.(request, response) ?? false;
  });
  const lines: string[] = [];
  const print = (line: string): void => void lines.push(line);
  const options = { depth: 10, signal: running, pauseMs: 5, print };
  const source = await openNodeSource(front, networkOf(short.network), options);
  const heights: number[] = [];
  for await (const { height } of source.blocks(1, 12)) heights.push(height);
  t.deepEqual(
    heights,
    short.blocks.map(({ height }) => height),
  );
  t.is(askedMs.length, refusals.length + 1);
  t.true((askedMs[1] ?? 0) - (askedMs[0] ?? 0) >= 990, 'it waits for as long as the node says');
  t.is(lines.length, 2, lines.join('; '));
  t.regex(lines[0] ?? '', /busy; the command retries until the node answers$/);
  t.regex(lines[1] ?? '', /is back$/);
});

test('generation 2: a revert of a final block ends the command with the documented code', async (t) => {
  const chain = fullChain(2, 58);
  const branch = fullChain(2, 61, 1, 46);
  const served = await serveChain(t, chain.maker.rules, chain.blocks);
  const source = await openNodeSource(served.url, networkOf(chain.network), { depth: 8, signal: running, pauseMs: 5 });
  let caughtUp: () => void = () => undefined;
  const live = new Promise<void>((resolve) => (caughtUp = resolve));
  const onProgress = ({ phase }: { readonly phase: string }): void => void (phase === 'live' && caughtUp());
  const run = runSink({ source, sink: new MemorySink(), rangeBlocks: 10, signal: running, follows: true, onProgress });
  await Promise.race([live, run]);
  served.revertTo(45);
  served.append(branch.blocks.slice(45));
  const error = await orLate(run.catch((thrown: unknown) => thrown));
  t.is(codeOf(error), 'SINK_REVERTED_BELOW', String(error));
  t.regex((error as Error).message, /^block 50 was reverted/);
});

test('a sink opens a silent stream again, and keeps a stream with heartbeats', async (t) => {
  const { url } = await serveChain(t, short.maker.rules, short.blocks);
  let asked = 0;
  const front = await inFrontOf(t, url, (request, response) => {
    if (!isStream(request)) return false;
    asked += 1;
    if (asked > 2) return false;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': begin\n\n');
    // The first stream sends the comment `begin` and then nothing. The second stream sends this comment, 20 heartbeats,
    // and then nothing.
    let beats = 0;
    const timer = setInterval(() => {
      beats += 1;
      if (asked === 2 && beats <= 20) response.write(':\n\n');
      else clearInterval(timer);
    }, 50);
    return true;
  });
  const lines: string[] = [];
  const options = { depth: 10, signal: running, pauseMs: 5, silenceMs: 500, print: (line: string) => lines.push(line) };
  const source = await openNodeSource(front, networkOf(short.network), options);
  const startedMs = performance.now();
  const heights: number[] = [];
  for await (const { height } of source.blocks(1, 12)) heights.push(height);
  t.is(heights.length, 12);
  t.is(asked, 3);
  t.true(performance.now() - startedMs > 500 + 20 * 50 + 500 - 100, 'a heartbeat ends the silence');
  t.regex(lines[0] ?? '', /was lost \(no data arrived for 0\.5 s\); the command retries/);
});

/** Starts a proxy in front of a node. In the first stream, the proxy drops SSE events for which `isLost` is true. */
async function losing(t: ExecutionContext, nodeUrl: string, isLost: (event: string) => boolean): Promise<string> {
  let isFirst = true;
  return inFrontOf(t, nodeUrl, (request, response) => {
    if (!isStream(request) || !isFirst) return false;
    isFirst = false;
    void fetch(`${nodeUrl}${request.url ?? ''}`).then(async ({ body }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      let text = '';
      for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
        text += Buffer.from(part).toString();
        const events = text.split('\n\n');
        text = events.pop() ?? '';
        for (const event of events) if (!isLost(event)) response.write(`${event}\n\n`);
      }
    });
    return true;
  });
}

const full = short.blocks.find(({ height, transactions }) => height > 2 && transactions.length > 0);
const fullHeight = full?.height ?? 0;

for (const [what, from, isLost] of [
  ['a block', fullHeight - 1, (event) => /event: blocks\/new/.test(event) && event.includes(`"id":"${full?.id}"`)],
  ['a transaction', fullHeight, (event) => event.includes(`"id":"${full?.transactions[0]?.id}"`)],
] as const satisfies readonly (readonly [string, number, (event: string) => boolean])[]) {
  for (const phase of ['backfill', 'live'] as const) {
    test(`a sink opens the stream again after the event of ${what} was lost (${phase})`, async (t) => {
      const { url } = await serveChain(t, short.maker.rules, short.blocks);
      const front = await losing(t, url, isLost);
      const lines: string[] = [];
      const print = (line: string): void => void lines.push(line);
      const options = { depth: 10, signal: running, pauseMs: 5, print };
      const source = await openNodeSource(front, networkOf(short.network), options);
      const heights: number[] = [];
      const reading = (async () => {
        if (phase === 'backfill') {
          for await (const { height } of source.blocks(from, short.blocks.length)) heights.push(height);
          return;
        }
        for await (const change of source.changes(from, running)) {
          if (change.kind === 'applied') heights.push(change.block.height);
          if (change.kind === 'caughtUp') return;
        }
      })();
      await orLate(reading);
      t.deepEqual(
        heights,
        short.blocks.slice(from - 1).map(({ height }) => height),
      );
      t.regex(lines[0] ?? '', /^the connection to .* was lost/);
    });
  }
}

test('a sink that waits for a node ends on a stop', async (t) => {
  const { url } = await serveChain(t, short.maker.rules, short.blocks);
  const abort = new AbortController();
  const front = await inFrontOf(t, url, (request, response) => {
    if (!isStream(request)) return false;
    abort.abort();
    return !!response.writeHead(503, { 'retry-after': '300' }).end();
  });
  const source = await openNodeSource(front, networkOf(short.network), { depth: 10, signal: abort.signal });
  const ended = (async () => {
    for await (const _ of source.blocks(1, 5));
  })();
  t.is(await ended.catch((error: unknown) => error), abort.signal.reason);
});

test('a sink that gets no blocks from an open stream ends at once on a stop', async (t) => {
  const { url } = await serveChain(t, short.maker.rules, short.blocks);
  const abort = new AbortController();
  const front = await inFrontOf(t, url, (request, response) => {
    if (!isStream(request)) return false;
    setTimeout(() => abort.abort(), 50);
    return send(response);
  });
  const source = await openNodeSource(front, networkOf(short.network), { depth: 10, signal: abort.signal });
  const ended = (async () => {
    for await (const _ of source.blocks(1, 5));
  })();
  const error = await orLate(ended.catch((thrown: unknown) => thrown));
  t.is(error, abort.signal.reason);
});

test('a node whose chain is shorter than the sink ends the command with a line that says so', async (t) => {
  const chain = fullChain(2, 58);
  const served = await serveChain(t, chain.maker.rules, chain.blocks);
  const source = await openNodeSource(served.url, networkOf(chain.network), { depth: 10, signal: running, pauseMs: 5 });
  const content = emptyMemorySink();
  const run = { source, rangeBlocks: 10, signal: running, follows: false };
  await runSink({ ...run, sink: new MemorySink(content) });
  t.is(content.ranges.length, 4);
  served.revertTo(25);
  const again = runSink({ ...run, sink: new MemorySink(content) });
  const error = await orLate(again.catch((thrown: unknown) => thrown));
  t.is(codeOf(error), 'SINK_OF_OTHER_CHAIN');
  t.regex((error as Error).message, /at height 40, the chain is at height 25: .*wait until the chain has reached/);
  const heights: number[] = [];
  const reading = (async () => {
    for await (const { height } of source.blocks(20, 30)) heights.push(height);
  })();
  t.is(await orLate(reading.then(() => 'ended')), 'ended');
  t.deepEqual(heights, []);
});

test('a sink waits for a node whose chain is shorter than the final part, and says so', async (t) => {
  const chain = fullChain(2, 58);
  const served = await serveChain(t, chain.maker.rules, chain.blocks);
  const lines: string[] = [];
  const print = (line: string): void => void lines.push(line);
  const options = { depth: 10, signal: running, pauseMs: 5, print };
  const source = await openNodeSource(served.url, networkOf(chain.network), options);
  const content = emptyMemorySink();
  const abort = new AbortController();
  const run = runSink({ source, sink: new MemorySink(content), rangeBlocks: 10, signal: abort.signal, follows: true });
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  await orLate(Promise.race([run, until(() => content.tail.at(-1)?.height === 58)]));
  await served.restart(() => served.revertTo(30));
  const isSaid = (): boolean =>
    lines.some((line) => /is at height 30, below block 4[0-9], which counted as final/.test(line));
  await orLate(Promise.race([run, until(isSaid)]));
  served.append(chain.blocks.slice(30));
  await orLate(Promise.race([run, until(() => lines.some((line) => line.endsWith('is back')))]));
  t.true(isSaid(), lines.join('\n'));
  t.is(content.tail.at(-1)?.height, 58);
  abort.abort();
  await run;
});

test('a sink ends when it finds another network at the address of its node', async (t) => {
  const { url } = await serveChain(t, short.maker.rules, short.blocks);
  let isOther = false;
  const front = await inFrontOf(t, url, (request, response) => {
    if (isStream(request)) {
      isOther = true;
      return !!response.destroy();
    }
    if (!isOther || request.url?.includes('height=1') !== true) return false;
    response.writeHead(200, { 'content-type': 'application/json' });
    return !!response.end(JSON.stringify({ data: [{ height: 1, id: '99', timestamp: 0 }] }));
  });
  const source = await openNodeSource(front, networkOf(short.network), { depth: 10, signal: running, pauseMs: 5 });
  const error = await t.throwsAsync(
    (async () => {
      for await (const _ of source.blocks(1, 5));
    })(),
  );
  t.is(codeOf(error), 'SINK_OF_OTHER_CHAIN', error?.message);
});

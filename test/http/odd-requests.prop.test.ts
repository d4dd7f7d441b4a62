import test from 'ava';
import { PROCESSES } from '../support/http-front.ts';
import { serveFolder } from './folder-node.ts';
import { fakeNode, serve } from './fake-node.ts';
import { sendOddRequests, NO_STREAMS } from './odd-requests.ts';

const RUNS = Number(process.env['ODD_REQUESTS'] ?? 300);

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: no malformed or unusual request makes the node fail or send an undeclared answer`, async (t) => {
    const ask =
      PROCESSES === 0
        ? await serve(t, fakeNode(generation), { events: NO_STREAMS })
        : await serveFolder(t, generation, PROCESSES, { events: NO_STREAMS });
    await sendOddRequests(t, ask, generation, RUNS);
  });
}

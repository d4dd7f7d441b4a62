/**
 * Runs short versions of two HTTP test suites (unusual requests, and the event stream) with one reading process. The
 * commands `npm run odd-requests` and `npm run events` run the full suites. For these commands, the environment
 * variable `HTTP_PROCESSES` sets the number of reading processes (default 0).
 */

import test from 'ava';
import { rebuildChain } from '../../http/event-fixture.ts';
import { serveFolder } from '../../http/folder-node.ts';
import { sendOddRequests, NO_STREAMS } from '../../http/odd-requests.ts';

test('no unusual request makes a reading process fail or send an answer of another shape', async (t) => {
  const ask = await serveFolder(t, 3, 1, { events: NO_STREAMS });
  await sendOddRequests(t, ask, 3, 60);
});

test('subscribers of a reading process rebuild the chain without gap or duplicate', (t) =>
  rebuildChain(t, { count: 12, steps: 20, processes: 1 }));

/**
 * A reading process (a process that answers HTTP requests for a node). When the process gets SIGUSR2, it sends wrong
 * messages to its node.
 */

import { createServer } from 'node:net';
import { runReader } from '../../src/node/readers/reader-process.ts';
import { createRules } from '../../src/protocol/generations.ts';
import { FAKE_CODEC } from './fake-codec.ts';

const NOTHING = { logs: [], counts: [], gauges: [], observations: [] };
const MESSAGES = [null, { kind: 'report', report: { ...NOTHING, logs: [null] } }, { kind: 'limits', report: null }];

process.on('SIGUSR2', () => {
  for (const message of MESSAGES) process.send?.(message);
  const server = createServer().listen(0, () => process.send?.({ kind: 'taken' }, server));
});
runReader((params) => ({ ...createRules(params), codec: FAKE_CODEC }));

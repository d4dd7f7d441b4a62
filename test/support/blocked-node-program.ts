/**
 * Runs a node with one reading process (a process that answers HTTP requests for the node). As soon as the node has
 * sent the reading process its settings, the node blocks forever. The node therefore never takes the listening socket
 * that the reading process sends. Arguments: folder of the store, port.
 */

import { subscribe } from 'node:diagnostics_channel';
import type { ChildProcess } from 'node:child_process';
import type { FromReader } from '../../src/node/readers/messages.ts';
import { openChainStore } from '../../src/store/chain/open.ts';
import { fakeNode } from '../http/fake-node.ts';
import { FAKE_CODEC } from './fake-codec.ts';
import { openFront } from './http-front.ts';

const [, , directory = '', port = ''] = process.argv;

subscribe('child_process', (message) => {
  const { process: child } = message as { readonly process: ChildProcess };
  // When the reading process sends `loaded`, a listener of the reader pool sends the settings. `setImmediate` lets the
  // pool add this listener first, so that the pool sends the settings before the listener below blocks.
  setImmediate(() =>
    child.on('message', ({ kind }: FromReader) => {
      if (kind === 'loaded') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    }),
  );
});

const { api } = fakeNode(3);
await openChainStore({ directory, codec: FAKE_CODEC, params: api.params });
await openFront({ api, processes: 1, directory, http: { port: Number(port) } });

/**
 * The HTTP benchmark runs this HTTP server in a separate process, with the command `node http-server.js DIRECTORY`.
 * DIRECTORY contains the store that `fillStore` has written.
 */

import { createHttpServer } from '../../src/http/http-server.ts';
import { openChainStore } from '../../src/store/chain/open.ts';
import { idleNode } from '../support/idle-node.ts';
import { benchNetwork } from './filled-store.ts';

const { network, rules } = benchNetwork();
const { genesis, params } = network;
const chain = await openChainStore({ directory: process.argv[2] ?? '', codec: rules.codec, params });
const identity = { version: '3.0.2', protocolVersion: '2.0' };
const api = idleNode({ chain, rules, genesis, identity, nowMs: Date.now });
const server = createHttpServer(api, { port: 0, address: '127.0.0.1' });
const { port } = await server.start();
process.send?.({ port });
process.on('disconnect', () => {
  void server.close().then(() => chain.close());
});

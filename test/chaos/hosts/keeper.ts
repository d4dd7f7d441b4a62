/**
 * Keeps a network namespace for as long as its standard input is open, and hands connections on to a node in it. Arguments:
 * address and port that it takes them at, once the address is there, and port of the node.
 */

import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { openRelay } from './relay.ts';

const [host = '', port = '', nodePort = ''] = process.argv.slice(2);
process.stdin.on('end', () => process.exit(0)).resume();
const isThere = (): boolean =>
  Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === host));
while (!isThere()) await sleep(50);
await openRelay({ host, port: Number(port) }, { host: '127.0.0.1', port: Number(nodePort) });

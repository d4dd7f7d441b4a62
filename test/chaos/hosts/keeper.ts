/**
 * The keeper is a process that keeps a network namespace alive, and relays connections to a node in the namespace. The
 * keeper ends when its standard input closes. Arguments: the address and the port on which the keeper listens, and the
 * port of the node. The keeper waits until an interface of the namespace has this address, and then starts to listen.
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

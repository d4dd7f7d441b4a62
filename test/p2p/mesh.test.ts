/**
 * Tests the connections between the nodes of a network on one machine, as in a devnet. Each node consists of only a
 * transport and a `PeerManager`, which connects to all other nodes.
 */

import test from 'ava';

import { PeerManager } from '../../src/engine/peers/manager.ts';
import { gen3Dialect } from '../../src/p2p/dialect-gen3.ts';
import { createTransport, type ListeningTransport } from '../../src/p2p/transport.ts';
import { SILENT } from '../../src/ports/observer.ts';
import type { NoteStore } from '../../src/ports/store.ts';
import { freePorts } from '../support/ports.ts';
import { clock, HOST, NETWORK, nodeInfo, pause, random, until } from './support.ts';

const SMOOTHING_MS = 1_800;

test('nodes that start one after another on one machine soon know each other, and stay connected', async (t) => {
  const first = await freePorts(4);
  const ports = [first, first + 1, first + 2, first + 3];
  const transports: ListeningTransport[] = [];
  const managers: PeerManager[] = [];
  let losses = 0;
  for (const wsPort of ports) {
    const transport = createTransport({
      dialect: gen3Dialect({ networkIdentifier: NETWORK, protocolVersion: '2.0' }),
      host: HOST,
      wsPort,
      info: nodeInfo({ wsPort }),
      inboundMax: 100,
      clock,
      random,
    });
    const store: NoteStore = { note: () => undefined, transact: (work) => work({ setNote: () => undefined }) };
    const manager = new PeerManager(
      { transport, store, clock, random, observer: SILENT },
      {
        own: { ip: HOST, wsPort },
        outboundMax: 20,
        gossipPeersMax: 16,
        fixedPeers: ports.map((port) => ({ ip: HOST, wsPort: port })),
        seedPeers: [],
        whitelistedPeers: [],
        blacklistedIps: [],
      },
    );
    transports.push(transport);
    managers.push(manager);
  }
  await Promise.all(
    managers.map(async (manager, index) => {
      await pause(index * 30);
      await manager.start({
        answer: () => Promise.resolve(undefined),
        message: () => undefined,
        disconnected: () => (losses += 1),
      });
    }),
  );
  const complete = (): boolean => managers.every((manager) => manager.connectedPeers().length === 3);
  // If two peers dial each other, one of the two connections closes some time later. The test waits until each node has
  // had connections to all other nodes for `SMOOTHING_MS`, and no connection has closed in this time.
  let [lossesSeen, sinceMs] = [losses, clock.nowMs()];
  const isSteady = (): boolean => {
    if (!complete() || losses > lossesSeen) [lossesSeen, sinceMs] = [losses, clock.nowMs()];
    return clock.nowMs() - sinceMs >= SMOOTHING_MS;
  };
  await until(isSteady, 'a mesh in which no connection comes and goes');
  t.true(complete());
  for (const manager of managers) {
    t.deepEqual(
      manager.knownPeers().map(({ state }) => state),
      ['connected', 'connected', 'connected'],
    );
    t.deepEqual(manager.bans(), []);
  }
  await Promise.all(managers.map((manager) => manager.stop()));
  t.true(transports.every((transport) => transport.connections().length === 0));
});

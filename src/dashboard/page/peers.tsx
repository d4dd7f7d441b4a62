/** Peers with what they say of themselves. */

import type { Peer } from '../answers.ts';
import { isConnected } from '../answers.ts';
import { useLive } from './hooks.ts';
import { Table } from './parts.tsx';

export function PeerTable({ peers }: { peers: readonly Peer[] }) {
  const { status } = useLive();
  const lagOf = ({ height }: Peer): string => {
    const lag = (status?.height ?? 0) - (height ?? 0);
    if (height === undefined || lag === 0) return '';
    return lag > 0 ? ` (−${lag})` : ` (+${-lag})`;
  };
  return (
    <Table
      caption="Peers"
      rows={peers}
      keyOf={({ ip, wsPort }) => `${ip}:${wsPort}`}
      empty="No peers."
      columns={[
        { name: 'Peer', cell: ({ ip, wsPort }) => <code>{`${ip}:${wsPort}`}</code> },
        {
          name: 'State',
          cell: (peer) => (
            <span class={isConnected(peer) ? 'badge good' : 'badge'}>{isConnected(peer) ? 'connected' : 'known'}</span>
          ),
        },
        { name: 'Height', isFigure: true, cell: (peer) => `${peer.height ?? '–'}${lagOf(peer)}` },
        { name: 'Version', isWide: true, cell: ({ version }) => version ?? '–' },
      ]}
    />
  );
}

export function Peers() {
  const { peers } = useLive();
  const connected = peers.filter(isConnected);
  return (
    <>
      <h1>Peers</h1>
      <p class="quiet">
        {connected.length} connected, {peers.length - connected.length} known besides
      </p>
      <PeerTable peers={[...connected, ...peers.filter((peer) => !isConnected(peer))]} />
    </>
  );
}

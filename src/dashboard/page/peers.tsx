/** Peers with what they say of themselves. */

import type { Peer } from '../answers.ts';
import { isConnected } from '../answers.ts';
import { countText } from '../format.ts';
import { useLive } from './hooks.ts';
import { Table } from './parts.tsx';

const LAG_TOLD_MIN = 3;

export function PeerTable({ peers }: { peers: readonly Peer[] }) {
  const { status } = useLive();
  const lagOf = ({ height }: Peer): string => {
    const lag = (status?.height ?? 0) - (height ?? 0);
    // A new block is told at once and the peers’ heights a moment later: one behind is in step.
    if (height === undefined || Math.abs(lag) < LAG_TOLD_MIN) return '';
    return lag > 0 ? `${lag} behind` : `${-lag} ahead`;
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
            <>
              <span class={isConnected(peer) ? 'badge good' : 'badge'}>
                {isConnected(peer) ? 'connected' : 'known'}
              </span>
              <span class="quiet wide"> {isConnected(peer) ? lagOf(peer) : ''}</span>
            </>
          ),
        },
        { name: 'Version', isWide: true, cell: ({ version }) => version ?? '–' },
        { name: 'Height', isFigure: true, cell: ({ height }) => (height === undefined ? '–' : countText(height)) },
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

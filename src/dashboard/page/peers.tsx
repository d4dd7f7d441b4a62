/**
 * The view of peers: the peers with the data that they announce. For a browser on the machine of the node, the view
 * instead shows the verdict on each peer address (`PeerVerdict`): the state of its connection, and the reason for this
 * state.
 */

import type { Peer, PeerVerdict } from '../answers.ts';
import { isConnected } from '../answers.ts';
import { countText, dateText } from '../format.ts';
import { BEHIND_BLOCKS_MIN } from '../smoothing.ts';
import { useAnswer, useLive } from './hooks.ts';
import { Answered, Table } from './components.tsx';

export function PeerTable({ peers }: { peers: readonly Peer[] }) {
  const { status } = useLive();
  const lagOf = ({ height }: Peer): string => {
    const lag = (status?.height ?? 0) - (height ?? 0);
    // A peer announces its height a moment after it has a new block. Therefore a peer that is one or two blocks behind
    // counts as up to date.
    if (height === undefined || Math.abs(lag) < BEHIND_BLOCKS_MIN) return '';
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

const VERDICT_TEXTS: Readonly<Record<PeerVerdict['verdict'], string>> = {
  connected: 'connected',
  dialling: 'being dialled',
  banned: 'banned',
  dropped: 'dropped',
  waiting: 'waits',
  known: 'known',
};
const VERDICT_CLASSES: Partial<Readonly<Record<PeerVerdict['verdict'], string>>> = { connected: 'good', banned: 'bad' };
const DIRECTIONS = { inbound: 'in', outbound: 'out' } as const;
const VERDICTS_MAX = 200;

/**
 * Shows the verdict of the node on each peer address. The node sends the verdicts only to browsers on its own machine.
 */
function Verdicts({ version }: { version: number }) {
  const asked = useAnswer<PeerVerdict[]>(`node/peers?limit=${VERDICTS_MAX}`, version);
  return (
    <>
      <h1>Peers</h1>
      <Answered asked={asked}>
        {(verdicts, { count }) => (
          <>
            <p class="quiet">{summaryOf(verdicts, count ?? verdicts.length)}</p>
            <Table
              caption="Peers with the verdict of this node"
              rows={verdicts}
              keyOf={({ ip, wsPort }) => `${ip}:${wsPort}`}
              empty="No peers: this node knows of none."
              columns={[
                {
                  name: 'Peer',
                  onPhone: 'start',
                  cell: ({ ip, wsPort }) => <code>{wsPort === undefined ? ip : `${ip}:${wsPort}`}</code>,
                },
                {
                  name: 'State',
                  onPhone: 'end',
                  cell: ({ verdict }) => (
                    <span class={`badge ${VERDICT_CLASSES[verdict] ?? ''}`}>{VERDICT_TEXTS[verdict]}</span>
                  ),
                },
                { name: 'Direction', cell: ({ direction }) => (direction === undefined ? '–' : DIRECTIONS[direction]) },
                { name: 'Version', cell: ({ version: text }) => text ?? '–' },
                {
                  name: 'Height',
                  isFigure: true,
                  onPhone: 'below-end',
                  cell: ({ height }) =>
                    height === undefined ? (
                      <span class="wide">–</span>
                    ) : (
                      <>
                        <span class="unit">height </span>
                        {countText(height)}
                      </>
                    ),
                },
                {
                  name: 'Latency',
                  isFigure: true,
                  cell: ({ latencyMs }) => (latencyMs === undefined ? '–' : `${Math.round(latencyMs)} ms`),
                },
                { name: 'Reputation', isFigure: true, cell: ({ reputation }) => countText(Math.round(reputation)) },
                { name: 'Remarks', isText: true, onPhone: 'below', cell: (verdict) => whyOf(verdict) },
              ]}
            />
          </>
        )}
      </Answered>
    </>
  );
}

function summaryOf(verdicts: readonly PeerVerdict[], count: number): string {
  const of = (wanted: PeerVerdict['verdict']): number => verdicts.filter(({ verdict }) => verdict === wanted).length;
  const banned = of('banned');
  return `${of('connected')} connected, ${count - of('connected')} known besides${banned === 0 ? '' : `, ${banned} of them banned`}`;
}

function whyOf({ reason, until, roles }: PeerVerdict): string {
  const end = until === undefined ? '' : `until ${dateText(Date.parse(until))} UTC`;
  return [reason ?? '', end, roles.join(', ')].filter((part) => part !== '').join('; ');
}

export function Peers() {
  const { peers } = useLive();
  const connected = peers.filter(isConnected);
  const { diagnostics, heardAtMs } = useLive();
  // A browser that gets the diagnostics from the node also gets the verdicts.
  if (diagnostics !== undefined) return <Verdicts version={heardAtMs ?? 0} />;
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

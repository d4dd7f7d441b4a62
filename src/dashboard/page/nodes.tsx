/** The view of nodes: this node and its peers on this machine side by side, and the reading processes of this node. */

import { hasFinality, type Reader } from '../answers.ts';
import { countText, sinceText } from '../format.ts';
import { nodeStateOf, type NodeState } from '../smoothing.ts';
import { useLive, useNow } from './hooks.ts';
import type { NodeRow } from './live.ts';
import { BlockLink, Table, type Column } from './components.tsx';

const FINALIZED: Column<NodeRow> = {
  name: 'Finalized',
  isFigure: true,
  cell: ({ status }) => (status === undefined ? '–' : countText(status.chainMaxHeightFinalized)),
};

const STATE_BADGES: Readonly<Record<NodeState, string>> = {
  'no answer': 'bad',
  'catching up': '',
  behind: 'bad',
  'low consensus': 'bad',
  'in step': 'good',
};

export function NodesTable() {
  const { nodes, constants, status, connection } = useLive();
  // The row of this node uses the live state, which each new block updates at once. The dashboard polls the other nodes
  // every 3 s.
  const own = connection === 'lost' ? undefined : status;
  const highest = Math.max(...nodes.map(({ status }) => status?.height ?? 0));
  return (
    <Table
      caption="Nodes on this machine"
      rows={nodes.map((node) => (node.origin === location.origin ? { ...node, status: own } : node))}
      keyOf={({ origin }) => origin}
      empty="Asking the nodes…"
      columns={[
        {
          name: 'Node',
          cell: ({ origin, port }) =>
            origin === location.origin ? (
              <>
                <strong>{port}</strong> <span class="quiet wide">this one</span>
              </>
            ) : (
              <a href={`${origin}/`}>{port}</a>
            ),
        },
        {
          name: 'State',
          cell: ({ status, consensus }) => {
            const state = nodeStateOf(status, consensus, highest);
            return <span class={`badge ${STATE_BADGES[state]}`}>{state}</span>;
          },
        },
        {
          name: 'Height',
          isFigure: true,
          cell: ({ status }) => (status === undefined ? '–' : <BlockLink height={status.height} />),
        },
        ...(constants !== undefined && hasFinality(constants) ? [FINALIZED] : []),
        {
          name: 'Consensus',
          isFigure: true,
          isWide: true,
          cell: ({ status, consensus }) => (status === undefined || consensus === undefined ? '–' : `${consensus} %`),
        },
        {
          name: 'Pool',
          isFigure: true,
          isWide: true,
          cell: ({ status }) =>
            status
              ? countText(status.transactions.ready + status.transactions.verified + status.transactions.pending)
              : '–',
        },
      ]}
    />
  );
}

const READER_BADGES = { up: 'good', starting: '', silent: 'bad' } as const;
const MEGABYTE = 1_000_000;

/** Shows the reading processes of this node; shows nothing if the node has no reading processes. */
function Readers() {
  const { status } = useLive();
  const now = useNow();
  if (status?.readers === undefined) return null;
  const { wanted, restarts, each } = status.readers;
  return (
    <section aria-labelledby="readers-title">
      <h2 id="readers-title">Processes that answer HTTP</h2>
      <p class="quiet">
        {wanted} wanted, {restarts} replaced since the node started.
      </p>
      <Table
        caption="Processes that answer HTTP"
        rows={each}
        keyOf={({ reader }: Reader) => String(reader)}
        empty="None runs: the next one is begun."
        columns={[
          { name: 'Process', cell: ({ reader }) => String(reader) },
          { name: 'State', cell: ({ state }) => <span class={`badge ${READER_BADGES[state]}`}>{state}</span> },
          { name: 'Up since', cell: ({ since }) => sinceText(Date.parse(since), now) },
          {
            name: 'Memory',
            isFigure: true,
            cell: ({ memoryBytes }) => `${countText(Math.round(memoryBytes / MEGABYTE))} MB`,
          },
          { name: 'Requests', isFigure: true, cell: ({ requests }) => countText(requests) },
        ]}
      />
    </section>
  );
}

export function Nodes() {
  const { nodes } = useLive();
  return (
    <>
      <h1>Nodes on this machine</h1>
      <p class="quiet">
        {nodes.length > 1
          ? 'This node and its peers here, each asked every few seconds.'
          : 'This node has no peers on the same machine, or the page was opened from another one.'}
      </p>
      <NodesTable />
      <Readers />
    </>
  );
}

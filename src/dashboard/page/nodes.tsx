/** The nodes of this machine side by side, as a devnet runs them. */

import { countText } from '../format.ts';
import { useLive } from './hooks.ts';
import type { NodeRow } from './live.ts';
import { BlockLink, Table } from './parts.tsx';

export function NodesTable() {
  const { nodes } = useLive();
  const highest = Math.max(...nodes.map(({ status }) => status?.height ?? 0));
  const behind = ({ status }: NodeRow): boolean => status !== undefined && highest - status.height > 2;
  return (
    <Table
      caption="Nodes on this machine"
      rows={nodes}
      keyOf={({ origin }) => origin}
      empty="Asking the nodes…"
      columns={[
        {
          name: 'Node',
          cell: ({ origin, port }) =>
            origin === location.origin ? <strong>{port} (this one)</strong> : <a href={`${origin}/`}>{port}</a>,
        },
        {
          name: 'State',
          cell: (row) => {
            if (row.status === undefined) return <span class="badge bad">silent</span>;
            if (row.status.syncing) return <span class="badge">catching up</span>;
            return behind(row) ? <span class="badge bad">behind</span> : <span class="badge good">in step</span>;
          },
        },
        {
          name: 'Height',
          isFigure: true,
          cell: ({ status }) => (status === undefined ? '–' : <BlockLink height={status.height} />),
        },
        {
          name: 'Finalized',
          isFigure: true,
          cell: ({ status }) => (status === undefined ? '–' : countText(status.chainMaxHeightFinalized)),
        },
        {
          name: 'Consensus',
          isFigure: true,
          isWide: true,
          cell: ({ status }) => (status ? `${status.consensus} %` : '–'),
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
    </>
  );
}

/** The overview of the network: figures, the round, nodes on this machine, blocks, peers and reorgs. */

import type { ComponentChildren } from 'preact';
import { hasFinality, isConnected, type Reorg } from '../answers.ts';
import { countOf, countText, sinceText } from '../format.ts';
import { roundOf } from '../round.ts';
import { BEHIND_BLOCKS_MIN, CONSENSUS_PERCENT_MIN } from '../smoothing.ts';
import { BlockTable } from './blocks.tsx';
import { BlockChart } from './chart.tsx';
import { useLive, useNow } from './hooks.ts';
import type { LiveState } from './live.ts';
import { NodesTable } from './nodes.tsx';
import { BlockLink, Go } from './components.tsx';
import { PeerTable } from './peers.tsx';
import { RoundPanel } from './slots.tsx';

const BLOCKS_SHOWN = 10;
const REORGS_SHOWN = 5;

export function Glance() {
  const live = useLive();
  const { status, blocks, nodes, peers } = live;
  if (status === undefined) return <p class="quiet">Asking the node…</p>;
  return (
    <>
      <h1 class="unseen">The network at a glance</h1>
      <Figures live={live} />
      <RoundPanel />
      {nodes.length > 1 && (
        <section aria-labelledby="nodes-title">
          <h2 id="nodes-title">
            <Go view="nodes">Nodes on this machine</Go>
          </h2>
          <NodesTable />
        </section>
      )}
      <div class="columns">
        <section aria-labelledby="blocks-title">
          <h2 id="blocks-title">
            <Go view="blocks">Latest blocks</Go>
          </h2>
          <BlockTable blocks={blocks.slice(0, BLOCKS_SHOWN)} isShort />
        </section>
        <div>
          <section aria-labelledby="chart-title">
            <h2 id="chart-title">Transactions per block</h2>
            <BlockChart blocks={blocks} />
          </section>
          <section aria-labelledby="peers-title">
            <h2 id="peers-title">
              <Go view="peers">Peers</Go>
            </h2>
            <PeerTable peers={peers.filter(isConnected).slice(0, BLOCKS_SHOWN)} />
          </section>
          <Reorgs reorgs={status.reorgs?.latest ?? []} />
        </div>
      </div>
    </>
  );
}

function Figures({ live }: { live: LiveState }) {
  const { status, blocks, peers, forging, blockTimeS, constants, consensus = 0, lag } = live;
  const now = useNow();
  if (status === undefined) return null;
  const { height, chainMaxHeightFinalized: finalized, networkHeight, transactions, reorgs } = status;
  const pool = transactions.ready + transactions.verified + transactions.pending;
  const target = Math.max(height, status.syncProgress?.targetHeight ?? networkHeight);
  const tip = blocks[0];
  const tipMs =
    constants === undefined || tip === undefined ? undefined : Date.parse(constants.epoch) + tip.timestamp * 1000;
  const isStale = tipMs !== undefined && !status.syncing && now - tipMs > STALE_SLOTS * blockTimeS * 1000;
  const connected = peers.filter(isConnected).length;
  // `consensus` is the highest percentage of the last 30 s. When the node has lost all its peers, the number of peers
  // is marked as bad at once, although `consensus` still contains samples from before the loss. While a node catches
  // up, a low consensus does not count, because the tip of the node is behind the tips of its peers.
  const isSplit =
    status.isAlone !== true && (connected === 0 || (!status.syncing && consensus < CONSENSUS_PERCENT_MIN));
  const forgingHere = forging?.filter((delegate) => delegate.forging).length;
  const waiting = forging?.filter((delegate) => delegate.waiting !== undefined).length ?? 0;
  return (
    <ul class="figures" aria-label="Key figures">
      <Figure name="Height" value={countText(height)} isBad={isStale}>
        {tipMs === undefined ? '' : sinceText(tipMs, now)}
        {status.syncing
          ? `, catching up with ${countText(target)}`
          : lag >= BEHIND_BLOCKS_MIN
            ? `, ${countText(lag)} behind`
            : ''}
      </Figure>
      {constants !== undefined && hasFinality(constants) && (
        <Figure name="Finalized" value={countText(finalized)}>
          {countText(height - finalized)} below the tip
        </Figure>
      )}
      <Figure name="Round" value={countText(roundOf(height + 1, constants?.activeDelegates))}>
        slots of {blockTimeS} s
      </Figure>
      <Figure name="Peers" value={countText(connected)} isBad={isSplit}>
        {status.isAlone === true ? 'none wanted' : connected === 0 ? 'none connected' : `${consensus} % at our tip`}
      </Figure>
      <Figure name="Pool" value={countText(pool)}>
        <Go view="pool">{countText(transactions.confirmed)} in the chain</Go>
      </Figure>
      <Figure name="Reorgs" value={countText(reorgs?.count ?? 0)}>
        since node start
      </Figure>
      {forgingHere !== undefined && (
        <Figure name="Forging here" value={countText(forgingHere)} isBad={waiting > 0}>
          <Go view="forging">
            {waiting > 0 ? `${waiting} waiting` : `of ${countOf(forging?.length ?? 0, 'delegate')}`}
          </Go>
        </Figure>
      )}
    </ul>
  );
}

/**
 * Limit for the age of the tip, in slots. If the tip is older than this limit, the dashboard marks the height as bad,
 * because either no delegate forges or the node receives no blocks.
 */
const STALE_SLOTS = 5;

function Figure({
  name,
  value,
  isBad = false,
  children,
}: {
  name: string;
  value: string;
  isBad?: boolean;
  children: ComponentChildren;
}) {
  return (
    <li class={isBad ? 'bad' : ''}>
      <span class="name">{name}</span>
      <strong>{value}</strong>
      <span class="quiet">{children}</span>
    </li>
  );
}

function Reorgs({ reorgs }: { reorgs: readonly Reorg[] }) {
  const now = useNow();
  if (reorgs.length === 0) return null;
  return (
    <section aria-labelledby="reorgs-title">
      <h2 id="reorgs-title">Reorgs</h2>
      <ul class="plain">
        {reorgs.slice(0, REORGS_SHOWN).map(({ time, commonHeight, revertedBlocks }) => (
          <li key={`${time}-${commonHeight}`}>
            {sinceText(Date.parse(time), now)}: {countOf(revertedBlocks, 'block')} above{' '}
            <BlockLink height={commonHeight} /> replaced
          </li>
        ))}
      </ul>
    </section>
  );
}

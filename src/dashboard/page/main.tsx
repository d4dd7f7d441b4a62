/** The dashboard: heading, views, and the one object that follows the node. */

import { render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { hashOf, type Place, type View } from '../place.ts';
import { shortText } from '../format.ts';
import { Accounts, AccountView, Delegates, DelegateView } from './accounts.tsx';
import { Blocks, BlockView } from './blocks.tsx';
import { Glance } from './glance.tsx';
import { LiveContext, useLive, usePlace } from './hooks.ts';
import { Live } from './live.ts';
import { Nodes } from './nodes.tsx';
import { Decisions, Forging } from './operator.tsx';
import { Peers } from './peers.tsx';
import { Search } from './search.tsx';
import { Transactions, TransactionView } from './transactions.tsx';

const TITLES: Readonly<Record<View, string>> = {
  glance: 'Network',
  blocks: 'Blocks',
  transactions: 'Transactions',
  accounts: 'Accounts',
  delegates: 'Delegates',
  peers: 'Peers',
  nodes: 'Nodes',
  forging: 'Forging',
  decisions: 'Decisions',
};

function Dashboard() {
  const place = usePlace();
  const { status, nodes, forging, decisions } = useLive();
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const height = status?.height;
  const title = place.item === undefined ? TITLES[place.view] : `${TITLES[place.view]} ${shortText(place.item)}`;
  useEffect(() => {
    document.title = `${title}${height === undefined ? '' : ` · ${height}`} · Bloomery`;
  }, [title, height]);
  useEffect(() => {
    // Whoever listens to the page instead of looking at it must hear that it changed.
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
    scrollTo(0, 0);
  }, [place.view, place.item, place.page]);
  const hidden = new Set<View>([
    ...(nodes.length > 1 ? [] : ['nodes' as const]),
    ...(forging === undefined ? ['forging' as const] : []),
    ...(decisions === undefined ? ['decisions' as const] : []),
  ]);
  const views = (Object.keys(TITLES) as View[]).filter((view) => !hidden.has(view) || view === place.view);
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => skipTo(event, main.current)}>
        Skip to the content
      </a>
      <header>
        <a class="brand" href="#/">
          Bloomery
        </a>
        <Search />
        <Connection />
        <nav aria-label="Views">
          {views.map((view) => (
            <a key={view} href={hashOf(view)} {...(view === place.view ? { 'aria-current': 'page' } : {})}>
              {TITLES[view]}
            </a>
          ))}
        </nav>
      </header>
      <main id="content" ref={main} tabIndex={-1}>
        <Shown place={place} />
      </main>
      <Footer />
    </>
  );
}

/** The hash names views, so a jump within the page is made by hand. */
function skipTo(event: Event, target: HTMLElement | null): void {
  event.preventDefault();
  target?.focus();
}

function Shown({ place }: { place: Place }) {
  const { view, item } = place;
  switch (view) {
    case 'glance':
      return <Glance />;
    case 'blocks':
      return item === undefined ? <Blocks {...place} /> : <BlockView item={item} />;
    case 'transactions':
      return item === undefined ? <Transactions {...place} /> : <TransactionView item={item} />;
    case 'accounts':
      return item === undefined ? <Accounts {...place} /> : <AccountView item={item} />;
    case 'delegates':
      return item === undefined ? <Delegates {...place} /> : <DelegateView item={item} />;
    case 'peers':
      return <Peers />;
    case 'nodes':
      return <Nodes />;
    case 'forging':
      return <Forging />;
    case 'decisions':
      return <Decisions />;
  }
}

const CONNECTION_TEXTS = { connecting: 'connecting', live: 'live', lost: 'no answer' } as const;

function Connection() {
  const { connection } = useLive();
  return (
    <span class={`connection ${connection}`} role="status">
      {CONNECTION_TEXTS[connection]}
    </span>
  );
}

function Footer() {
  const { constants } = useLive();
  if (constants === undefined) return null;
  return (
    <footer>
      <span>
        version {constants.version}, protocol {constants.protocolVersion}
      </span>
      <span>
        network <code title={constants.nethash}>{shortText(constants.nethash, 8)}</code>
      </span>
      <a href="/api/docs">HTTP interface</a>
    </footer>
  );
}

const live = new Live();
live.start();
const root = document.getElementById('dashboard');
if (root !== null) {
  root.replaceChildren();
  render(
    <LiveContext.Provider value={live}>
      <Dashboard />
    </LiveContext.Provider>,
    root,
  );
}

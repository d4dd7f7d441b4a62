/** The dashboard: its heading, its views, and the object (`Live`) that follows the state of the node. */

import { render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { hashOf, type HashRoute, type View } from '../hash-route.ts';
import { shortText, softwareVersionOf, timeText } from '../format.ts';
import { Accounts, AccountView } from './accounts.tsx';
import { Blocks, BlockView } from './blocks.tsx';
import { Charts } from './charts.tsx';
import { Delegates, DelegateView } from './delegates.tsx';
import { DevnetControls, isControlled } from './devnet.tsx';
import { Forging } from './forging.tsx';
import { Glance } from './overview.tsx';
import { LiveContext, useLive, useRoute } from './hooks.ts';
import { Live } from './live.ts';
import { Nodes } from './nodes.tsx';
import { Diagnostics } from './diagnostics.tsx';
import { Peers } from './peers.tsx';
import { Pool } from './pool.tsx';
import { useScrollMemory } from './scroll.ts';
import { Search } from './search.tsx';
import { Transactions, TransactionView } from './transactions.tsx';

const TITLES: Readonly<Record<View, string>> = {
  glance: 'Network',
  blocks: 'Blocks',
  transactions: 'Transactions',
  pool: 'Pool',
  accounts: 'Accounts',
  delegates: 'Delegates',
  peers: 'Peers',
  nodes: 'Nodes',
  charts: 'Charts',
  forging: 'Forging',
  diagnostics: 'Diagnostics',
  devnet: 'Devnet',
};

/** Title of a single item, for example of one block, by the view of the item. */
const ONE_OF: Readonly<Record<View, string>> = {
  ...TITLES,
  blocks: 'Block',
  transactions: 'Transaction',
  accounts: 'Account',
  delegates: 'Delegate',
};

function Dashboard() {
  const route = useRoute();
  const { status, nodes, forging, diagnostics } = useLive();
  const main = useRef<HTMLElement>(null);
  const nav = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useScrollMemory();
  const height = status?.height;
  const title = route.item === undefined ? TITLES[route.view] : `${ONE_OF[route.view]} ${shortText(route.item)}`;
  useEffect(() => {
    document.title = `${title}${height === undefined ? '' : ` · ${height}`} · Bloomery`;
  }, [title, height]);
  useEffect(() => {
    // The focus moves to the new title, so that a screen reader announces the change of the view.
    if (!isFirst.current) focusOn(main.current?.querySelector('h1') ?? main.current);
    isFirst.current = false;
  }, [route.view, route.item, route.after]);
  const hidden = new Set<View>([
    ...(nodes.length > 1 ? [] : ['nodes' as const]),
    ...(forging === undefined ? ['forging' as const] : []),
    ...(diagnostics === undefined ? ['diagnostics' as const] : []),
    ...(isControlled() ? [] : ['devnet' as const]),
  ]);
  const views = (Object.keys(TITLES) as View[]).filter((view) => !hidden.has(view) || view === route.view);
  useEffect(() => {
    // The effect also runs when the number of links changes, because new links can push the link of the present view
    // out of a narrow screen.
    centreIn(nav.current, nav.current?.querySelector('[aria-current]'));
  }, [route.view, views.length]);
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => skipTo(event, main.current)}>
        Skip to the content
      </a>
      <header>
        <a class="brand" href="#/">
          Bloomery
        </a>
        <NetworkName />
        <Search />
        <Connection />
        <nav ref={nav} aria-label="Views">
          {views.map((view) => (
            <a key={view} href={hashOf(view)} {...(view === route.view ? { 'aria-current': 'page' } : {})}>
              {TITLES[view]}
            </a>
          ))}
        </nav>
      </header>
      <main id="content" ref={main} tabIndex={-1}>
        <Lost />
        <Shown route={route} />
      </main>
      <Footer />
    </>
  );
}

/** Moves the focus to an element without scrolling. The element does not need to be a control. */
function focusOn(element: HTMLElement | null): void {
  if (element === null) return;
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

/**
 * Scrolls a row sideways until an element is in the middle of the row. `scrollIntoView` would also scroll the page to
 * the row.
 */
function centreIn(row: HTMLElement | null, element: Element | null | undefined): void {
  if (row === null || element === null || element === undefined) return;
  const [outer, inner] = [row.getBoundingClientRect(), element.getBoundingClientRect()];
  row.scrollLeft += inner.left + inner.width / 2 - (outer.left + outer.width / 2);
}

/**
 * Moves the focus to the content, in place of the browser's jump to the link's target. The jump would replace the
 * fragment of the URL, but this fragment names the view.
 */
function skipTo(event: Event, target: HTMLElement | null): void {
  event.preventDefault();
  target?.focus();
}

function Shown({ route }: { route: HashRoute }) {
  const { view, item } = route;
  switch (view) {
    case 'glance':
      return <Glance />;
    case 'blocks':
      return item === undefined ? <Blocks {...route} /> : <BlockView item={item} />;
    case 'transactions':
      return item === undefined ? <Transactions {...route} /> : <TransactionView item={item} />;
    case 'pool':
      return <Pool />;
    case 'accounts':
      return item === undefined ? <Accounts {...route} /> : <AccountView {...route} item={item} />;
    case 'delegates':
      return item === undefined ? <Delegates {...route} /> : <DelegateView item={item} />;
    case 'peers':
      return <Peers />;
    case 'nodes':
      return <Nodes />;
    case 'charts':
      return <Charts {...route} />;
    case 'forging':
      return <Forging />;
    case 'diagnostics':
      return <Diagnostics />;
    case 'devnet':
      return <DevnetControls />;
  }
}

/**
 * Shows a warning while the node does not answer, because the dashboard then shows old figures. The warning contains
 * the time of these figures.
 */
function Lost() {
  const { connection, heardAtMs } = useLive();
  if (connection !== 'lost') return null;
  const since = heardAtMs === undefined ? '' : ` The page shows the state of ${timeText(heardAtMs)} UTC.`;
  return (
    <p class="alert" role="alert">
      The node does not answer; it is asked again every few seconds.{since}
    </p>
  );
}

function NetworkName() {
  const { constants } = useLive();
  if (constants === undefined) return null;
  const { networkName, nethash } = constants;
  return (
    <span class="network" title={`nethash ${nethash}`}>
      {networkName ?? shortText(nethash, 4)}
    </span>
  );
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
  const softwareVersion = softwareVersionOf(constants.build);
  return (
    <footer>
      <span>
        {softwareVersion === undefined ? '' : `Bloomery ${softwareVersion}, `}protocol of {constants.version}, peers{' '}
        {constants.protocolVersion}
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

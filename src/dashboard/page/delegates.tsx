/** The views of delegates: a list, and one delegate with its voters and blocks. */

import type { Block, Delegate, Earnings, Voters } from '../answers.ts';
import { amountText, countOf, countText, percentText, productivityOf, resultText } from '../format.ts';
import type { HashRoute } from '../hash-route.ts';
import { DELEGATE_ORDERS, delegatesRequest, orderOf } from '../list-requests.ts';
import { BlockTable } from './blocks.tsx';
import { Copied, Raw } from './copyable.tsx';
import { FilterForm, sortingOf } from './filters.tsx';
import { NextSlot } from './forging.tsx';
import { useAnswer, useLive } from './hooks.ts';
import { Amount, Answered, DelegateName, Facts, Id, More, Table } from './components.tsx';
import { pageOf, Pages } from './paging.tsx';
import { LastRounds } from './rounds.tsx';

/** Number of active delegates if the node sends no number. The node sends the number only if the number is not 101. */
const ACTIVE_DELEGATES = 101;
/** Number of rows on a page. Most networks have this number of active delegates. */
const PAGE_DELEGATES = 101;
const VOTERS_SHOWN = 25;

export function Delegates(route: HashRoute) {
  const { page, filters } = route;
  const { status, constants } = useLive();
  const active = constants?.activeDelegates ?? ACTIVE_DELEGATES;
  const asked = useAnswer<Delegate[]>(delegatesRequest(filters, pageOf(route, PAGE_DELEGATES)), status?.height);
  const isByRank = orderOf(filters, DELEGATE_ORDERS) === DELEGATE_ORDERS[0]?.[0];
  const isWhole = page === 1 && Object.keys(filters).length === 0;
  return (
    <>
      <h1>Delegates</h1>
      <p class="quiet">The first {active} by votes forge; the others stand by.</p>
      {isWhole && <LastRounds activeDelegates={active} />}
      <FilterForm
        route={route}
        fields={[{ name: 'name', title: 'Name', example: 'part of it' }]}
        orders={DELEGATE_ORDERS}
      />
      <Answered asked={asked}>
        {(delegates, meta) => (
          <>
            <Table
              caption="Delegates by rank"
              rows={delegates}
              isBelowLine={({ rank }) => isByRank && rank !== null && rank === active + 1}
              sorting={sortingOf(route, DELEGATE_ORDERS)}
              keyOf={({ username }) => username}
              empty={isWhole ? 'No delegates.' : 'No such delegates.'}
              columns={[
                {
                  name: 'Rank',
                  field: 'rank',
                  isFigure: true,
                  cell: ({ rank }) => (rank === null ? '–' : countText(rank)),
                },
                {
                  name: 'State',
                  isWide: true,
                  cell: ({ rank }) => (
                    <span class={isActive(rank, active) ? 'badge good' : 'badge'}>
                      {isActive(rank, active) ? 'active' : 'standby'}
                    </span>
                  ),
                },
                {
                  name: 'Name',
                  field: 'username',
                  isName: true,
                  cell: ({ username }) => <DelegateName name={username} />,
                },
                {
                  name: 'Delegate',
                  isNarrow: true,
                  onPhone: 'start',
                  cell: ({ rank, username }) => (
                    <>
                      <span class="quiet">{rank === null ? '–' : countText(rank)}</span>{' '}
                      <DelegateName name={username} />
                    </>
                  ),
                },
                {
                  name: 'Slot',
                  isNarrow: true,
                  onPhone: 'end',
                  cell: ({ account }) => <NextSlot publicKey={account.publicKey} />,
                },
                {
                  name: 'Result',
                  isNarrow: true,
                  onPhone: 'below',
                  cell: (delegate) => resultText(delegate),
                },
                {
                  name: 'Votes',
                  isNarrow: true,
                  onPhone: 'below-end',
                  cell: ({ approval }) => `votes ${approval} %`,
                },
                {
                  name: 'Next slot',
                  isWide: true,
                  cell: ({ account }) => <NextSlot publicKey={account.publicKey} />,
                },
                {
                  name: 'Forged',
                  field: 'producedBlocks',
                  isFigure: true,
                  cell: ({ producedBlocks }) => countText(producedBlocks),
                },
                {
                  name: 'Missed',
                  field: 'missedBlocks',
                  isFigure: true,
                  cell: ({ missedBlocks }) => countText(missedBlocks),
                },
                {
                  name: 'Productivity',
                  field: 'productivity',
                  isFigure: true,
                  isWide: true,
                  cell: (delegate) => productivityOf(delegate, 2) ?? '–',
                },
                {
                  name: 'Rewards, LSK',
                  isFigure: true,
                  isWide: true,
                  cell: ({ rewards }) => <Amount beddows={rewards} among={delegates.map((each) => each.rewards)} />,
                },
                { name: 'Approval', isFigure: true, isWide: true, cell: ({ approval }) => percentText(approval, 2) },
                {
                  name: 'Vote weight, LSK',
                  isFigure: true,
                  isWide: true,
                  cell: ({ voteWeight }) => (
                    <Amount beddows={voteWeight} among={delegates.map((each) => each.voteWeight)} />
                  ),
                },
              ]}
            />
            <Pages route={route} meta={meta} />
          </>
        )}
      </Answered>
    </>
  );
}

export function DelegateView({ item }: { item: string }) {
  const { status } = useLive();
  const asked = useAnswer<Delegate[]>(`delegates?username=${encodeURIComponent(item)}`, status?.height);
  return (
    <>
      <h1>Delegate {item}</h1>
      <Answered asked={asked}>
        {([delegate]) =>
          delegate === undefined ? (
            <p class="none">There is no delegate {item}.</p>
          ) : (
            <DelegateFacts delegate={delegate} />
          )
        }
      </Answered>
    </>
  );
}

function isActive(rank: number | null, active: number): boolean {
  return rank !== null && rank <= active;
}

function DelegateFacts({ delegate }: { delegate: Delegate }) {
  const { account, username, rank, voteWeight, approval, producedBlocks, missedBlocks } = delegate;
  const { status } = useLive();
  const voters = useAnswer<Voters>(
    `voters?username=${encodeURIComponent(username)}&limit=${VOTERS_SHOWN}&sort=balance:desc`,
    status?.height,
  );
  return (
    <>
      <Facts
        facts={[
          ['Rank', rank ?? 'none yet'],
          ['Vote weight', `${amountText(voteWeight)} (${approval} % of the supply)`],
          ['Forged', countOf(producedBlocks, 'block')],
          ['Missed', countOf(missedBlocks, 'block')],
          ['Productivity', productivityOf(delegate) ?? '–'],
          ['Earned', <Earned key="earned" address={account.address} />],
          ['Next slot', <NextSlot key="slot" publicKey={account.publicKey} />],
          ['Account', <Id key="account" view="accounts" item={account.address} isWhole />],
          ['Public key', <Copied key="key" text={account.publicKey} />],
          [
            'Voters',
            <Answered key="voters" asked={voters}>
              {({ votes, voters: list }) =>
                list.length === 0 ? (
                  'none'
                ) : (
                  <More
                    isLong
                    summary={`${countOf(votes, 'account')}${votes > list.length ? `, the ${list.length} richest` : ''}`}
                  >
                    {list.map(({ address, balance }) => (
                      <span key={address}>
                        <Id view="accounts" item={address} isWhole /> {amountText(balance)}
                      </span>
                    ))}
                  </More>
                )
              }
            </Answered>,
          ],
        ]}
      />
      <ForgedBlocks publicKey={account.publicKey} />
      <Raw value={delegate} />
    </>
  );
}

/** Shows the sum of all rewards and fees that a delegate has earned. */
function Earned({ address }: { address: string }) {
  const { status } = useLive();
  const asked = useAnswer<Earnings>(`delegates/${address}/forging_statistics`, status?.height);
  if (asked.kind !== 'answered') return <>–</>;
  const { forged, rewards, fees } = asked.answer.data;
  return (
    <>
      {amountText(forged)}
      {forged === '0' ? '' : `: rewards ${amountText(rewards)}, fees ${amountText(fees)}`}
    </>
  );
}

/** Shows the latest blocks of a delegate. */
export function ForgedBlocks({ publicKey }: { publicKey: string }) {
  const { status } = useLive();
  const asked = useAnswer<Block[]>(`blocks?generatorPublicKey=${publicKey}&limit=10`, status?.height);
  return (
    <>
      <h2>Blocks it forged</h2>
      <Answered asked={asked}>{(blocks) => <BlockTable blocks={blocks} />}</Answered>
    </>
  );
}

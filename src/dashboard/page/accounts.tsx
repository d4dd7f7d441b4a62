/** Accounts and delegates: lists, and one with its transactions, votes and blocks. */

import type { Account, Block, Delegate, Transaction, Voters, Votes } from '../answers.ts';
import { amountText, countOf, countText, shareText } from '../format.ts';
import type { Place } from '../place.ts';
import { BlockTable } from './blocks.tsx';
import { Copied, Raw } from './deed.tsx';
import { GroupsOf } from './group.tsx';
import { useAnswer, useLive } from './hooks.ts';
import { NextSlot } from './operator.tsx';
import { Answered, Facts, Go, Id, More, Pages, Table } from './parts.tsx';
import { LastRounds } from './rounds.tsx';
import { TransactionTable } from './transactions.tsx';

const PAGE_ROWS = 25;
/** Where the node tells no other number. */
const ACTIVE_DELEGATES = 101;
/** As many as mostly forge. */
const PAGE_DELEGATES = 101;
const VOTES_MAX = 101;
const VOTERS_SHOWN = 25;

export function Accounts({ page }: Place) {
  const { status, constants } = useLive();
  const asked = useAnswer<Account[]>(
    `accounts?limit=${PAGE_ROWS + 1}&offset=${(page - 1) * PAGE_ROWS}&sort=balance:desc`,
    status?.height,
  );
  return (
    <>
      <h1>Accounts</h1>
      <Answered asked={asked}>
        {(accounts) => (
          <>
            <Table
              caption="Accounts by balance"
              rows={accounts.slice(0, PAGE_ROWS).map((account, index) => ({ ...account, place: index + 1 }))}
              keyOf={({ address }) => address}
              empty="No accounts."
              columns={[
                {
                  name: 'Rank',
                  isFigure: true,
                  cell: ({ place }) => countText((page - 1) * PAGE_ROWS + place),
                },
                {
                  name: 'Address',
                  onPhone: 'start-all',
                  cell: ({ address }) => <Id view="accounts" item={address} isWhole />,
                },
                {
                  name: 'Delegate',
                  onPhone: 'below',
                  cell: ({ delegate }) =>
                    delegate === undefined ? <span class="wide">–</span> : <DelegateName name={delegate.username} />,
                },
                { name: 'Balance', isFigure: true, onPhone: 'below-end', cell: ({ balance }) => amountText(balance) },
                {
                  name: 'Share of supply',
                  isFigure: true,
                  cell: ({ balance }) => shareText(balance, constants?.supply),
                },
              ]}
            />
            <Pages view="accounts" page={page} isLast={accounts.length <= PAGE_ROWS} />
          </>
        )}
      </Answered>
    </>
  );
}

export function AccountView({ item, page }: { item: string; page: number }) {
  const { status } = useLive();
  const member = /^[0-9a-f]{64}$/.test(item) ? 'publicKey' : 'address';
  const asked = useAnswer<Account[]>(`accounts?${member}=${encodeURIComponent(item)}`, status?.height);
  return (
    <>
      <h1>Account {member === 'address' ? item : ''}</h1>
      <Answered asked={asked}>
        {([account]) =>
          account === undefined ? (
            <p class="none">No account {item} has been used yet.</p>
          ) : (
            <AccountFacts account={account} page={page} />
          )
        }
      </Answered>
    </>
  );
}

function AccountFacts({ account, page }: { account: Account; page: number }) {
  const { address, publicKey, balance, secondPublicKey, delegate } = account;
  const { status, constants } = useLive();
  const transactions = useAnswer<Transaction[]>(
    `transactions?senderIdOrRecipientId=${address}&limit=${PAGE_ROWS}&offset=${(page - 1) * PAGE_ROWS}&sort=timestamp:desc`,
    status?.height,
  );
  const votes = useAnswer<Votes>(`votes?address=${address}&limit=${VOTES_MAX}`, status?.height);
  return (
    <>
      <Facts
        facts={[
          ['Address', <Copied key="address" text={address} />],
          ['Balance', `${amountText(balance)}, ${shareText(balance, constants?.supply)} of the supply`],
          [
            'Public key',
            publicKey === '' ? 'not known: it has sent nothing yet' : <Copied key="key" text={publicKey} />,
          ],
          ...(secondPublicKey === '' ? [] : [['Second key', <Copied key="second" text={secondPublicKey} />] as const]),
          ...(delegate === undefined
            ? []
            : [
                [
                  'Delegate',
                  <>
                    <DelegateName name={delegate.username} />
                    {delegate.rank === null ? '' : `, rank ${countText(delegate.rank)}`}
                  </>,
                ] as const,
                ['Votes received', `${amountText(delegate.voteWeight)}, ${delegate.approval} % of the supply`] as const,
              ]),
          [
            'Votes for',
            <Answered key="votes" asked={votes}>
              {({ votes: names, votesUsed }) =>
                votesUsed === 0 ? (
                  'nobody'
                ) : (
                  <More summary={countOf(votesUsed, 'delegate')}>
                    {[...names].sort(byName).map(({ username }) => (
                      <DelegateName key={username} name={username} />
                    ))}
                  </More>
                )
              }
            </Answered>,
          ],
        ]}
      />
      <GroupsOf address={address} />
      <h2>Transactions</h2>
      <Answered asked={transactions}>
        {(list, count) => (
          <>
            <TransactionTable transactions={list} address={address} />
            <Pages view="accounts" item={address} page={page} isLast={page * PAGE_ROWS >= (count ?? 0)} />
          </>
        )}
      </Answered>
      {delegate === undefined ? null : <ForgedBlocks publicKey={publicKey} />}
      <Raw value={account} />
    </>
  );
}

/** As people count: the ninth before the tenth. */
function byName(a: { readonly username: string }, b: { readonly username: string }): number {
  return a.username.localeCompare(b.username, 'en', { numeric: true });
}

function DelegateName({ name }: { name: string }) {
  return (
    <Go view="delegates" item={name}>
      {name}
    </Go>
  );
}

export function Delegates({ page }: Place) {
  const { status, constants } = useLive();
  const active = constants?.activeDelegates ?? ACTIVE_DELEGATES;
  const question = `delegates?sort=rank:asc&limit=${PAGE_DELEGATES}&offset=`;
  const asked = useAnswer<Delegate[]>(`${question}${(page - 1) * PAGE_DELEGATES}`, status?.height);
  // The node gives no more at once.
  const beyond = useAnswer<Delegate[]>(`${question}${page * PAGE_DELEGATES}`, page);
  const isLast = beyond.kind !== 'answered' || beyond.answer.data.length === 0;
  return (
    <>
      <h1>Delegates</h1>
      <p class="quiet">The first {active} by votes forge; the others stand by.</p>
      {page === 1 && <LastRounds activeDelegates={active} />}
      <Answered asked={asked}>
        {(delegates) => (
          <>
            <Table
              caption="Delegates by rank"
              rows={delegates}
              isBelowLine={({ rank }) => rank !== null && rank === active + 1}
              keyOf={({ username }) => username}
              empty="No delegates."
              columns={[
                { name: 'Rank', isFigure: true, cell: ({ rank }) => (rank === null ? '–' : countText(rank)) },
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
                  isName: true,
                  cell: ({ username }) => <DelegateName name={username} />,
                },
                {
                  name: 'Address',
                  isWide: true,
                  cell: ({ account }) => <Id view="accounts" item={account.address} />,
                },
                { name: 'Forged', isFigure: true, cell: ({ producedBlocks }) => countText(producedBlocks) },
                { name: 'Missed', isFigure: true, cell: ({ missedBlocks }) => countText(missedBlocks) },
                { name: 'Productivity', isFigure: true, isWide: true, cell: (delegate) => productivityOf(delegate) },
                { name: 'Approval', isFigure: true, isWide: true, cell: ({ approval }) => `${approval} %` },
                { name: 'Vote weight', isFigure: true, isWide: true, cell: ({ voteWeight }) => amountText(voteWeight) },
              ]}
            />
            <Pages view="delegates" page={page} isLast={isLast} />
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

/** Of a delegate that has had no turn yet there is none. */
function productivityOf({ producedBlocks, missedBlocks, productivity }: Delegate): string {
  return producedBlocks + missedBlocks === 0 ? '–' : `${productivity} %`;
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
          ['Productivity', productivityOf(delegate)],
          ['Rewards', amountText(delegate.rewards)],
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
    </>
  );
}

function ForgedBlocks({ publicKey }: { publicKey: string }) {
  const { status } = useLive();
  const asked = useAnswer<Block[]>(`blocks?generatorPublicKey=${publicKey}&limit=10`, status?.height);
  return (
    <>
      <h2>Blocks it forged</h2>
      <Answered asked={asked}>{(blocks) => <BlockTable blocks={blocks} />}</Answered>
    </>
  );
}

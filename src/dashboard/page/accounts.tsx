/** The views of accounts: a list, and one account with its balance over time, transactions, votes and groups. */

import type { Account, Transaction, Votes } from '../answers.ts';
import { balanceSteps } from '../balances.ts';
import { amountText, BEDDOWS_PER_LSK, countOf, countText, dateText, shareText } from '../format.ts';
import type { HashRoute } from '../hash-route.ts';
import { ACCOUNT_ORDERS, accountsRequest, orderOf } from '../list-requests.ts';
import { Chart } from './chart.tsx';
import { Copied, Raw } from './copyable.tsx';
import { ForgedBlocks } from './delegates.tsx';
import { FilterForm, sortingOf } from './filters.tsx';
import { GroupsOf } from './group.tsx';
import { useAnswer, useLive } from './hooks.ts';
import { Amount, Answered, DelegateName, Facts, Id, More, Table } from './components.tsx';
import { PAGE_ROWS, pageOf, Pages } from './paging.tsx';
import { TransactionTable } from './transactions.tsx';

const VOTES_MAX = 101;
/** Maximum number of transactions in one answer of the node. */
const STEPS_MAX = 100;

export function Accounts(route: HashRoute) {
  const { page, filters } = route;
  const { status, constants } = useLive();
  const asked = useAnswer<Account[]>(accountsRequest(filters, pageOf(route)), status?.height);
  const isByWealth = orderOf(filters, ACCOUNT_ORDERS) === ACCOUNT_ORDERS[0]?.[0];
  return (
    <>
      <h1>Accounts</h1>
      <FilterForm route={route} fields={[]} orders={ACCOUNT_ORDERS} />
      <Answered asked={asked}>
        {(accounts, meta) => (
          <>
            <Table
              caption="Accounts by balance"
              rows={accounts.map((account, index) => ({ ...account, rank: index + 1 }))}
              sorting={sortingOf(route, ACCOUNT_ORDERS)}
              keyOf={({ address }) => address}
              empty="No accounts."
              columns={[
                {
                  // The number of a row is the rank of the account only if the list starts with the richest account.
                  name: isByWealth ? 'Rank' : 'Number',
                  isFigure: true,
                  cell: ({ rank }) => countText((page - 1) * PAGE_ROWS + rank),
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
                {
                  name: 'Balance, LSK',
                  field: 'balance',
                  isFigure: true,
                  onPhone: 'below-end',
                  cell: ({ balance }) => (
                    <Amount beddows={balance} among={accounts.map((account) => account.balance)} />
                  ),
                },
                {
                  name: 'Share of supply',
                  isFigure: true,
                  cell: ({ balance }) => shareText(balance, constants?.supply, 2),
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

export function AccountView(route: HashRoute & { readonly item: string }) {
  const { item } = route;
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
            <AccountFacts account={account} route={route} />
          )
        }
      </Answered>
    </>
  );
}

function AccountFacts({ account, route }: { account: Account; route: HashRoute }) {
  const { address, publicKey, balance, secondPublicKey, delegate } = account;
  const { status, constants } = useLive();
  const transactions = useAnswer<Transaction[]>(
    `transactions?senderIdOrRecipientId=${address}&limit=${PAGE_ROWS}&sort=timestamp:desc&after=${route.after}`,
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
      <BalanceOverTime account={account} />
      <GroupsOf address={address} />
      <h2>Transactions</h2>
      <Answered asked={transactions}>
        {(list, meta) => (
          <>
            <TransactionTable transactions={list} address={address} />
            <Pages route={route} meta={meta} />
          </>
        )}
      </Answered>
      {delegate === undefined ? null : <ForgedBlocks publicKey={publicKey} />}
      <Raw value={account} />
    </>
  );
}

/**
 * Chart of the balance after each of the latest transactions. An account that forged has no chart, because its earnings
 * are in no transaction.
 */
function BalanceOverTime({ account: { address, balance, delegate } }: { account: Account }) {
  const { status, constants, blocks } = useLive();
  const asked = useAnswer<Transaction[]>(
    `transactions?senderIdOrRecipientId=${address}&limit=${STEPS_MAX}&sort=timestamp:desc`,
    status?.height,
  );
  if (constants === undefined || asked.kind !== 'answered') return null;
  if (delegate !== undefined && delegate.producedBlocks > 0) return null;
  const steps = balanceSteps(address, balance, asked.answer.data);
  const amounts = steps.map(({ beddows }) => beddows);
  const [first] = steps;
  if (first === undefined || steps.length < 2) return null;
  const epochS = Date.parse(constants.epoch) / 1000;
  const least = amounts.reduce((a, b) => (a < b ? a : b));
  const most = amounts.reduce((a, b) => (a > b ? a : b));
  return (
    <section aria-labelledby="balance-title">
      <h2 id="balance-title">Balance over time</h2>
      <Chart
        kind="steps"
        xs={steps.map(({ timestamp }) => epochS + timestamp)}
        ys={amounts.map((beddows) => Number(beddows) / Number(BEDDOWS_PER_LSK))}
        endX={epochS + (blocks[0]?.timestamp ?? 0)}
        summary={`Since ${dateText((epochS + first.timestamp) * 1000)} UTC between ${amountText(String(least))} and ${amountText(String(most))}`}
      />
    </section>
  );
}

/** Compares names. Digits in names are compared by value: `a9` comes before `a10`. */
function byName(a: { readonly username: string }, b: { readonly username: string }): number {
  return a.username.localeCompare(b.username, 'en', { numeric: true });
}

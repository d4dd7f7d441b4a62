/** Transactions: a list, and one with what it carries. */

import type { Transaction } from '../answers.ts';
import { amountText, countText, typeText } from '../format.ts';
import type { Place } from '../place.ts';
import { useAnswer, useLive } from './hooks.ts';
import { Age, Answered, BlockLink, Facts, Id, Pages, Table } from './parts.tsx';

const PAGE_ROWS = 25;

export function TransactionTable({ transactions }: { transactions: readonly Transaction[] }) {
  return (
    <Table
      caption="Transactions"
      rows={transactions}
      keyOf={({ id }) => id}
      empty="No transactions."
      columns={[
        { name: 'Id', cell: ({ id }) => <Id view="transactions" item={id} /> },
        { name: 'Kind', cell: ({ type }) => typeText(type) },
        { name: 'Age', isWide: true, cell: ({ timestamp }) => <Age timestamp={timestamp} /> },
        { name: 'From', cell: ({ senderId }) => <Id view="accounts" item={senderId} /> },
        {
          name: 'To',
          isWide: true,
          cell: ({ recipientId }) => (recipientId ? <Id view="accounts" item={recipientId} /> : '–'),
        },
        { name: 'Amount', isFigure: true, cell: ({ amount }) => amountText(amount) },
        { name: 'Fee', isFigure: true, isWide: true, cell: ({ fee }) => amountText(fee) },
        {
          name: 'Block',
          isFigure: true,
          cell: ({ height }) => (height === undefined ? 'pool' : <BlockLink height={height} />),
        },
      ]}
    />
  );
}

export function Transactions({ page }: Place) {
  const { status, arrivals } = useLive();
  const asked = useAnswer<Transaction[]>(
    `transactions?limit=${PAGE_ROWS}&offset=${(page - 1) * PAGE_ROWS}&sort=timestamp:desc`,
    page === 1 ? status?.height : '',
  );
  return (
    <>
      <h1>Transactions</h1>
      {arrivals.length > 0 && page === 1 && (
        <section aria-labelledby="arrivals-title">
          <h2 id="arrivals-title">Came into the pool</h2>
          <TransactionTable transactions={arrivals.slice(0, 5)} />
          <h2>In the chain</h2>
        </section>
      )}
      <Answered asked={asked}>
        {(transactions, count) => (
          <>
            <TransactionTable transactions={transactions} />
            <Pages view="transactions" page={page} isLast={page * PAGE_ROWS >= (count ?? 0)} />
          </>
        )}
      </Answered>
    </>
  );
}

export function TransactionView({ item }: { item: string }) {
  const { status } = useLive();
  const asked = useAnswer<Transaction[]>(`transactions?id=${item}`, status?.height);
  return (
    <>
      <h1>Transaction</h1>
      <Answered asked={asked}>
        {([transaction]) =>
          transaction === undefined ? (
            <p>There is no transaction {item} in the chain. If it was sent just now, it is still in the pool.</p>
          ) : (
            <TransactionFacts transaction={transaction} />
          )
        }
      </Answered>
    </>
  );
}

function TransactionFacts({ transaction }: { transaction: Transaction }) {
  const { id, type, timestamp, senderId, recipientId, amount, fee, height, confirmations, signature, asset } =
    transaction;
  return (
    <>
      <Facts
        facts={[
          ['Id', <code key="id">{id}</code>],
          ['Kind', typeText(type)],
          ['Age', <Age key="age" timestamp={timestamp} />],
          ['From', <Id key="from" view="accounts" item={senderId} />],
          ...(recipientId ? [['To', <Id key="to" view="accounts" item={recipientId} />] as const] : []),
          ['Amount', amountText(amount)],
          ['Fee', amountText(fee)],
          ['Block', height === undefined ? 'in the pool' : <BlockLink key="block" height={height} />],
          ['Confirmations', countText(confirmations ?? 0)],
          ['Signature', <code key="signature">{signature}</code>],
        ]}
      />
      <h2>What it carries</h2>
      <pre>{JSON.stringify(asset, undefined, 2)}</pre>
    </>
  );
}

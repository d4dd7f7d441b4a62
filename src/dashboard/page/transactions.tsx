/** Transactions: a list, and one with what it carries. */

import type { Transaction } from '../answers.ts';
import { amountText, countText, typeText } from '../format.ts';
import type { Place } from '../place.ts';
import { useAnswer, useLive } from './hooks.ts';
import { Age, Answered, BlockLink, Facts, Id, Moment, Pages, Table, type Column } from './parts.tsx';

const PAGE_ROWS = 25;

/**
 * @param props.address account whose transactions they are: what it sent and what it got have different signs then
 * @param props.isOfBlock all are of one block, which needs no telling
 */
export function TransactionTable({
  transactions,
  address,
  isOfBlock = false,
}: {
  transactions: readonly Transaction[];
  address?: string;
  isOfBlock?: boolean;
}) {
  return (
    <Table
      caption="Transactions"
      rows={transactions}
      keyOf={({ id }) => id}
      empty="No transactions."
      columns={[
        { name: 'Id', onPhone: 'below', cell: ({ id }) => <Id view="transactions" item={id} /> },
        { name: 'Kind', onPhone: 'start', cell: ({ type }) => typeText(type) },
        { name: 'Age', onPhone: 'below-end', cell: ({ timestamp }) => <Age timestamp={timestamp} /> },
        { name: 'From', cell: ({ senderId }) => <Id view="accounts" item={senderId} /> },
        {
          name: 'To',
          cell: ({ recipientId }) => (recipientId ? <Id view="accounts" item={recipientId} /> : '–'),
        },
        {
          name: 'Amount',
          isFigure: true,
          onPhone: 'end',
          cell: (transaction) => `${signFor(transaction, address)}${amountText(transaction.amount)}`,
        },
        { name: 'Fee', isFigure: true, cell: ({ fee }) => amountText(fee) },
        ...(isOfBlock ? [] : [BLOCK]),
      ]}
    />
  );
}

const BLOCK: Column<Transaction> = {
  name: 'Block',
  isFigure: true,
  cell: ({ height }) => (height === undefined ? 'pool' : <BlockLink height={height} />),
};

function signFor({ senderId, recipientId, amount }: Transaction, address: string | undefined): string {
  if (address === undefined || amount === '0' || senderId === recipientId) return '';
  if (recipientId === address) return '+';
  return senderId === address ? '−' : '';
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
        <>
          <h2>Came into the pool</h2>
          <TransactionTable transactions={arrivals.slice(0, 5)} />
          <h2>In the chain</h2>
        </>
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
            <p class="none">
              There is no transaction {item} in the chain. If it was sent just now, it is still in the pool.
            </p>
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
          ['Made', <Moment key="made" timestamp={timestamp} />],
          ['From', <Id key="from" view="accounts" item={senderId} isWhole />],
          ...(recipientId ? [['To', <Id key="to" view="accounts" item={recipientId} isWhole />] as const] : []),
          ['Amount', amountText(amount)],
          ['Fee', amountText(fee)],
          ['Block', height === undefined ? 'in the pool' : <BlockLink key="block" height={height} />],
          ['Confirmations', countText(confirmations ?? 0)],
          ['Signature', <code key="signature">{signature}</code>],
        ]}
      />
      {Object.keys(asset).length > 0 && (
        <>
          <h2>What it carries</h2>
          <pre tabIndex={0} aria-label="What it carries, as JSON">
            {JSON.stringify(asset, undefined, 2)}
          </pre>
        </>
      )}
    </>
  );
}

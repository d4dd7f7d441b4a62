/** Transactions: a list, and one with what it carries. */

import type { Transaction } from '../answers.ts';
import { amountText, countText, typeText } from '../format.ts';
import type { Place } from '../place.ts';
import { waitsFor } from '../pool.ts';
import { ask, type Answer } from './ask.ts';
import { Copied, Deed, Raw } from './deed.tsx';
import { OwnGroup } from './group.tsx';
import { useAnswer, useAsked, useLive } from './hooks.ts';
import { findWaiting, MissingSigners, type Waiting } from './pool.tsx';
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
          cell: (transaction) =>
            transaction.amount === '0' ? '–' : `${signFor(transaction, address)}${amountText(transaction.amount)}`,
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
  const { status, heardAtMs } = useLive();
  const asked = useAsked(() => findAnywhere(item), item, `${status?.height} ${heardAtMs}`);
  return (
    <>
      <h1>Transaction</h1>
      <Answered asked={asked}>
        {(found) =>
          found === undefined ? (
            <p class="none">There is no transaction {item}, neither in the chain nor in the pool of this node.</p>
          ) : (
            <TransactionFacts {...found} />
          )
        }
      </Answered>
    </>
  );
}

/** A transaction of the chain, which no state has, or of the pool. */
type Found = Pick<Waiting, 'transaction'> & Partial<Waiting>;

async function findAnywhere(id: string): Promise<Answer<Found | undefined>> {
  const { meta, data } = await ask<Transaction[]>(`transactions?id=${encodeURIComponent(id)}`);
  const [transaction] = data;
  return { meta, data: transaction === undefined ? await findWaiting(id) : { transaction } };
}

function TransactionFacts({ transaction, state }: Found) {
  const { status } = useLive();
  const { id, type, timestamp, senderId, recipientId, amount, fee, height, confirmations, signature } = transaction;
  const { signatures = [] } = transaction;
  const isFinal = height !== undefined && status !== undefined && height <= status.chainMaxHeightFinalized;
  return (
    <>
      <p class="deed">
        <Id view="accounts" item={senderId} isWhole /> <Deed transaction={transaction} />.
      </p>
      <Facts
        facts={[
          ['Id', <Copied key="id" text={id} />],
          ['Kind', typeText(type)],
          ['Made', <Moment key="made" timestamp={timestamp} />],
          ['From', <Id key="from" view="accounts" item={senderId} isWhole />],
          ...(recipientId ? [['To', <Id key="to" view="accounts" item={recipientId} isWhole />] as const] : []),
          ...(amount === '0' ? [] : [['Amount', amountText(amount)] as const]),
          ['Fee', amountText(fee)],
          ...(height === undefined
            ? [
                [
                  'Waits for',
                  state === 'pending' ? (
                    <MissingSigners key="signers" transaction={transaction} />
                  ) : (
                    waitsFor(state ?? 'ready', signatures.length)
                  ),
                ] as const,
              ]
            : [
                ['Block', <BlockLink key="block" height={height} />] as const,
                ['Confirmations', `${countText(confirmations ?? 0)}${isFinal ? ', final' : ''}`] as const,
              ]),
          ['Signature', <Copied key="signature" text={signature} />],
          ...signatures.map((each) => ['Member signed', <Copied key={each} text={each} />] as const),
        ]}
      />
      {state === 'pending' && !isRegistration(type) && <OwnGroup address={senderId} />}
      <Raw value={transaction} />
    </>
  );
}

/** What makes a group of its sender names the members itself. */
function isRegistration(type: number): boolean {
  return type === 4 || type === 12;
}

/** The views of transactions: a list, and one transaction with its content. */

import { hasFinality, type Transaction } from '../answers.ts';
import { amountText, countOf, typeText } from '../format.ts';
import type { HashRoute } from '../hash-route.ts';
import { waitsFor } from '../pool.ts';
import { TRANSACTION_SORT_OPTIONS, TRANSACTION_TYPES, transactionsRequest } from '../list-requests.ts';
import { ask, type Answer } from './api-requests.ts';
import { Copied, Raw } from './copyable.tsx';
import { Description, Targets } from './description.tsx';
import { FilterForm, sortingOf, type Field } from './filters.tsx';
import { OwnGroup } from './group.tsx';
import { useAsked, useLive, useRequest } from './hooks.ts';
import { pageOf, Pages } from './paging.tsx';
import { findWaiting, MissingSigners, type Waiting } from './pool.tsx';
import {
  Age,
  Amount,
  Answered,
  BlockLink,
  ConfirmationState,
  DateTime,
  Facts,
  Go,
  Id,
  Table,
  type Column,
  type Sorting,
} from './components.tsx';

/**
 * @param props.address address of the account whose transactions are listed. With this property, sent amounts have a
 *   minus sign, and received amounts have a plus sign. An amount that the account sent to itself has no sign
 * @param props.isOfBlock true if all transactions are in one block; the table then has no column for the block
 */
export function TransactionTable({
  transactions,
  address,
  isOfBlock = false,
  sorting,
}: {
  transactions: readonly Transaction[];
  address?: string;
  isOfBlock?: boolean;
  sorting?: Sorting;
}) {
  const amounts = transactions.map(({ amount }) => amount);
  const fees = transactions.map(({ fee }) => fee);
  return (
    <Table
      caption="Transactions"
      rows={transactions}
      keyOf={({ id }) => id}
      empty={sorting === undefined ? 'No transactions.' : 'No such transactions.'}
      {...(sorting === undefined ? {} : { sorting })}
      columns={[
        { name: 'Id', cell: ({ id }) => <Id view="transactions" item={id} /> },
        { name: 'Kind', cell: ({ type }) => typeText(type) },
        {
          name: 'Transaction',
          isNarrow: true,
          onPhone: 'start',
          cell: ({ id, type }) => (
            <Go view="transactions" item={id}>
              {typeText(type)}
            </Go>
          ),
        },
        {
          name: 'Way',
          isNarrow: true,
          onPhone: 'below',
          cell: (transaction) => (
            <>
              <Id view="accounts" item={transaction.senderId} characters={4} /> →{' '}
              <Targets transaction={transaction} characters={4} />
            </>
          ),
        },
        {
          name: 'Age',
          field: 'timestamp',
          onPhone: 'below-end',
          cell: ({ timestamp }) => <Age timestamp={timestamp} />,
        },
        { name: 'From', cell: ({ senderId }) => <Id view="accounts" item={senderId} /> },
        { name: 'To', cell: (transaction) => <Targets transaction={transaction} /> },
        {
          name: 'Amount, LSK',
          field: 'amount',
          isFigure: true,
          onPhone: 'end',
          cell: (transaction) =>
            transaction.amount === '0' ? (
              '–'
            ) : (
              <Amount beddows={transaction.amount} among={amounts} sign={signFor(transaction, address)} />
            ),
        },
        { name: 'Fee, LSK', field: 'fee', isFigure: true, cell: ({ fee }) => <Amount beddows={fee} among={fees} /> },
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

const FIELDS: readonly Field[] = [
  { name: 'kind', title: 'Kind', options: TRANSACTION_TYPES.map((type) => [String(type), typeText(type)]) },
  { name: 'from', title: 'From', example: 'address' },
  { name: 'to', title: 'To', example: 'address' },
  { name: 'min', title: 'At least', example: 'LSK', isShort: true },
  { name: 'max', title: 'At most', example: 'LSK', isShort: true },
  { name: 'text', title: 'Text' },
];

export function Transactions(route: HashRoute) {
  const { page, filters } = route;
  const { status, arrivals, constants } = useLive();
  const request =
    constants === undefined ? { path: '' } : transactionsRequest(filters, pageOf(route), hasFinality(constants));
  const asked = useRequest<Transaction[]>(request, page === 1 ? status?.height : '');
  const isWhole = page === 1 && Object.keys(filters).length === 0;
  return (
    <>
      <h1>Transactions</h1>
      {arrivals.length > 0 && isWhole && (
        <>
          <h2>Came into the pool</h2>
          <TransactionTable transactions={arrivals.slice(0, 5)} />
          <h2>In the chain</h2>
        </>
      )}
      <FilterForm route={route} fields={FIELDS} orders={TRANSACTION_SORT_OPTIONS} request={request} />
      <Answered asked={asked}>
        {(transactions, meta) => (
          <>
            {!isWhole && meta.count !== undefined && <p class="quiet">{countOf(meta.count, 'transaction')}</p>}
            <TransactionTable transactions={transactions} sorting={sortingOf(route, TRANSACTION_SORT_OPTIONS)} />
            <Pages route={route} meta={meta} />
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

/** A transaction of the chain (without a pool state) or of the pool. */
type Found = Pick<Waiting, 'transaction'> & Partial<Waiting>;

async function findAnywhere(id: string): Promise<Answer<Found | undefined>> {
  const { meta, data } = await ask<Transaction[]>(`transactions?id=${encodeURIComponent(id)}`);
  const [transaction] = data;
  return { meta, data: transaction === undefined ? await findWaiting(id) : { transaction } };
}

function TransactionFacts({ transaction, state }: Found) {
  const { id, type, timestamp, senderId, recipientId, amount, fee, height, signature } = transaction;
  const { signatures = [] } = transaction;
  return (
    <>
      <p class="description">
        <Id view="accounts" item={senderId} isWhole /> <Description transaction={transaction} />.
      </p>
      <Facts
        facts={[
          ['State', <ConfirmationState key="state" height={height} />],
          ['Id', <Copied key="id" text={id} />],
          ['Kind', typeText(type)],
          ['Made', <DateTime key="made" timestamp={timestamp} />],
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
            : [['Block', <BlockLink key="block" height={height} />] as const]),
          ['Signature', <Copied key="signature" text={signature} />],
          ...signatures.map((each) => ['Member signed', <Copied key={each} text={each} />] as const),
        ]}
      />
      {state === 'pending' && !isRegistration(type) && <OwnGroup address={senderId} />}
      <Raw value={transaction} />
    </>
  );
}

/**
 * Returns true if transactions of this type register a multisignature group. Such a transaction contains the members of
 * the group, so the view of the transaction does not request the group from the node.
 */
function isRegistration(type: number): boolean {
  return type === 4 || type === 12;
}

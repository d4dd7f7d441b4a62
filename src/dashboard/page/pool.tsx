/** The view of the transaction pool: the transactions that wait for a block, and what each transaction waits for. */

import type { Signers, Transaction } from '../answers.ts';
import { countOf } from '../format.ts';
import { POOL_STATES, waitsFor, type PoolState } from '../pool.ts';
import { ask, type Answer } from './api-requests.ts';
import { Description } from './description.tsx';
import { useAnswer, useAsked, useLive } from './hooks.ts';
import { Age, Amount, Answered, Id, More, Table } from './components.tsx';

/**
 * Maximum number of transactions that the view shows of each queue. The number above the list counts all transactions.
 */
const SHOWN_MAX = 100;
/**
 * Maximum number of group transactions whose signers the view requests. A group transaction waits for the signatures of
 * members of its sender's multisignature group.
 */
const SIGNERS_ASKED_MAX = 20;

export interface Waiting {
  readonly state: PoolState;
  readonly transaction: Transaction;
}

export function Pool() {
  const { status, arrivals, heardAtMs } = useLive();
  // Each arriving transaction and each block changes the pool, so both cause a new request. The next status of the node
  // causes a new request, too, because there is no event for the move of a transaction to another queue.
  const asked = useAsked(waitingNow, 'pool', `${status?.height} ${arrivals[0]?.id} ${heardAtMs}`);
  const fees = asked.kind === 'answered' ? asked.answer.data.map(({ transaction }) => transaction.fee) : [];
  return (
    <>
      <h1>Pool</h1>
      <Answered asked={asked}>
        {(waiting, { count }) => (
          <>
            <p class="quiet">
              {count === 0
                ? 'Transactions appear here as they come in.'
                : `${countOf(count ?? 0, 'transaction')} of this node`}
              {waiting.length < (count ?? 0) ? `, of which ${waiting.length} are shown` : ''}
            </p>
            <Table
              caption="Transactions that wait for a block"
              rows={waiting}
              keyOf={({ transaction }) => transaction.id}
              empty="No transaction waits for a block."
              columns={[
                {
                  name: 'Id',
                  onPhone: 'start',
                  cell: ({ transaction }) => <Id view="transactions" item={transaction.id} />,
                },
                {
                  name: 'Age',
                  onPhone: 'end',
                  cell: ({ transaction }) => <Age timestamp={transaction.timestamp} />,
                },
                { name: 'Sender', cell: ({ transaction }) => <Id view="accounts" item={transaction.senderId} /> },
                {
                  name: 'Does',
                  isText: true,
                  onPhone: 'below-all',
                  cell: ({ transaction }) => <Description transaction={transaction} />,
                },
                {
                  name: 'Waits for',
                  onPhone: 'last-all',
                  cell: ({ state, transaction }) =>
                    state === 'pending' && isAsked(waiting, transaction) ? (
                      <MissingSigners transaction={transaction} />
                    ) : (
                      waitsFor(state, transaction.signatures?.length ?? 0)
                    ),
                },
                {
                  name: 'Fee, LSK',
                  isFigure: true,
                  cell: ({ transaction }) => <Amount beddows={transaction.fee} among={fees} />,
                },
              ]}
            />
          </>
        )}
      </Answered>
    </>
  );
}

/**
 * Returns true if the view requests the signers of a group transaction. Each group transaction needs a request, so the
 * view requests only the signers of the first `SIGNERS_ASKED_MAX` group transactions. The view of a single transaction
 * shows the signers of any group transaction.
 */
function isAsked(waiting: readonly Waiting[], transaction: Transaction): boolean {
  const ofGroups = waiting.filter(({ state }) => state === 'pending').slice(0, SIGNERS_ASKED_MAX);
  return ofGroups.some((each) => each.transaction.id === transaction.id);
}

/** Shows how many members of the group have signed the transaction. A click shows the addresses of the members. */
export function MissingSigners({ transaction }: { transaction: Transaction }) {
  const signatures = transaction.signatures?.length ?? 0;
  const asked = useAnswer<Signers>(`node/transactions/${transaction.id}/signers`, signatures);
  // Without an answer, the component shows only the number of signatures. For example, the node refuses this request if
  // the transaction has entered a block.
  if (asked.kind !== 'answered') return <span class="badge">{waitsFor('pending', signatures)}</span>;
  const { min, members } = asked.answer.data;
  return (
    <More isLong summary={waitsFor('pending', signatures, min)}>
      <SignerList title="missing" members={members.filter(({ hasSigned }) => !hasSigned)} />
      <SignerList title="signed" members={members.filter(({ hasSigned }) => hasSigned)} />
    </More>
  );
}

function SignerList({ title, members }: { title: string; members: Signers['members'] }) {
  if (members.length === 0) return null;
  return (
    <span class="signers">
      <span class={title === 'missing' ? 'badge' : 'badge good'}>{title}</span>
      {members.map(({ address }) => (
        <Id key={address} view="accounts" item={address} isWhole />
      ))}
    </span>
  );
}

/**
 * Requests all queues, and lists their transactions. The queue `ready` comes first, and `received` comes last. A
 * transaction that changes its queue between two requests can be in two answers, but is listed only once.
 */
async function waitingNow(): Promise<Answer<readonly Waiting[]>> {
  const queues = await Promise.all(
    POOL_STATES.map((state) => ask<Transaction[]>(`node/transactions/${state}?sort=timestamp:desc&limit=${SHOWN_MAX}`)),
  );
  const known = new Map<string, Waiting>();
  for (const [index, state] of POOL_STATES.entries())
    for (const transaction of queues[index]?.data ?? [])
      if (!known.has(transaction.id)) known.set(transaction.id, { state, transaction });
  const count = queues.reduce((sum, { meta }) => sum + (meta.count ?? 0), 0);
  return { meta: { count }, data: [...known.values()] };
}

/** Finds a transaction of the pool; undefined when no queue has the transaction. */
export async function findWaiting(id: string): Promise<Waiting | undefined> {
  const found = await Promise.all(
    POOL_STATES.map(async (state) => {
      const [transaction] = (await ask<Transaction[]>(`node/transactions/${state}?id=${id}`)).data;
      return transaction && { state, transaction };
    }),
  );
  return found.find((waiting) => waiting !== undefined);
}

/** The pool: transactions that wait for a block, and the reason why each one waits. */

import type { Signers, Transaction } from '../answers.ts';
import { countOf } from '../format.ts';
import { POOL_STATES, waitsFor, type PoolState } from '../pool.ts';
import { ask, type Answer } from './ask.ts';
import { Description } from './description.tsx';
import { useAnswer, useAsked, useLive } from './hooks.ts';
import { Age, Amount, Answered, Id, More, Table } from './parts.tsx';

/**
 * Maximum of transactions of each queue that are shown. For the transactions beyond this number, the page shows only
 * their number.
 */
const SHOWN_MAX = 100;
/** Number of transactions of groups whose signers the list shows. */
const SIGNERS_ASKED_MAX = 20;

export interface Waiting {
  readonly state: PoolState;
  readonly transaction: Transaction;
}

export function Pool() {
  const { status, arrivals, heardAtMs } = useLive();
  // Every arrival and every block changes the pool. Changes inside of the pool are seen with the next status.
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
 * Each group transaction needs a separate request, so the list asks only about the first transactions. Further
 * transactions show their signers on their own pages.
 */
function isAsked(waiting: readonly Waiting[], transaction: Transaction): boolean {
  const ofGroups = waiting.filter(({ state }) => state === 'pending').slice(0, SIGNERS_ASKED_MAX);
  return ofGroups.some((each) => each.transaction.id === transaction.id);
}

/** Number of members of a group that have signed; one click shows their names. */
export function MissingSigners({ transaction }: { transaction: Transaction }) {
  const signatures = transaction.signatures?.length ?? 0;
  const asked = useAnswer<Signers>(`node/transactions/${transaction.id}/signers`, signatures);
  // A node of another version has no such answer. The answer with the signers is also missing if the transaction has
  // entered a block meanwhile.
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
 * The queues, in the order of their distance from a block, nearest first. A transaction that changes its queue between
 * two requests is in both answers.
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

/** A transaction of the pool; undefined when none of the queues has it. */
export async function findWaiting(id: string): Promise<Waiting | undefined> {
  const found = await Promise.all(
    POOL_STATES.map(async (state) => {
      const [transaction] = (await ask<Transaction[]>(`node/transactions/${state}?id=${id}`)).data;
      return transaction && { state, transaction };
    }),
  );
  return found.find((waiting) => waiting !== undefined);
}

/** Accounts and delegates: lists, and one with its transactions, votes and blocks. */

import type { Account, Block, Delegate, Transaction } from '../answers.ts';
import { amountText, countText } from '../format.ts';
import type { Place } from '../place.ts';
import { BlockTable } from './blocks.tsx';
import { useAnswer, useLive } from './hooks.ts';
import { Answered, Facts, Go, Id, Pages, Table } from './parts.tsx';
import { TransactionTable } from './transactions.tsx';

const PAGE_ROWS = 25;

export function Accounts({ page }: Place) {
  const { status } = useLive();
  const asked = useAnswer<Account[]>(
    `accounts?limit=${PAGE_ROWS}&offset=${(page - 1) * PAGE_ROWS}&sort=balance:desc`,
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
              rows={accounts}
              keyOf={({ address }) => address}
              empty="No accounts."
              columns={[
                { name: 'Address', cell: ({ address }) => <Go view="accounts" item={address}>{`${address}`}</Go> },
                {
                  name: 'Delegate',
                  cell: ({ delegate }) =>
                    delegate === undefined ? (
                      '–'
                    ) : (
                      <Go view="delegates" item={delegate.username}>
                        {delegate.username}
                      </Go>
                    ),
                },
                { name: 'Balance', isFigure: true, cell: ({ balance }) => amountText(balance) },
              ]}
            />
            <Pages view="accounts" page={page} isLast={accounts.length < PAGE_ROWS} />
          </>
        )}
      </Answered>
    </>
  );
}

export function AccountView({ item }: { item: string }) {
  const { status } = useLive();
  const asked = useAnswer<Account[]>(`accounts?address=${encodeURIComponent(item)}`, status?.height);
  return (
    <>
      <h1>Account {item}</h1>
      <Answered asked={asked}>
        {([account]) =>
          account === undefined ? <p>No account {item} has been used yet.</p> : <AccountFacts account={account} />
        }
      </Answered>
    </>
  );
}

function AccountFacts({ account }: { account: Account }) {
  const { address, publicKey, balance, secondPublicKey, delegate } = account;
  const { status } = useLive();
  const transactions = useAnswer<Transaction[]>(
    `transactions?senderIdOrRecipientId=${address}&limit=${PAGE_ROWS}&sort=timestamp:desc`,
    status?.height,
  );
  return (
    <>
      <Facts
        facts={[
          ['Address', <code key="address">{address}</code>],
          ['Balance', amountText(balance)],
          ['Public key', publicKey === '' ? 'not known yet' : <code key="key">{publicKey}</code>],
          ...(secondPublicKey === '' ? [] : [['Second key', <code key="second">{secondPublicKey}</code>] as const]),
          ...(delegate === undefined
            ? []
            : [
                [
                  'Delegate',
                  <Go key="delegate" view="delegates" item={delegate.username}>
                    {delegate.username}
                  </Go>,
                ] as const,
              ]),
        ]}
      />
      <h2>Transactions</h2>
      <Answered asked={transactions}>{(list) => <TransactionTable transactions={list} />}</Answered>
      {delegate === undefined ? null : <ForgedBlocks publicKey={publicKey} />}
    </>
  );
}

export function Delegates({ page }: Place) {
  const { status } = useLive();
  const asked = useAnswer<Delegate[]>(`delegates?limit=101&offset=${(page - 1) * 101}&sort=rank:asc`, status?.height);
  return (
    <>
      <h1>Delegates</h1>
      <Answered asked={asked}>
        {(delegates) => (
          <>
            <Table
              caption="Delegates by rank"
              rows={delegates}
              keyOf={({ username }) => username}
              empty="No delegates."
              columns={[
                { name: 'Rank', isFigure: true, cell: ({ rank }) => rank ?? '–' },
                {
                  name: 'Name',
                  cell: ({ username }) => (
                    <Go view="delegates" item={username}>
                      {username}
                    </Go>
                  ),
                },
                { name: 'Forged', isFigure: true, cell: ({ producedBlocks }) => countText(producedBlocks) },
                { name: 'Missed', isFigure: true, cell: ({ missedBlocks }) => countText(missedBlocks) },
                { name: 'Productivity', isFigure: true, cell: ({ productivity }) => `${productivity} %` },
                { name: 'Approval', isFigure: true, isWide: true, cell: ({ approval }) => `${approval} %` },
                { name: 'Vote weight', isFigure: true, isWide: true, cell: ({ voteWeight }) => amountText(voteWeight) },
                {
                  name: 'Address',
                  isWide: true,
                  cell: ({ account }) => <Id view="accounts" item={account.address} />,
                },
              ]}
            />
            <Pages view="delegates" page={page} isLast={delegates.length < 101} />
          </>
        )}
      </Answered>
    </>
  );
}

export function DelegateView({ item }: { item: string }) {
  const { status, forgers, blockTimeS } = useLive();
  const asked = useAnswer<Delegate[]>(`delegates?username=${encodeURIComponent(item)}`, status?.height);
  return (
    <>
      <h1>Delegate {item}</h1>
      <Answered asked={asked}>
        {([delegate]) => {
          if (delegate === undefined) return <p>There is no delegate {item}.</p>;
          const { account } = delegate;
          const turn = forgers.find(({ publicKey }) => publicKey === account.publicKey);
          return (
            <>
              <Facts
                facts={[
                  ['Rank', delegate.rank ?? 'none yet'],
                  ['Vote weight', `${amountText(delegate.voteWeight)} (${delegate.approval} % of the supply)`],
                  ['Forged', `${countText(delegate.producedBlocks)} blocks`],
                  ['Missed', `${countText(delegate.missedBlocks)} (productivity ${delegate.productivity} %)`],
                  ['Rewards', amountText(delegate.rewards)],
                  ['Forges in this round', turn === undefined ? 'no' : `yes, slots of ${blockTimeS} s`],
                  ['Account', <Id key="account" view="accounts" item={account.address} />],
                  ['Public key', <code key="key">{account.publicKey}</code>],
                ]}
              />
              <ForgedBlocks publicKey={account.publicKey} />
            </>
          );
        }}
      </Answered>
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

/** Test funds of a devnet: a faucet, and transfers from accounts with published keys. */

import { useState } from 'preact/hooks';
import type { Account } from '../answers.ts';
import { transferOf, type KnownAccount } from '../devnet.ts';
import { amountText } from '../format.ts';
import { sendRequest } from './api-requests.ts';
import { useAnswer, useAsked, useLive } from './hooks.ts';
import { ChoiceField, operate, Operation, TextField, useOperations } from './operations.tsx';
import { BlockLink, Id } from './components.tsx';

interface Funded {
  readonly address: string;
  /** Balance in beddows, as decimal digits. */
  readonly balance: string;
  readonly height: number;
}

export function Faucet({ changed }: { changed: () => void }) {
  const { isBusy, run, refuse, outcome } = useOperations(changed);
  const [address, setAddress] = useState('');
  const [amount, setAmount] = useState('100');
  const send = (): void => {
    const read = transferOf({ address, amount });
    if ('problem' in read) return refuse(read.problem);
    run(async () => {
      const { address: to, balance, height } = await operate<Funded>('fund', read.value);
      return (
        <>
          <Id view="accounts" item={to} /> has {amountText(balance)} since block <BlockLink height={height} />.
        </>
      );
    });
  };
  return (
    <section aria-labelledby="devnet-faucet">
      <h2 id="devnet-faucet">Faucet</h2>
      <p class="quiet">Gives LSK of the richest account to any address. A block is forged at once.</p>
      <Operation label="Give" isBusy={isBusy} onSend={send}>
        <TextField title="To" value={address} onText={setAddress} example="address" isLong />
        <TextField title="Amount, LSK" value={amount} onText={setAmount} />
      </Operation>
      {outcome}
    </section>
  );
}

export function Send({ changed }: { changed: () => void }) {
  const asked = useAsked(
    () => sendRequest<{ accounts: KnownAccount[] }>('POST', 'devnet/accounts', {}),
    'accounts',
    '',
  );
  const accounts = asked.kind === 'answered' ? asked.answer.data.accounts : [];
  if (asked.kind === 'failed') return <p class="problem">{asked.reason}</p>;
  return accounts.length === 0 ? null : <SendForm accounts={accounts} changed={changed} />;
}

function SendForm({ accounts, changed }: { accounts: readonly KnownAccount[]; changed: () => void }) {
  const { status } = useLive();
  const { isBusy, run, refuse, outcome } = useOperations(changed);
  const [from, setFrom] = useState((accounts[1] ?? accounts[0])?.name ?? '');
  const [address, setAddress] = useState('');
  const [amount, setAmount] = useState('10');
  const [text, setText] = useState('');
  const payer = accounts.find(({ name }) => name === from)?.address ?? '';
  const balance = useAnswer<Account[]>(`accounts?address=${payer}`, status?.height);
  const has = balance.kind === 'answered' ? balance.answer.data[0]?.balance : undefined;
  const send = (): void => {
    const read = transferOf({ address, amount });
    if ('problem' in read) return refuse(read.problem);
    run(async () => {
      const { id } = await operate<{ id: string }>('send', { from, ...read.value, data: text });
      return (
        <>
          Transaction <Id view="transactions" item={id} /> is in the pool.
        </>
      );
    });
  };
  return (
    <section aria-labelledby="devnet-send">
      <h2 id="devnet-send">Send</h2>
      <p class="quiet">
        A transfer of a known account. <Id view="accounts" item={payer} /> has{' '}
        {has === undefined ? 'nothing yet' : amountText(has)}.
      </p>
      <Operation label="Send" isBusy={isBusy} onSend={send}>
        <ChoiceField
          title="From"
          value={from}
          options={accounts.map(({ name }) => [name, name] as const)}
          onChoose={setFrom}
        />
        <TextField title="To" value={address} onText={setAddress} example="address" isLong />
        <TextField title="Amount, LSK" value={amount} onText={setAmount} />
        <TextField title="Text" value={text} onText={setText} example="optional" />
      </Operation>
      {outcome}
    </section>
  );
}

/** What only the operator may see: forging on this node, and what it decided and why. */

import type { Decision, ForgingDelegate } from '../answers.ts';
import { agoText } from '../format.ts';
import { useLive, useNow } from './hooks.ts';
import { DelegateLink, Table } from './parts.tsx';

export function Forging() {
  const { forging, forgers, blockTimeS, constants } = useLive();
  const now = useNow();
  if (forging === undefined) {
    return (
      <>
        <h1>Forging</h1>
        <p>Only those on the node’s forging whitelist see who forges here.</p>
      </>
    );
  }
  const epochMs = constants === undefined ? 0 : Date.parse(constants.epoch);
  const turns = new Map(forgers.map((forger) => [forger.publicKey, forger]));
  const turnMs = ({ publicKey }: ForgingDelegate): number | undefined => {
    const slot = turns.get(publicKey)?.nextSlot;
    return slot === undefined ? undefined : epochMs + slot * blockTimeS * 1000;
  };
  const rows = [...forging].sort((a, b) => (turnMs(a) ?? Infinity) - (turnMs(b) ?? Infinity));
  return (
    <>
      <h1>Forging</h1>
      <p class="quiet">Delegates configured on this node, by their next slot.</p>
      <Table
        caption="Delegates configured on this node"
        rows={rows}
        keyOf={({ publicKey }) => publicKey}
        empty="No delegate is configured on this node."
        columns={[
          {
            name: 'Delegate',
            cell: ({ publicKey }) => (
              <DelegateLink publicKey={publicKey} address={turns.get(publicKey)?.address ?? publicKey} />
            ),
          },
          {
            name: 'Forging',
            cell: (delegate) => (
              <span class={delegate.forging ? 'badge good' : 'badge bad'}>{delegate.forging ? 'on' : 'off'}</span>
            ),
          },
          {
            name: 'Next slot',
            isFigure: true,
            cell: (delegate) => {
              const moment = turnMs(delegate);
              return moment === undefined ? 'not among the 101' : agoText(moment, now);
            },
          },
        ]}
      />
    </>
  );
}

export function Decisions() {
  const { decisions } = useLive();
  const now = useNow();
  return (
    <>
      <h1>Decisions</h1>
      {decisions === undefined ? (
        <p>Only the machine of the node is told what it decided.</p>
      ) : (
        <Table
          caption="What the node refused, dropped or missed, and why"
          rows={decisions}
          keyOf={({ number }) => String(number)}
          empty="Nothing was refused, dropped or missed since the node started."
          columns={[
            { name: 'When', cell: ({ time }) => <time dateTime={time}>{agoText(Date.parse(time), now)}</time> },
            { name: 'Part', cell: ({ room }) => room },
            { name: 'Code', cell: ({ code }) => <code>{code}</code> },
            { name: 'What', cell: (decision) => sentenceOf(decision) },
          ]}
        />
      )}
    </>
  );
}

function sentenceOf({ message, fields }: Decision): string {
  const facts = Object.entries(fields).map(([name, value]) => `${name} ${value}`);
  return facts.length === 0 ? message : `${message}: ${facts.join(', ')}`;
}

/** What only the operator may see: forging on this node, and what it decided and why. */

import type { Diagnostic, ForgingDelegate } from '../answers.ts';
import { runsOf, type Run } from '../diagnostics.ts';
import { countText, dateText, sinceText, timeText, untilText } from '../format.ts';
import { nextSlotsOf } from '../round.ts';
import { useLive, useNow, useRound, useSlotStart } from './hooks.ts';
import { DelegateLink, More, Table } from './parts.tsx';

export function Forging() {
  const { forging, forgers } = useLive();
  const nextSlots = useNextSlots();
  if (forging === undefined) {
    return (
      <>
        <h1>Forging</h1>
        <p class="none">Only those on the node’s forging whitelist see who forges here.</p>
      </>
    );
  }
  const addresses = new Map(forgers.map(({ publicKey, address }) => [publicKey, address]));
  const placeOf = ({ publicKey }: ForgingDelegate): number =>
    nextSlots.get(publicKey) ?? Number.MAX_SAFE_INTEGER - (addresses.has(publicKey) ? 1 : 0);
  const rows = [...forging].sort((a, b) => placeOf(a) - placeOf(b));
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
            isName: true,
            cell: ({ publicKey }) => (
              <DelegateLink publicKey={publicKey} address={addresses.get(publicKey) ?? publicKey} />
            ),
          },
          { name: 'Forging', isText: true, cell: (delegate) => <ForgingState delegate={delegate} /> },
          { name: 'Next slot', isFigure: true, cell: ({ publicKey }) => <NextSlot publicKey={publicKey} /> },
        ]}
      />
    </>
  );
}

function ForgingState({ delegate: { forging, waiting } }: { delegate: ForgingDelegate }) {
  const now = useNow();
  if (!forging) return <span class="badge">off</span>;
  if (waiting === undefined) return <span class="badge good">on</span>;
  const until = waiting.until === undefined ? '' : ` (${untilText(Date.parse(waiting.until), now)})`;
  return (
    <>
      <span class="badge bad">waiting</span> {waiting.reason}
      {until}
    </>
  );
}

/** When a delegate has its slot of the present round, as far as that is known. */
export function NextSlot({ publicKey }: { publicKey: string }) {
  const { forgers, status } = useLive();
  const nextSlot = useNextSlots().get(publicKey);
  const startOf = useSlotStart();
  const now = useNow();
  if (status?.syncing === true) return <>not known yet</>;
  if (nextSlot !== undefined) {
    const startMs = startOf(nextSlot);
    return (
      <time dateTime={new Date(startMs).toISOString()} title={`${timeText(startMs)} UTC`}>
        {startMs <= now ? 'now' : untilText(startMs, now)}
      </time>
    );
  }
  return <>{forgers.some((forger) => forger.publicKey === publicKey) ? 'next round' : 'not active'}</>;
}

function useNextSlots(): ReadonlyMap<string, number> {
  const round = useRound();
  return round === undefined ? new Map() : nextSlotsOf(round);
}

export function Diagnostics() {
  const { diagnostics } = useLive();
  const now = useNow();
  return (
    <>
      <h1>Diagnostics</h1>
      {diagnostics === undefined ? (
        <p class="none">Only the machine of the node is told what it decided.</p>
      ) : (
        <Table
          caption="What the node refused, dropped or missed, and why"
          rows={runsOf(diagnostics)}
          keyOf={({ earlier, latest }) => String((earlier.at(-1) ?? latest).number)}
          empty="Nothing was refused, dropped or missed since the node started."
          columns={[
            {
              name: 'When',
              onPhone: 'end',
              cell: ({ latest: { time } }) => (
                <time dateTime={time} title={`${dateText(Date.parse(time))} UTC`}>
                  {sinceText(Date.parse(time), now)}
                </time>
              ),
            },
            { name: 'Part', cell: ({ latest }) => latest.module },
            { name: 'Code', onPhone: 'start', cell: ({ latest }) => <code>{latest.code}</code> },
            { name: 'What', isText: true, onPhone: 'below-all', cell: (run) => <What run={run} now={now} /> },
          ]}
        />
      )}
    </>
  );
}

function What({ run: { latest, earlier }, now }: { run: Run; now: number }) {
  const since = ({ time }: Diagnostic): string => sinceText(Date.parse(time), now);
  const first = earlier.at(-1);
  return (
    <>
      {sentenceOf(latest)}
      {first !== undefined && (
        <More isLong summary={`and ${countText(earlier.length)} more like it, the first ${since(first)}`}>
          {earlier.map((diagnostic) => (
            <span key={diagnostic.number}>
              {since(diagnostic)}: {sentenceOf(diagnostic)}
            </span>
          ))}
        </More>
      )}
    </>
  );
}

function sentenceOf({ message, fields }: Diagnostic): string {
  const facts = Object.entries(fields).map(([name, value]) => `${name} ${value}`);
  const sentence = `${message.charAt(0).toUpperCase()}${message.slice(1)}`;
  return facts.length === 0 ? sentence : `${sentence}: ${facts.join(', ')}`;
}

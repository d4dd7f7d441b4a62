/** The view of diagnostics. The node sends its diagnostics only to browsers on its own machine. */

import type { Diagnostic } from '../answers.ts';
import { runsOf, type Run } from '../diagnostics.ts';
import { countText, dateText, sinceText } from '../format.ts';
import { useLive, useNow } from './hooks.ts';
import { More, Table } from './components.tsx';

export function Diagnostics() {
  const { diagnostics } = useLive();
  const now = useNow();
  return (
    <>
      <h1>Diagnostics</h1>
      {diagnostics === undefined ? (
        <p class="none">The node sends its diagnostics only to browsers on its own machine.</p>
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

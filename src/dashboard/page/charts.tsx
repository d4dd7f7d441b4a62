/** The view `charts`: charts of the last hour or the last day of the node. */

import type { ComponentChildren } from 'preact';
import type { History, HistoryPoint } from '../answers.ts';
import { countOf, countText } from '../format.ts';
import { hashOf, type HashRoute } from '../hash-route.ts';
import { Chart, EmptyChart } from './chart.tsx';
import { useAnswer, useLive } from './hooks.ts';
import { Answered } from './components.tsx';

const SPANS = [
  ['hour', 'Last hour'],
  ['day', 'Last day'],
] as const;

export function Charts({ filters }: HashRoute) {
  const { status } = useLive();
  const span = filters['span'] === 'day' ? 'day' : 'hour';
  const asked = useAnswer<History>(`node/history?span=${span}`, status?.height);
  return (
    <>
      <h1>Charts</h1>
      <nav class="choices" aria-label="Time">
        {SPANS.map(([name, title]) => (
          <a
            key={name}
            href={hashOf('charts', undefined, name === 'hour' ? {} : { span: name })}
            {...(name === span ? { 'aria-current': 'true' } : {})}
          >
            {title}
          </a>
        ))}
      </nav>
      <Answered asked={asked}>
        {({ points, intervalS }) =>
          points.length < 2 ? (
            <p class="none">The node collects these data since its start. There are not enough data for a chart yet.</p>
          ) : (
            <AllCharts points={points} intervalS={intervalS} />
          )
        }
      </Answered>
    </>
  );
}

function AllCharts({ points, intervalS }: { points: readonly HistoryPoint[]; intervalS: number }) {
  const sum = (numberIn: (point: HistoryPoint) => number): number =>
    points.reduce((total, point) => total + numberIn(point), 0);
  const most = (numberIn: (point: HistoryPoint) => number): string => countText(Math.max(...points.map(numberIn)));
  const now = points.at(-1);
  const delayed = points.filter(({ delayMs }) => delayMs !== undefined);
  const delayOf = ({ delayMs = 0 }: HistoryPoint): number => delayMs;
  const transactions = sum((point) => point.transactions);
  const missed = sum(({ missedSlots }) => missedSlots);
  const reorgs = sum((point) => point.reorgs);
  return (
    <div class="charts">
      <Titled title="Block delay, ms">
        <TimeChart
          points={delayed}
          numberIn={delayOf}
          kind="steps"
          intervalS={intervalS}
          summary={
            delayed.length === 0
              ? 'No new blocks'
              : `The slowest interval averages ${most(delayOf)} ms after the start of a slot`
          }
        />
      </Titled>
      <Titled title="Transactions">
        <TimeChart
          points={points}
          numberIn={(point) => point.transactions}
          kind="time-bars"
          summary={`${countOf(transactions, 'transaction')} in ${countOf(
            sum(({ blocks }) => blocks),
            'block',
          )}`}
        />
      </Titled>
      <Titled title="Missed slots">
        <TimeChart
          points={points}
          numberIn={({ missedSlots }) => missedSlots}
          kind="time-bars"
          summary={missed === 0 ? 'No slot was missed' : `${countOf(missed, 'slot')} of the network missed`}
        />
      </Titled>
      <Titled title="Reorgs">
        <TimeChart
          points={points}
          numberIn={(point) => point.reorgs}
          kind="time-bars"
          summary={reorgs === 0 ? 'No block was reverted' : `Blocks were reverted ${countOf(reorgs, 'time')}`}
        />
      </Titled>
      <Titled title="Pool">
        <TimeChart
          points={points}
          numberIn={({ pool }) => pool}
          kind="steps"
          intervalS={intervalS}
          summary={`${countOf(now?.pool ?? 0, 'transaction')} now, at most ${most(({ pool }) => pool)}`}
        />
      </Titled>
      <Titled title="Peers">
        <TimeChart
          points={points}
          numberIn={({ peers }) => peers}
          kind="steps"
          intervalS={intervalS}
          summary={`${countText(now?.peers ?? 0)} connected now, at most ${most(({ peers }) => peers)}`}
        />
      </Titled>
    </div>
  );
}

function Titled({ title, children }: { title: string; children: ComponentChildren }) {
  const id = `chart-${title.split(/[ ,]/)[0]?.toLowerCase()}`;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

function TimeChart({
  points,
  numberIn,
  kind,
  intervalS = 0,
  summary,
}: {
  points: readonly HistoryPoint[];
  numberIn: (point: HistoryPoint) => number;
  kind: 'time-bars' | 'steps';
  /** Seconds that each point of a step line covers. */
  intervalS?: number;
  summary: string;
}) {
  const xs = points.map(({ time }) => Date.parse(time) / 1000);
  const ys = points.map(numberIn);
  const last = xs.at(-1);
  if (ys.every((y) => y === 0)) return <EmptyChart summary={summary} />;
  return (
    <Chart
      xs={xs}
      ys={ys}
      kind={kind}
      isFromZero
      summary={summary}
      {...(last === undefined ? {} : { endX: last + intervalS })}
    />
  );
}

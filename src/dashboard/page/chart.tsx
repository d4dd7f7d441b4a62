/** Charts, drawn by uPlot in the colours of the page. */

import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { Block } from '../answers.ts';
import { countOf, countText, dateText } from '../format.ts';

const BLOCKS_SHOWN = 101;
const HEIGHT_PX = 170;
const AXIS_PX = 32;
const WIDE_AXIS_PX = 72;
const COUNT_AXIS_PX = 52;
/** Half the width, in CSS pixels, of the longest label below a time axis. The longest label is a date. */
const HALF_TIME_PX = 34;
/** Allowed distances between the grid lines of a y axis that has grid lines at whole numbers only. */
const COUNTS = [0, 1, 2, 3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));

interface ChartProps {
  readonly xs: readonly number[];
  readonly ys: readonly number[];
  /** Describes the content of the chart for screen readers. */
  readonly summary: string;
  /**
   * `bars` and `time-bars` draw bars, and `steps` draws a step line. The values of the x axis are heights for `bars`,
   * and Unix times in seconds for `time-bars` and `steps`.
   */
  readonly kind: 'bars' | 'time-bars' | 'steps';
  /**
   * True for a chart of counts. If true, the y axis of `steps` starts at 0, and the y axes of `steps` and `time-bars`
   * have grid lines only at whole numbers. The y axes of `bars` and `time-bars` start at 0 in any case.
   */
  readonly isFromZero?: boolean;
  /** End of the last step of a step line. Without `endX`, the last step has no width. */
  readonly endX?: number;
}

export function Chart({ xs, ys, summary, kind, isFromZero = false, endX }: ChartProps) {
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  useEffect(() => {
    const element = container.current;
    if (element === null) return undefined;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsFor(element, kind, isFromZero), dataOf(xs, ys, endX), element);
    };
    draw();
    const resized = new ResizeObserver(() => {
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT_PX });
    });
    resized.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    return () => {
      resized.disconnect();
      scheme.removeEventListener('change', draw);
      plot.current?.destroy();
    };
  }, [kind, isFromZero]);
  useEffect(() => plot.current?.setData(dataOf(xs, ys, endX)));
  return (
    <figure class="chart">
      <div ref={container} role="img" aria-label={summary} />
      <figcaption class="quiet">{summary}</figcaption>
    </figure>
  );
}

function dataOf(xs: readonly number[], ys: readonly number[], endX: number | undefined): uPlot.AlignedData {
  const [lastX, lastY] = [xs.at(-1), ys.at(-1)];
  if (endX === undefined || lastX === undefined || lastY === undefined || endX <= lastX) return [[...xs], [...ys]];
  return [
    [...xs, endX],
    [...ys, lastY],
  ];
}

/**
 * Replaces a chart that has no values above 0 by its summary. An empty chart would take as much space as a full chart.
 */
export function EmptyChart({ summary }: { summary: string }) {
  return <p class="quiet chart">{summary}</p>;
}

/** Shows the number of transactions in each of the latest blocks. */
export function BlockChart({ blocks }: { blocks: readonly Block[] }) {
  const shown = blocks
    .slice(0, BLOCKS_SHOWN)
    .filter(({ height }) => height > 1)
    .reverse();
  const heights = shown.map(({ height }) => height);
  const counts = shown.map(({ numberOfTransactions }) => numberOfTransactions);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const [first] = heights;
  if (first === undefined) return <EmptyChart summary="No blocks yet" />;
  const range = `blocks ${countText(first)} to ${countText(heights.at(-1) ?? 0)}`;
  if (total === 0) return <EmptyChart summary={`No transactions in ${range}`} />;
  const summary = `${countOf(total, 'transaction')} in ${range}, at most ${countText(Math.max(...counts))} in one`;
  return <Chart xs={heights} ys={counts} kind="bars" summary={summary} />;
}

function optionsFor(element: HTMLElement, kind: ChartProps['kind'], isFromZero: boolean): uPlot.Options {
  const colour = (name: string): string => getComputedStyle(element).getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: colour('--quiet'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui, sans-serif',
  };
  const whole = (_plot: uPlot, values: number[]): string[] =>
    values.map((value) => (Number.isInteger(value) ? countText(value) : ''));
  const common = {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { show: false },
  };
  const bars: uPlot.Series = {
    fill: colour('--accent'),
    stroke: colour('--accent'),
    width: 0,
    paths: uPlot.paths.bars?.({ size: [0.8, 40] }) ?? (() => null),
    points: { show: false },
  };
  if (kind !== 'bars') {
    const isOfBars = kind === 'time-bars';
    return {
      ...common,
      // The last time label is centred below its grid line. Half of the label needs space to the right of the chart.
      padding: [null, HALF_TIME_PX, null, null],
      scales: isOfBars || isFromZero ? { y: { range: rangeFromZero } } : {},
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
      axes: [
        { ...axis, values: moments, incrs: [...STEPS_S], grid: { show: false }, size: 24, space: 90 },
        {
          ...axis,
          values: (_plot, values) => values.map(grouped),
          ...(isFromZero ? { incrs: COUNTS, size: COUNT_AXIS_PX } : { size: WIDE_AXIS_PX }),
        },
      ],
      series: [
        {},
        isOfBars
          ? bars
          : {
              stroke: colour('--accent'),
              width: 2,
              paths: uPlot.paths.stepped?.({ align: 1 }) ?? (() => null),
              points: { show: false },
            },
      ],
    };
  }
  return {
    ...common,
    scales: {
      x: { time: false, range: (_plot, min, max) => [min - 0.5, max + 0.5] },
      y: { range: rangeFromZero },
    },
    axes: [
      { ...axis, values: whole, grid: { show: false }, size: 24 },
      { ...axis, values: whole, size: AXIS_PX },
    ],
    series: [{}, bars],
  };
}

/** Returns the range of an axis: from 0 to 5 % above the highest value, but at least from 0 to 5. */
function rangeFromZero(_plot: uPlot, _min: number, max: number): [number, number] {
  return [0, Math.max(5, max * 1.05)];
}

const DAY_S = 86_400;
/**
 * Allowed distances between the labels of a time axis, in seconds. The shortest distance is 1 s, because the labels
 * show whole seconds.
 */
const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200].concat(
  [1, 2, 7, 14, 30, 60, 90, 180, 365].map((days) => days * DAY_S),
);

/** Formats the labels of a time axis: times of day, or dates if the labels span more than one day. */
function moments(_plot: uPlot, values: number[]): string[] {
  const spanS = (values.at(-1) ?? 0) - (values[0] ?? 0);
  return values.map((seconds) => {
    const text = dateText(seconds * 1000);
    return spanS > DAY_S ? text.slice(0, 10) : text.slice(11, spanS < 300 ? 19 : 16);
  });
}

/** Formats a number with a space between thousands. */
function grouped(value: number): string {
  const [whole = '', rest] = String(Math.round(value * 1e6) / 1e6).split('.');
  return `${whole.replace(/\B(?=(\d{3})+$)/g, '\u202f')}${rest === undefined ? '' : `.${rest}`}`;
}

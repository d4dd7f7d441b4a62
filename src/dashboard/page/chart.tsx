/** Transactions per block as columns, drawn by uPlot in the colours of the page. */

import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { Block } from '../answers.ts';

const BLOCKS_SHOWN = 101;
const HEIGHT_PX = 170;

export function BlockChart({ blocks }: { blocks: readonly Block[] }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const shown = blocks
    .slice(0, BLOCKS_SHOWN)
    .filter(({ height }) => height > 1)
    .reverse();
  const heights = shown.map(({ height }) => height);
  const counts = shown.map(({ numberOfTransactions }) => numberOfTransactions);
  const total = counts.reduce((sum, count) => sum + count, 0);

  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsFor(element), [[], []], element);
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
  }, []);
  useEffect(() => plot.current?.setData([heights, counts]));

  const first = heights[0];
  const summary =
    first === undefined
      ? 'No blocks yet'
      : `${total} transactions in blocks ${first} to ${heights.at(-1)}, at most ${Math.max(...counts)} in one`;
  return (
    <figure class="chart">
      <div ref={place} role="img" aria-label={summary} />
      <figcaption class="quiet">{summary}</figcaption>
    </figure>
  );
}

function optionsFor(element: HTMLElement): uPlot.Options {
  const colour = (name: string): string => getComputedStyle(element).getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: colour('--quiet'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui, sans-serif',
  };
  const whole = (_plot: uPlot, values: number[]): string[] =>
    values.map((value) => (Number.isInteger(value) ? String(value) : ''));
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: (_plot, min, max) => [min - 0.5, max + 0.5] },
      y: { range: (_plot, _min, max) => [0, Math.max(5, max)] },
    },
    axes: [
      { ...axis, values: whole, grid: { show: false }, size: 24 },
      { ...axis, values: whole, size: 32 },
    ],
    series: [
      {},
      {
        fill: colour('--accent'),
        stroke: colour('--accent'),
        width: 0,
        paths: uPlot.paths.bars?.({ size: [0.8, 40] }) ?? (() => null),
        points: { show: false },
      },
    ],
  };
}

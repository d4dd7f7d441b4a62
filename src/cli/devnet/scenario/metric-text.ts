/** Reads one metric from the Prometheus text of a node. */

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/**
 * Adds up those samples of the metric `name` that have all `labels` with the given values, and returns the sum. The sum
 * includes samples that have further labels besides `labels`. The result is undefined if no sample of this metric has
 * all `labels` with the given values.
 */
export function metricIn(text: string, name: string, labels: ReadonlyMap<string, string>): number | undefined {
  let sum: number | undefined;
  for (const line of text.split('\n')) {
    const sample = SAMPLE.exec(line);
    if (sample?.[1] !== name) continue;
    const own = new Map([...(sample[2] ?? '').matchAll(LABEL)].map(([, label = '', value = '']) => [label, value]));
    if ([...labels].every(([label, value]) => own.get(label) === value)) sum = (sum ?? 0) + Number(sample[3]);
  }
  return sum;
}

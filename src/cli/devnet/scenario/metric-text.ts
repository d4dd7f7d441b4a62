/** Reads one metric from the text that a node serves for Prometheus. */

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** The sum of the samples that have the labels, and perhaps others; undefined for none. */
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

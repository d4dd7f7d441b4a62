/** Checks metrics in the text format of Prometheus: the syntax, and some naming rules of `promtool check metrics`. */

export interface Exposition {
  /** Metric types by metric name. */
  readonly families: ReadonlyMap<string, string>;
  /** Sample values. The key is the metric name with its labels, exactly as in the text. */
  readonly samples: ReadonlyMap<string, number>;
}

const SAMPLE =
  /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? ([Nn]a[Nn]|[+-]?Inf|[-+.\deE]+)$/;

export function readExposition(text: string): Exposition {
  const families = new Map<string, string>();
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    const type = /^# TYPE (\S+) (\S+)$/.exec(line);
    if (type !== null) families.set(type[1] ?? '', type[2] ?? '');
    const sample = SAMPLE.exec(line);
    if (sample !== null) samples.set(`${sample[1]}${sample[2] ?? ''}`, Number(sample[3]));
  }
  return { families, samples };
}

/** Returns one sentence for each fault of the text. */
export function faultsOfExposition(text: string): readonly string[] {
  const faults: string[] = [];
  const { families } = readExposition(text);
  const seen = new Set<string>();
  if (!text.endsWith('\n')) faults.push('the last line is not ended');
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# ')) continue;
    const sample = SAMPLE.exec(line);
    if (
      sample === null ||
      (sample[3]?.toLowerCase() !== 'nan' && Number.isNaN(Number(sample[3]?.replace('Inf', 'Infinity'))))
    ) {
      faults.push(`no sample: ${line}`);
      continue;
    }
    const series = `${sample[1]}${sample[2] ?? ''}`;
    if (seen.has(series)) faults.push(`reported twice: ${series}`);
    seen.add(series);
    const family = familyOf(sample[1] ?? '', families);
    if (family === undefined) faults.push(`without a type: ${line}`);
  }
  for (const [name, kind] of families) {
    if (!text.includes(`# HELP ${name} `)) faults.push(`${name}: no help`);
    if (kind === 'counter' && !name.endsWith('_total')) faults.push(`${name}: a counter ends in _total`);
    if (kind !== 'counter' && name.endsWith('_total')) faults.push(`${name}: only a counter ends in _total`);
    if (/_(ms|milliseconds|minutes|kb|kilobytes|percent)(_|$)/.test(name)) faults.push(`${name}: no base unit`);
  }
  return faults;
}

function familyOf(name: string, families: ReadonlyMap<string, string>): string | undefined {
  if (families.has(name)) return name;
  const base = name.replace(/_(bucket|sum|count)$/, '');
  return ['histogram', 'summary'].includes(families.get(base) ?? '') ? base : undefined;
}

/** Figures of a running node, and their Prometheus text (exposition format 0.0.4). */

export type MetricKind = 'counter' | 'gauge';
export type MetricLabels = Readonly<Record<string, string>>;

export interface MetricsOptions {
  /** Put before every name; default `bloomery_`. */
  readonly prefix?: string;
  /** Series of one name: labels may carry what peers say, so their variety has an end. Default 250. */
  readonly seriesMax?: number;
}

/** Names are checked letter by letter where they are born (code), so a fixed number of them is plenty. */
const NAMES_MAX = 500;
const LABEL_VALUE_CHARS_MAX = 120;
const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL_NAME = /^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/;
const REFUSED = 'metrics_refused_total';

interface Family {
  readonly kind: MetricKind;
  readonly series: Map<string, number>;
}

/**
 * Counters and gauges in memory. Recording never throws: a name used as both kinds, a malformed name, a figure that is no
 * number or one series too many is refused and counted in `<prefix>metrics_refused_total`.
 */
export class MetricsRegistry {
  readonly #prefix: string;
  readonly #seriesMax: number;
  readonly #families = new Map<string, Family>();
  readonly #help = new Map<string, string>();
  #refused = 0;

  constructor(options: MetricsOptions = {}) {
    this.#prefix = options.prefix ?? 'bloomery_';
    this.#seriesMax = options.seriesMax ?? 250;
  }

  /** Gives a metric the sentence that its `# HELP` line shows. */
  describe(name: string, help: string): void {
    this.#help.set(name, help);
  }

  /** Adds to a counter. `by` is at least 0: a counter never falls. */
  count(name: string, by = 1, labels: MetricLabels = {}): void {
    const series = by >= 0 ? this.#seriesOf(name, 'counter', by, labels) : undefined;
    if (series === undefined) this.#refused += 1;
    else series.values.set(series.key, (series.values.get(series.key) ?? 0) + by);
  }

  gauge(name: string, value: number, labels: MetricLabels = {}): void {
    const series = this.#seriesOf(name, 'gauge', value, labels);
    if (series === undefined) this.#refused += 1;
    else series.values.set(series.key, value);
  }

  /** The present figure; undefined for a series that was never recorded. Names are given without the prefix. */
  value(name: string, labels: MetricLabels = {}): number | undefined {
    if (name === REFUSED) return this.#refused;
    const key = keyOf(labels);
    return key === undefined ? undefined : this.#families.get(name)?.series.get(key);
  }

  /** Every metric, names and series in ascending order. */
  text(): string {
    const lines: string[] = [];
    const refused: Family = { kind: 'counter', series: new Map([['', this.#refused]]) };
    const families = [...this.#families, [REFUSED, refused] as const].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [name, { kind, series }] of families) {
      const fullName = this.#prefix + name;
      const help = name === REFUSED ? 'Recordings that were malformed or one series too many.' : this.#help.get(name);
      if (help !== undefined) lines.push(`# HELP ${fullName} ${escapeText(help)}`);
      lines.push(`# TYPE ${fullName} ${kind}`);
      for (const key of [...series.keys()].sort()) lines.push(`${fullName}${key} ${numberText(series.get(key) ?? 0)}`);
    }
    return `${lines.join('\n')}\n`;
  }

  #seriesOf(
    name: string,
    kind: MetricKind,
    value: number,
    labels: MetricLabels,
  ): { readonly values: Map<string, number>; readonly key: string } | undefined {
    const key = keyOf(labels);
    if (key === undefined || Number.isNaN(value) || name === REFUSED) return undefined;
    let family = this.#families.get(name);
    if (family === undefined) {
      if (!METRIC_NAME.test(this.#prefix + name) || this.#families.size >= NAMES_MAX) return undefined;
      family = { kind, series: new Map() };
      this.#families.set(name, family);
    }
    if (family.kind !== kind) return undefined;
    if (!family.series.has(key) && family.series.size >= this.#seriesMax) return undefined;
    return { values: family.series, key };
  }
}

/** `{a="1",b="2"}` in the order of the label names, which is also how the text shows it; empty for no labels. */
function keyOf(labels: MetricLabels): string | undefined {
  const names = Object.keys(labels);
  if (names.length === 0) return '';
  if (!names.every((name) => LABEL_NAME.test(name))) return undefined;
  const pairs = names.sort().map((name) => `${name}="${escapeLabel(labels[name] ?? '')}"`);
  return `{${pairs.join(',')}}`;
}

function escapeLabel(value: string): string {
  return escapeText(value.slice(0, LABEL_VALUE_CHARS_MAX)).replaceAll('"', '\\"');
}

function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

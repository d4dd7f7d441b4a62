/** Records the metrics of a running node, and formats them as Prometheus text (exposition format 0.0.4). */

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { DECLARATIONS, type MetricDeclaration } from './declarations.ts';

export type MetricLabels = Readonly<Record<string, string>>;

export interface MetricsOptions {
  /** The metrics that the registry accepts. Default: `DECLARATIONS`, which has all metrics that a node records. */
  readonly declarations?: Readonly<Record<string, MetricDeclaration>>;
  /**
   * Maximum number of series for each metric name. Peers choose the values of some labels, so the number of different
   * values must be bounded. Default 250.
   */
  readonly seriesMax?: number;
  /** True to add metrics of the process: memory, processor time and event loop. Default false. */
  readonly isOfProcess?: boolean;
}

const PREFIX = 'bloomery_';
const LABEL_VALUE_CHARS_MAX = 120;
const REFUSED = 'metrics_refused_total';

/**
 * Gauges of prom-client whose names end in `_total`. In Prometheus, only the names of counters should have this ending.
 * The registry omits these gauges, because Prometheus tools report the names of these gauges as errors.
 */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

interface Family {
  readonly declaration: MetricDeclaration;
  readonly metric: Counter | Gauge | Histogram;
  /** Label values of each series that was recorded after the last call of `forget`. */
  readonly series: Set<string>;
}

/**
 * Keeps the values of the metrics in memory. The methods that record a value (`count`, `gauge` and `observe`) never
 * throw. The registry refuses a recording if the metric is not declared, or if the labels or the kind differ from the
 * declaration. The registry refuses the value NaN for every metric, infinite values for counters and histograms, and
 * negative values for counters. The registry also refuses a new series when the metric already has `seriesMax` series.
 * The counter `bloomery_metrics_refused_total` counts the refused recordings.
 */
export class MetricsRegistry {
  readonly #registry = new Registry();
  readonly #seriesMax: number;
  readonly #families = new Map<string, Family>();
  readonly #refused: Counter;
  readonly #beforeReading = new Set<() => void>();

  constructor(options: MetricsOptions = {}) {
    this.#seriesMax = options.seriesMax ?? 250;
    const registers = [this.#registry];
    for (const [name, declaration] of Object.entries(options.declarations ?? DECLARATIONS)) {
      const { kind, help, labels = [], buckets = [] } = declaration;
      const common = { name: PREFIX + name, help, labelNames: [...labels], registers };
      const metric =
        kind === 'counter'
          ? new Counter(common)
          : kind === 'gauge'
            ? new Gauge(common)
            : new Histogram({ ...common, buckets: [...buckets] });
      // prom-client starts a gauge without labels at 0. The value of a gauge that was never set is unknown, so the text
      // of the metrics does not contain the gauge before its first value.
      if (kind === 'gauge') this.#registry.removeSingleMetric(common.name);
      this.#families.set(name, { declaration, metric, series: new Set() });
    }
    this.#refused = new Counter({
      name: PREFIX + REFUSED,
      help: 'Recordings that were malformed or too many.',
      registers,
    });
    if (options.isOfProcess === true) {
      collectDefaultMetrics({ register: this.#registry });
      for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
    }
  }

  /**
   * Adds `by` to a counter. If `by` is negative, the counter stays unchanged, because the value of a counter must never
   * fall. The call then counts as a refused recording.
   */
  count(name: string, by = 1, labels: MetricLabels = {}): void {
    const metric = by >= 0 ? this.#metricOf(name, 'counter', by, labels) : undefined;
    if (metric instanceof Counter) metric.inc(bounded(labels), by);
    else this.#refused.inc();
  }

  gauge(name: string, value: number, labels: MetricLabels = {}): void {
    const metric = this.#metricOf(name, 'gauge', value, labels);
    if (metric instanceof Gauge) metric.set(bounded(labels), value);
    else this.#refused.inc();
  }

  /** Adds an observation to a histogram. */
  observe(name: string, value: number, labels: MetricLabels = {}): void {
    const metric = this.#metricOf(name, 'histogram', value, labels);
    if (metric instanceof Histogram) metric.observe(bounded(labels), value);
    else this.#refused.inc();
  }

  /**
   * Registers the function `set`, which records the current values of some metrics. Each call of the method `text`
   * first calls `set`, and then reads the metrics. Use `beforeReading` for values that are measured only when the
   * metrics are read, such as sizes.
   *
   * @returns a function that removes `set`; until the caller calls this returned function, all objects that `set` uses
   *   stay in memory
   */
  beforeReading(set: () => void): () => void {
    this.#beforeReading.add(set);
    return () => {
      this.#beforeReading.delete(set);
    };
  }

  /**
   * Removes all series of a gauge. Use `forget` for a gauge whose label values change, and for a gauge whose value has
   * become unknown.
   */
  forget(name: string): void {
    const family = this.#families.get(name);
    if (family === undefined || family.series.size === 0) return;
    family.metric.reset();
    family.series.clear();
    this.#registry.removeSingleMetric(PREFIX + name);
  }

  /** Returns all metrics in the text format of Prometheus, except gauges without a value. */
  text(): Promise<string> {
    for (const set of this.#beforeReading) set();
    return this.#registry.metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  #metricOf(
    name: string,
    kind: MetricDeclaration['kind'],
    value: number,
    labels: MetricLabels,
  ): Family['metric'] | undefined {
    const family = this.#families.get(name);
    if (family === undefined || family.declaration.kind !== kind) return undefined;
    if (kind === 'gauge' ? Number.isNaN(value) : !Number.isFinite(value)) return undefined;
    const { labels: declared = [] } = family.declaration;
    const given = Object.keys(labels);
    if (given.length !== declared.length || !declared.every((label) => given.includes(label))) return undefined;
    const key = JSON.stringify(declared.map((label) => labels[label]));
    if (!family.series.has(key)) {
      if (family.series.size >= this.#seriesMax) return undefined;
      if (family.series.size === 0 && kind === 'gauge') this.#registry.registerMetric(family.metric);
      family.series.add(key);
    }
    return family.metric;
  }
}

function bounded(labels: MetricLabels): Record<string, string> {
  const entries = Object.entries(labels).map(([name, value]) => [name, value.slice(0, LABEL_VALUE_CHARS_MAX)] as const);
  return Object.fromEntries(entries);
}

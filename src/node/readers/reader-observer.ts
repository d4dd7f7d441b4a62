/**
 * Collects log lines and metrics of a reader, a process that answers HTTP beside the node. The reader sends its log
 * lines and metrics to the node at intervals. The node logs the lines, and adds the metrics of the reader to the
 * metrics of the node.
 */

import type { LogFields, LogLevel, Observer } from '../../ports/observer.ts';
import {
  LOG_TEXT_CHARS_MAX,
  REPORT_LINES_MAX,
  REPORT_VALUES_MAX,
  type LogLine,
  type MetricValue,
  type ReaderReport,
} from './messages.ts';

/**
 * Maximum number of gauges that the node keeps for each reader. A reader has fewer than ten gauges. Without a maximum,
 * a reader could fill the memory of the node with labels that it makes up.
 */
const GAUGES_MAX = 250;

type Labels = Readonly<Record<string, string>> | undefined;

interface Values {
  readonly metric: string;
  readonly labels: Labels;
  readonly values: number[];
}

export class ReaderObserver implements Observer {
  #logs: LogLine[] = [];
  readonly #counts = new Map<string, MetricValue>();
  readonly #gauges = new Map<string, MetricValue>();
  readonly #observations = new Map<string, Values>();
  #values = 0;

  module(): Observer {
    return this;
  }

  log(level: LogLevel, code: string, message: string, fields?: LogFields): void {
    if (this.#logs.length >= REPORT_LINES_MAX) return;
    this.#logs.push({ level, code, message, fields: fields && plainFields(fields) });
  }

  count(metric: string, by = 1, labels?: Labels): void {
    const name = nameOf(metric, labels);
    this.#counts.set(name, { metric, labels, value: (this.#counts.get(name)?.value ?? 0) + by });
  }

  gauge(metric: string, value: number, labels?: Labels): void {
    this.#gauges.set(nameOf(metric, labels), { metric, labels, value });
  }

  observe(metric: string, value: number, labels?: Labels): void {
    if (this.#values >= REPORT_VALUES_MAX) return;
    this.#values += 1;
    const name = nameOf(metric, labels);
    const known = this.#observations.get(name);
    if (known === undefined) this.#observations.set(name, { metric, labels, values: [value] });
    else known.values.push(value);
  }

  /** Returns the log lines and metrics since the last call; undefined if there are no lines and no metrics. */
  take(): ReaderReport | undefined {
    if (this.#logs.length + this.#counts.size + this.#gauges.size + this.#observations.size === 0) return undefined;
    const report: ReaderReport = {
      logs: this.#logs,
      counts: [...this.#counts.values()],
      gauges: [...this.#gauges.values()],
      observations: [...this.#observations.values()],
    };
    this.#logs = [];
    this.#counts.clear();
    this.#gauges.clear();
    this.#observations.clear();
    this.#values = 0;
    return report;
  }
}

/**
 * Passes the log lines and metrics of all readers to the observer of the node. For a gauge, the observer gets the sum
 * of the values of all readers.
 */
export class ReaderGauges {
  readonly #observer: Observer;
  readonly #byReader = new Map<number, Map<string, MetricValue>>();

  constructor(observer: Observer) {
    this.#observer = observer;
  }

  add(reader: number, { logs, counts, gauges, observations }: ReaderReport): void {
    for (const { level, code, message, fields } of logs) {
      this.#observer.log(level, code, message, { ...fields, reader });
    }
    for (const { metric, value, labels } of counts) this.#observer.count(metric, value, labels);
    for (const { metric, values, labels } of observations) {
      for (const value of values) this.#observer.observe(metric, value, labels);
    }
    const known = this.#byReader.get(reader) ?? new Map<string, MetricValue>();
    this.#byReader.set(reader, known);
    for (const gauge of gauges) {
      const name = nameOf(gauge.metric, gauge.labels);
      if (known.has(name) || known.size < GAUGES_MAX) known.set(name, gauge);
    }
    this.#sum(gauges);
  }

  /** Called when a reader has ended. Subtracts the values of this reader from the sums of the gauges. */
  forget(reader: number): void {
    const known = this.#byReader.get(reader);
    this.#byReader.delete(reader);
    if (known !== undefined) this.#sum([...known.values()]);
  }

  #sum(values: readonly MetricValue[]): void {
    for (const { metric, labels } of values) {
      const name = nameOf(metric, labels);
      const sum = [...this.#byReader.values()].reduce((total, known) => total + (known.get(name)?.value ?? 0), 0);
      this.#observer.gauge(metric, sum, labels);
    }
  }
}

function nameOf(metric: string, labels: Labels): string {
  return labels === undefined ? metric : `${metric} ${JSON.stringify(labels)}`;
}

/** Copies the fields as JSON values, which can be sent to another process. A bigint becomes text. Cuts long texts. */
function plainFields(fields: LogFields): LogFields {
  return JSON.parse(JSON.stringify(fields, (_, value: unknown) => plainValue(value))) as LogFields;
}

function plainValue(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, LOG_TEXT_CHARS_MAX);
  return typeof value === 'bigint' ? value.toString() : value;
}

/**
 * The shape of a `ReaderReport`: the log lines and metric values that a reader sends to the node. A reader (reading
 * process) is a process that answers HTTP requests for the node.
 */

import type { LogLevel } from '../../ports/observer.ts';
import { DECLARATIONS, type MetricDeclaration } from '../../telemetry/declarations.ts';
import {
  LOG_TEXT_CHARS_MAX,
  REPORT_LINES_MAX,
  REPORT_VALUES_MAX,
  type LogLine,
  type MetricValue,
  type ReaderReport,
} from './messages.ts';
import { FINITE, isRecord, list, oneOf, optional, plainData, record, text, type Shape } from './shapes.ts';

const LEVELS: Readonly<Record<LogLevel, true>> = { trace: true, debug: true, info: true, warn: true, error: true };
/**
 * Maximum length of the code of a log line, such as `HTTP_REQUEST_FAILED`. Each code is a literal in the source of the
 * program, and has fewer than 40 characters.
 */
const CODE_CHARS_MAX = 100;
/** Maximum length of the message of a log line. Each message is a literal in the source, too. */
const MESSAGE_CHARS_MAX = 1_000;
/**
 * Maximum size of the fields of a log line. A reader (a process that answers HTTP requests for the node) logs at most
 * four long texts in one line: the method and the path of a request, and the message and the stack of the error.
 */
const FIELDS_SIZE_MAX = 10 * LOG_TEXT_CHARS_MAX;
/**
 * Maximum number of counters, and maximum number of gauges, in one report of a reader (a process that answers HTTP
 * requests for the node). A reader has one counter for each reason to refuse a connection or request, one further
 * counter, and fewer than ten gauges. Clients cannot choose the labels of counters and gauges.
 */
const SERIES_MAX = 1_000;
const LABEL_CHARS_MAX = 200;
/**
 * Names of the metrics that a reader (a process that answers HTTP requests for the node) is allowed to send. The node
 * itself records the metrics about its readers (`http_reader...`).
 */
const READER_METRIC = /^http_(?!reader)/;

const LINE = record<LogLine>({
  level: oneOf(Object.keys(LEVELS)),
  code: text(CODE_CHARS_MAX, /^[A-Z][A-Z0-9_]*$/),
  message: text(MESSAGE_CHARS_MAX),
  fields: optional((value) => (isRecord(value) ? plainData(FIELDS_SIZE_MAX)(value) : '')),
});

const COUNTER = recording('counter', 'value', (value) => (Number(value) < 0 ? '' : FINITE(value)));
const GAUGE = recording('gauge', 'value', FINITE);
const HISTOGRAM = recording('histogram', 'values', list(FINITE, REPORT_VALUES_MAX));

const REPORT_MEMBERS = record<ReaderReport>({
  logs: list(LINE, REPORT_LINES_MAX),
  counts: list(COUNTER, SERIES_MAX),
  gauges: list(GAUGE, SERIES_MAX),
  observations: list(HISTOGRAM, REPORT_VALUES_MAX),
});

export const REPORT: Shape = (value) => {
  const wrong = REPORT_MEMBERS(value);
  if (wrong !== undefined) return wrong;
  const { observations } = value as ReaderReport;
  const count = observations.reduce((sum, { values }) => sum + values.length, 0);
  return count <= REPORT_VALUES_MAX ? undefined : '.observations';
};

/** @param member name of the member with the recorded value */
function recording(kind: MetricDeclaration['kind'], member: string, shape: Shape): Shape {
  type Recording = Pick<MetricValue, 'metric' | 'labels'> & Readonly<Record<string, unknown>>;
  const shapes = new Map(
    Object.entries(DECLARATIONS)
      .filter(([name, declaration]) => READER_METRIC.test(name) && declaration.kind === kind)
      .map(([name, { labels = [] }]) => {
        const ofLabels = record(Object.fromEntries(labels.map((label) => [label, text(LABEL_CHARS_MAX)])));
        const known: Shape = labels.length === 0 ? optional(ofLabels) : ofLabels;
        return [name, record<Recording>({ metric: () => undefined, labels: known, [member]: shape })] as const;
      }),
  );
  return (value) => {
    if (!isRecord(value)) return '';
    const ofMetric = typeof value['metric'] === 'string' ? shapes.get(value['metric']) : undefined;
    return ofMetric === undefined ? '.metric' : ofMetric(value);
  };
}

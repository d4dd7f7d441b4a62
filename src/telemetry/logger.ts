/** The observer of a running node: log lines through pino, metrics into a registry. */

import { pino, type Logger } from 'pino';
import type { LogFields, LogLevel, Observer } from '../ports/observer.ts';
import { humanLine, type LogRecord } from './human-line.ts';
import { fileSink, streamSink, type LineStream, type LogSink, type Rotation } from './log-sink.ts';
import type { MetricsRegistry } from './metrics.ts';
import { printableFields } from './printable.ts';

export interface ObserverOptions {
  /** Lines below this level are not written; `silent` writes none. */
  readonly level: LogLevel | 'silent';
  /** `json`: one object a line; `human`: for eyes and terminals. Default `json`. */
  readonly format?: 'human' | 'json';
  /** Colours in the human form. Default off. */
  readonly colour?: boolean;
  /** Where lines go; the standard error output by default, because standard output may carry data. */
  readonly target?:
    | { readonly file: string; readonly rotation?: Rotation }
    | { readonly stream: LineStream }
    | { readonly sink: LogSink };
  /** Other levels for single modules; a module also covers the modules inside it (`p2p` covers `p2p/server`). */
  readonly levelsByModule?: Readonly<Record<string, LogLevel | 'silent'>>;
  /** Where metrics go; nowhere by default. */
  readonly metrics?: MetricsRegistry;
  /** Unix time in milliseconds; the process clock by default. */
  readonly nowMs?: () => number;
}

export interface ClosableObserver extends Observer {
  /** Ends the log. Lines told later go nowhere. */
  close(): void;
}

/**
 * Opens the log. Every line has `time` (ISO 8601, UTC), `level`, `module`, `code`, `message` and, under `data`, its fields
 * without secrets (`printableFields`). Telling never throws and is on its way to the disk when it returns.
 *
 * @throws ProtocolError `LOG_FILE_UNUSABLE` when the file cannot be opened
 */
export function createObserver(options: ObserverOptions): ClosableObserver {
  const sink = sinkOf(options.target);
  const nowMs = options.nowMs ?? Date.now;
  const root = pino(
    {
      level: options.level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date(nowMs()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: lineWriter(sink, options) },
  );
  const modules = new Map<string, Observer>();
  const { metrics } = options;

  function observerOf(path: string): Observer {
    const known = modules.get(path);
    if (known !== undefined) return known;
    const logger = path === '' ? root : root.child({ module: path }, { level: levelOf(path, options) });
    const observer: Observer = {
      module: (name) => observerOf(path === '' ? name : `${path}/${name}`),
      log: (level, code, message, fields) => tell(logger, level, code, message, fields),
      count: (metric, by, labels) => metrics?.count(metric, by, labels),
      gauge: (metric, value, labels) => metrics?.gauge(metric, value, labels),
      observe: (metric, value, labels) => metrics?.observe(metric, value, labels),
    };
    modules.set(path, observer);
    return observer;
  }

  return { ...observerOf(''), close: () => sink.close() };
}

function tell(logger: Logger, level: LogLevel, code: string, message: string, fields: LogFields | undefined): void {
  if (!logger.isLevelEnabled(level)) return;
  // Fields live under a key of their own, so that none can pass for the line's time, level or code.
  if (fields === undefined) logger[level]({ code }, message);
  else logger[level]({ code, data: printableFields(fields) }, message);
}

/** The level named for the module or for the nearest module around it. */
function levelOf(path: string, options: ObserverOptions): LogLevel | 'silent' {
  for (let module = path; module !== ''; module = module.slice(0, Math.max(0, module.lastIndexOf('/')))) {
    const level = options.levelsByModule?.[module];
    if (level !== undefined) return level;
  }
  return options.level;
}

function sinkOf(target: ObserverOptions['target']): LogSink {
  if (target === undefined) return streamSink(process.stderr);
  if ('sink' in target) return target.sink;
  return 'file' in target ? fileSink(target.file, target.rotation) : streamSink(target.stream);
}

/** Writes pino's JSON lines in the wanted form, and says how many lines were lost once a line gets through again. */
function lineWriter(sink: LogSink, options: ObserverOptions): (json: string) => void {
  const nowMs = options.nowMs ?? Date.now;
  const human = options.format === 'human';
  const formOf = (json: string): string =>
    human ? `${humanLine(JSON.parse(json) as LogRecord, { colour: options.colour === true })}\n` : json;
  let lostTold = sink.linesLost;
  return (json) => {
    const lostBefore = sink.linesLost;
    sink.write(formOf(json));
    if (sink.linesLost !== lostBefore || lostBefore === lostTold) return;
    const record: LogRecord = {
      time: new Date(nowMs()).toISOString(),
      level: 'warn',
      module: 'telemetry',
      code: 'LOG_LINES_LOST',
      message: 'log lines could not be written',
      data: { lines: lostBefore - lostTold },
    };
    lostTold = lostBefore;
    sink.write(formOf(`${JSON.stringify(record)}\n`));
  };
}

/**
 * Creates the observer of a running node. The observer writes log lines through pino and records metrics in a registry.
 */

import { pino, type Logger } from 'pino';
import type { LogFields, LogLevel, Observer } from '../ports/observer.ts';
import { humanLine, type LogRecord } from './human-line.ts';
import { fileSink, streamSink, type LineStream, type LogSink, type Rotation } from './log-sink.ts';
import type { MetricsRegistry } from './metrics.ts';
import { printableFields } from './printable.ts';

export interface ObserverOptions {
  /**
   * The observer does not write lines below this level. With `silent`, the observer writes no line. If `levelsByModule`
   * has a level for a module, that level applies to the lines of the module instead.
   */
  readonly level: LogLevel | 'silent';
  /**
   * Form of the lines. With `json`, each line is one JSON object. With `human`, each line is a text for people
   * (`human-line.ts`). Default `json`.
   */
  readonly format?: 'human' | 'json';
  /** True for colours in the form `human`; default false. */
  readonly colour?: boolean;
  /**
   * Destination of the lines. The default is the standard error output, because some commands write their results to
   * the standard output.
   */
  readonly target?:
    | { readonly file: string; readonly rotation?: Rotation }
    | { readonly stream: LineStream }
    | { readonly sink: LogSink };
  /**
   * Levels of single modules, used instead of `level`. The level of a module also applies to modules inside this module
   * that have no level of their own. For example, the level of `p2p` applies to `p2p/server`.
   */
  readonly levelsByModule?: Readonly<Record<string, LogLevel | 'silent'>>;
  /** Registry that records the metrics. Without a registry, metrics are not recorded. */
  readonly metrics?: MetricsRegistry;
  /** Returns the Unix time in milliseconds. Default: `Date.now`. */
  readonly nowMs?: () => number;
}

export interface ClosableObserver extends Observer {
  /** Closes the log. Later lines are dropped. */
  close(): void;
}

/**
 * Opens the log. In the form `json`, every line has the members `time` (ISO 8601, UTC), `level`, `code` and `message`.
 * A line that a module wrote also has the member `module`. If the caller of `log` passed fields, the line contains
 * these fields in the member `data`, without secrets (`printableFields`). The methods of the observer never throw. If
 * the target is a file, `log` passes the line to the operating system before `log` returns.
 *
 * @throws ProtocolError `LOG_FILE_UNUSABLE` when the folder cannot be created or the file cannot be opened
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
      log: (level, code, message, fields) => writeLine(logger, level, code, message, fields),
      count: (metric, by, labels) => metrics?.count(metric, by, labels),
      gauge: (metric, value, labels) => metrics?.gauge(metric, value, labels),
      observe: (metric, value, labels) => metrics?.observe(metric, value, labels),
    };
    modules.set(path, observer);
    return observer;
  }

  return { ...observerOf(''), close: () => sink.close() };
}

function writeLine(
  logger: Logger,
  level: LogLevel,
  code: string,
  message: string,
  fields: LogFields | undefined,
): void {
  if (!logger.isLevelEnabled(level)) return;
  // The fields are inside the member `data`, so that no field can replace the time, level or code of the line.
  if (fields === undefined) logger[level]({ code }, message);
  else logger[level]({ code, data: printableFields(fields) }, message);
}

/**
 * Returns the level that `options.levelsByModule` has for the module at `path`. If this module has no level there,
 * returns the level of the nearest module above `path` that has a level. If no module above `path` has a level either,
 * returns `options.level`.
 */
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

/**
 * Returns a function that writes pino's JSON lines in the format `options.format`. If the sink has lost lines, an
 * additional line reports their number. The function writes this line after the next line that the sink does not lose.
 */
function lineWriter(sink: LogSink, options: ObserverOptions): (json: string) => void {
  const nowMs = options.nowMs ?? Date.now;
  const human = options.format === 'human';
  const formOf = (json: string): string =>
    human ? `${humanLine(JSON.parse(json) as LogRecord, { colour: options.colour === true })}\n` : json;
  let lostReported = sink.linesLost;
  return (json) => {
    const lostBefore = sink.linesLost;
    sink.write(formOf(json));
    if (sink.linesLost !== lostBefore || lostBefore === lostReported) return;
    const record: LogRecord = {
      time: new Date(nowMs()).toISOString(),
      level: 'warn',
      module: 'telemetry',
      code: 'LOG_LINES_LOST',
      message: 'log lines could not be written',
      data: { lines: lostBefore - lostReported },
    };
    lostReported = lostBefore;
    sink.write(formOf(`${JSON.stringify(record)}\n`));
  };
}

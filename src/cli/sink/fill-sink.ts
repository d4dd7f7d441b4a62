/**
 * Common code of the `sink` commands: opens the source of the blocks (a data folder or a node), fills the sink, and
 * closes the source and the sink.
 */

import type { Network } from '../../config/network.ts';
import { openStoreSource } from '../../node/sink-source.ts';
import type { Sink } from '../../sinks/sink.ts';
import { runSink, type SinkProgress } from '../../sinks/run.ts';
import type { ChainSource } from '../../sinks/source.ts';
import { locationOfData, locationOfNetwork } from '../chain-location.ts';
import type { SinkFlags } from '../flags.ts';
import { printStderr, printJson, printLine } from '../output.ts';
import { usageError } from '../error-lines.ts';
import { stopRequest } from '../stop-request.ts';
import { openNodeSource } from './node-source.ts';

/**
 * Pause in milliseconds between two checks of the data folder for new blocks. The pause is short compared with the ten
 * seconds between two blocks of the public networks.
 */
const POLL_MS = 250;
/**
 * Default of the option `--depth` (only for generation 2). The sink treats a block as final when the block is at least
 * this number of blocks below the tip. The default is the number of blocks in two rounds of 101 delegates.
 */
const DEPTH = 202;
/**
 * Without `--json`, the shortest time in milliseconds between two progress lines. With `--json`, there is no such
 * limit.
 */
const LINE_MS = 5_000;

/**
 * @throws ProtocolError `USAGE` for `--node` without `--network`, and for `--depth` in generation 3; errors of
 *   `locationOfData`, `openStoreSource`, `locationOfNetwork`, `openNodeSource` and `runSink`
 */
export async function fillSink(sink: Sink, flags: SinkFlags): Promise<void> {
  const abort = new AbortController();
  const source = await sourceOf(flags, abort.signal);
  const stop = stopRequest(() => undefined);
  void stop.then(() => abort.abort());
  const printer = progressPrinter(flags);
  try {
    const { rangeBlocks, once } = flags;
    const onProgress = printer.print;
    await runSink({ source, sink, rangeBlocks, signal: abort.signal, follows: once !== true, onProgress });
  } catch (error) {
    // If the user stops the command while it waits for a node, `runSink` can throw the abort reason. A stop by the user
    // is not a failure of the command.
    if (!abort.signal.aborted || error !== abort.signal.reason) throw error;
  } finally {
    await sink.end();
    await source.close();
  }
  printer.end();
  if (abort.signal.aborted) process.exitCode = (await stop).exitCode;
}

async function sourceOf(flags: SinkFlags, signal: AbortSignal): Promise<ChainSource> {
  const { node, network, dataDir } = flags;
  if (node === undefined) {
    const given = { ...(network === undefined ? {} : { network }), ...(dataDir === undefined ? {} : { dataDir }) };
    const location = locationOfData(given);
    return openStoreSource(location, { depth: depthOf(flags, location.network), pollMs: POLL_MS });
  }
  if (network === undefined) throw usageError('--node needs --network: blocks are read by the rules of a network');
  const location = locationOfNetwork({ network });
  return openNodeSource(node, location.network, { depth: depthOf(flags, location.network), signal });
}

function depthOf({ depth }: SinkFlags, { name, params }: Network): number {
  if (depth !== undefined && params.generation !== 2)
    throw usageError(`--depth is for generation 2: the rules of ${name} define which blocks are final; remove --depth`);
  return depth ?? DEPTH;
}

/**
 * With `--json`, prints a line for each step that `runSink` reports, unless the line is equal to the previous line.
 *
 * Without `--json`, prints at most one line per `LINE_MS` to the standard error output. At the end of a run without
 * `--json`, prints the last line to the standard output. If a run without `--json` follows the chain, the last line of
 * a series of steps is printed even if no further step follows. This line is printed `LINE_MS` after the previous line.
 */
function progressPrinter({ json, once }: SinkFlags): { print(progress: SinkProgress): void; end(): void } {
  let last: string | undefined;
  let shownMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const show = (line: string): void => {
    clearTimeout(timer);
    timer = undefined;
    shownMs = performance.now();
    printStderr(line);
  };
  return {
    print(progress) {
      const line = json === true ? JSON.stringify(progress) : lineOf(progress);
      // If a step writes nothing, its line can be equal to the line of the step before. This function then prints
      // nothing.
      if (line === last) return;
      const before = last;
      last = line;
      if (json === true) return printJson(progress);
      const pauseMs = shownMs + LINE_MS - performance.now();
      if (pauseMs > 0) {
        if (once !== true) timer ??= setTimeout(() => show(last ?? line), pauseMs).unref();
        return;
      }
      // With `--once`, `line` can be the last line of the run, and `end` prints the last line. This function therefore
      // prints the previous line, so that no line is printed twice.
      const shown = once === true ? before : line;
      if (shown !== undefined) show(shown);
    },
    end() {
      clearTimeout(timer);
      if (json !== true && last !== undefined) printLine(last);
    },
  };
}

function lineOf({ phase, height, finalHeight, rows }: SinkProgress): string {
  return `${phase}: height ${height}, ranges up to ${finalHeight}, ${rows} rows written`;
}

/** The process of a sink that is killed: fills it as it is told. */

import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/node/system.ts';
import { openStoreSource } from '../../src/node/sink-source.ts';
import { takeSinkLock, thisHolder } from '../../src/cli/sink/sink-lock.ts';
import { ClickHouseSink } from '../../src/sinks/clickhouse/clickhouse-sink.ts';
import { openServer } from '../../src/sinks/clickhouse/server.ts';
import { ParquetSink } from '../../src/sinks/parquet/parquet-sink.ts';
import { runSink } from '../../src/sinks/run.ts';
import { codeOf } from '../../src/primitives/errors.ts';
import type { FillerTask } from './kills.ts';

process.once('message', (task) => {
  void fill(task as FillerTask).then(() => process.disconnect());
});

async function fill({ place, rangeBlocks, target, killAfterMs }: FillerTask): Promise<void> {
  const source = openStoreSource(place, { depth: 20, pollMs: 10 });
  // Hundreds of kills wait for the lease of the killed each time.
  const holder = { ...thisHolder(), leaseS: 2 };
  const sink =
    target.kind === 'parquet'
      ? new ParquetSink(target.folder, takeSinkLock)
      : new ClickHouseSink(openServer(target.url, target.database, systemClock), systemClock, holder);
  const { signal } = new AbortController();
  await untilFree(killAfterMs, () => runSink({ source, sink, rangeBlocks, signal, follows: false }));
  await sink.end();
  await source.close();
}

/** Again while the lease of a process that was killed counts: the time until the kill runs when it does no more. */
async function untilFree(killAfterMs: number | undefined, work: () => Promise<void>): Promise<void> {
  for (;;) {
    const kill = (): void => void process.kill(process.pid, 'SIGKILL');
    const timer = killAfterMs === undefined ? undefined : setTimeout(kill, killAfterMs).unref();
    try {
      return await work();
    } catch (error) {
      clearTimeout(timer);
      if (codeOf(error) !== 'SINK_IN_USE') throw error;
      await sleep(100);
    }
  }
}

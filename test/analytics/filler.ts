/**
 * The program of the processes that `kills.ts` starts. A process fills a sink. If the task of the process has a time
 * `killAfterMs`, the process kills itself after this time, unless the sink is complete before.
 */

import { systemClock } from '../../src/node/system.ts';
import { openStoreSource } from '../../src/node/sink-source.ts';
import { takeSinkLock, thisHolder } from '../../src/cli/sink/sink-lock.ts';
import { ClickHouseSink } from '../../src/sinks/clickhouse/clickhouse-sink.ts';
import { openServer } from '../../src/sinks/clickhouse/server.ts';
import { ParquetSink } from '../../src/sinks/parquet/parquet-sink.ts';
import { runSink } from '../../src/sinks/run.ts';
import type { FillerTask } from './kills.ts';

process.once('message', (task) => {
  void fill(task as FillerTask).then(() => process.disconnect());
});

async function fill({ place, rangeBlocks, target, killAfterMs }: FillerTask): Promise<void> {
  if (killAfterMs !== undefined) setTimeout(() => process.kill(process.pid, 'SIGKILL'), killAfterMs).unref();
  const source = openStoreSource(place, { depth: 20, pollMs: 10 });
  const sink =
    target.kind === 'parquet'
      ? new ParquetSink(target.folder, takeSinkLock)
      : new ClickHouseSink(
          openServer(target.url, target.database, systemClock),
          systemClock,
          thisHolder(),
          target.cluster,
        );
  const { signal } = new AbortController();
  await runSink({ source, sink, rangeBlocks, signal, follows: false });
  await sink.end();
  await source.close();
}

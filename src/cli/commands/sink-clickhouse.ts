/** `bloomery sink clickhouse`: the chain in a ClickHouse server. */

import { systemClock } from '../../node/system.ts';
import { openServer } from '../../sinks/clickhouse/server.ts';
import { ClickHouseSink } from '../../sinks/clickhouse/clickhouse-sink.ts';
import type { ClickHouseFlags } from '../flags.ts';
import { fillSink } from '../sink/fill-sink.ts';
import { thisHolder } from '../sink/sink-lock.ts';

/** @throws ProtocolError as `fillSink` and `ClickHouseSink` */
export async function sinkClickHouse(flags: ClickHouseFlags): Promise<void> {
  const { url, database } = flags;
  await fillSink(new ClickHouseSink(openServer(url, database, systemClock), systemClock, thisHolder()), flags);
}

/** `bloomery sink parquet`: writes the chain as Parquet files. */

import { resolve } from 'node:path';
import { ParquetSink } from '../../sinks/parquet/parquet-sink.ts';
import type { SinkFlags } from '../flags.ts';
import { fillSink } from '../sink/fill-sink.ts';
import { takeSinkLock } from '../sink/sink-lock.ts';

/**
 * @throws ProtocolError in the same cases as `fillSink` and `ParquetSink`
 */
export async function sinkParquet(folder: string, flags: SinkFlags): Promise<void> {
  await fillSink(new ParquetSink(resolve(folder), takeSinkLock), flags);
}

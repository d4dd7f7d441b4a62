/**
 * Takes the lock on the folder of a Parquet sink. A ClickHouse sink has a lease instead of a lock. `thisHolder`
 * describes this process as the holder of such a lease.
 */

import { hostname } from 'node:os';
import { ProtocolError } from '../../primitives/errors.ts';
import { hexOf } from '../../primitives/bytes.ts';
import { systemClock, systemRandom } from '../../node/system.ts';
import { sinkInUse, type LeaseHolder } from '../../sinks/lease.ts';
import type { FolderLock } from '../../sinks/parquet/parquet-sink.ts';
import { takeLock } from '../../store/disk/process-lock.ts';

/**
 * Number of random bytes in the token of a lease. With this number of bytes, two equal tokens are practically
 * impossible.
 */
const TOKEN_BYTES = 16;

/** @throws ProtocolError `SINK_IN_USE` while another process has the lock */
export function takeSinkLock(folder: string, name: string): FolderLock {
  try {
    return takeLock(folder, name, systemClock);
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.code !== 'LOCKED') throw error;
    throw sinkInUse(folder, String(error.data['owner']), undefined, error);
  }
}

/** Describes this process as the holder of a lease, with a new random token. */
export function thisHolder(): LeaseHolder {
  return {
    owner: `process ${process.pid} on ${hostname()}`,
    token: hexOf(systemRandom.bytes(TOKEN_BYTES)),
  };
}

/** The lock of the folder of a Parquet sink, and the name that a sink tells of this process. */

import { hostname } from 'node:os';
import { ProtocolError } from '../../primitives/errors.ts';
import { hexOf } from '../../primitives/bytes.ts';
import { systemClock, systemRandom } from '../../node/system.ts';
import { sinkInUse, type LeaseHolder } from '../../sinks/lease.ts';
import type { FolderLock } from '../../sinks/parquet/parquet-sink.ts';
import { takeLock } from '../../store/disk/process-lock.ts';

/** So many bytes that nobody draws twice. */
const TOKEN_BYTES = 16;

/** @throws ProtocolError `SINK_IN_USE` while another process has it */
export function takeSinkLock(folder: string, name: string): FolderLock {
  try {
    return takeLock(folder, name, systemClock);
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.code !== 'LOCKED') throw error;
    throw sinkInUse(folder, String(error.data['owner']), undefined, error);
  }
}

/** This process, as it takes a lease. */
export function thisHolder(): LeaseHolder {
  return {
    owner: `process ${process.pid} on ${hostname()}`,
    token: hexOf(systemRandom.bytes(TOKEN_BYTES)),
  };
}

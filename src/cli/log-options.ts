/** Log options of a node, from its configuration. */

import { resolve } from 'node:path';
import type { Config } from '../config/schema.ts';
import type { ObserverOptions } from '../telemetry/logger.ts';

export const MEGABYTE = 1_000_000;

export function logOptionsOf({
  level,
  format,
  modules,
  file,
  fileSizeMaxMb,
  filesKept,
}: Config['log']): Omit<ObserverOptions, 'metrics'> {
  const rotation = { bytesMax: fileSizeMaxMb * MEGABYTE, filesKept };
  return {
    level,
    format,
    colour: format === 'human' && file === '' && process.stderr.isTTY,
    levelsByModule: Object.fromEntries(modules),
    ...(file === '' ? {} : { target: { file: resolve(file), rotation } }),
  };
}

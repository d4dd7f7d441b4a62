/** Collects all fuzz targets. */

import type { Target } from './fuzzer.ts';
import { chainTargets } from './targets-chain.ts';
import { fileTargets } from './targets-files.ts';
import { httpSocketTarget, httpTargets } from './targets-http.ts';
import { socketTarget, wireTargets } from './targets-wire.ts';

export async function allTargets(): Promise<readonly Target[]> {
  const sockets = [await socketTarget(), await httpSocketTarget()];
  return [...wireTargets(), ...chainTargets(), ...fileTargets(), ...httpTargets(), ...sockets];
}

export async function closeTargets(targets: readonly Target[]): Promise<void> {
  for (const target of targets) await target.close?.();
}

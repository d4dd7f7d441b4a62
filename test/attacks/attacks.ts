/**
 * The lists of attacks. `NO_ATTACK` is a run for comparison: it shows how many slots the devnet misses, and how much
 * the memory of a node grows, without an attack.
 */

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHAIN_ATTACKS } from './attacks-chain.ts';
import { CLAIMS_ATTACK } from './attacks-claims.ts';
import { DOOR_ATTACKS } from './attacks-doors.ts';
import { FRAME_ATTACKS } from './attacks-frames.ts';
import { floodsFrom, HTTP_ATTACKS } from './attacks-http.ts';
import { PEER_LISTS_ATTACK } from './attacks-lists.ts';
import { MEMBERS_ATTACK } from './attacks-members.ts';
import { SIGNATURE_ATTACKS } from './attacks-signatures.ts';
import type { Attack } from './measure.ts';

export const NO_ATTACK: Attack = {
  name: 'no attack',
  run: (_arena, untilMs) => sleep(Math.max(0, untilMs - performance.now())),
};

/**
 * Configuration of the nodes. With `default`, the nodes allow only 127.0.0.1 to use the HTTP API. With `public`, the
 * nodes allow every address to use the HTTP API. `portable` is `public` without the native library for signature
 * checks.
 */
export type Setting = 'default' | 'public' | 'portable';

export const SETTINGS: readonly Setting[] = ['default', 'public', 'portable'];

/**
 * The attacks for a setting. `default` has all attacks of the generation. `public` and `portable` have only the attacks
 * whose results can differ from those with `default`.
 */
export function attacksOn(generation: 2 | 3, setting: Setting = 'default'): readonly Attack[] {
  if (setting === 'public') return [...HTTP_ATTACKS, ...SIGNATURE_ATTACKS];
  if (setting === 'portable') return [...SIGNATURE_ATTACKS, MEMBERS_ATTACK];
  const all = [
    PEER_LISTS_ATTACK,
    ...DOOR_ATTACKS,
    ...FRAME_ATTACKS,
    ...CHAIN_ATTACKS,
    CLAIMS_ATTACK,
    MEMBERS_ATTACK,
    ...SIGNATURE_ATTACKS,
    ...HTTP_ATTACKS,
  ];
  return all.filter((attack) => attack.generation === undefined || attack.generation === generation);
}

/** Returns each kind of HTTP flood of this generation, once with each number of connections in `counts`. */
export function floodsOn(generation: 2 | 3, counts: readonly number[]): readonly Attack[] {
  return floodsFrom(counts).filter((attack) => attack.generation === undefined || attack.generation === generation);
}

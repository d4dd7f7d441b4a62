/** All attacks, after one that is none and tells what the machine itself costs. */

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
 * How the nodes are set up. `default`: as a devnet is. `public`: everybody may ask them over HTTP. `portable`: that, and they check
 * signatures without the native library.
 */
export type Setting = 'default' | 'public' | 'portable';

export const SETTINGS: readonly Setting[] = ['default', 'public', 'portable'];

/** Those of a setting that differ from what they are by default; all by default. */
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

/** Every flood from each of these numbers of connections. */
export function floodsOn(generation: 2 | 3, counts: readonly number[]): readonly Attack[] {
  return floodsFrom(counts).filter((attack) => attack.generation === undefined || attack.generation === generation);
}

/** All attacks, after one that is none and tells what the machine itself costs. */

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHAIN_ATTACKS } from './attacks-chain.ts';
import { CLAIMS_ATTACK } from './attacks-claims.ts';
import { DOOR_ATTACKS } from './attacks-doors.ts';
import { FRAME_ATTACKS } from './attacks-frames.ts';
import { HTTP_ATTACKS } from './attacks-http.ts';
import { PEER_LISTS_ATTACK } from './attacks-lists.ts';
import { MEMBERS_ATTACK } from './attacks-members.ts';
import type { Attack } from './measure.ts';

export const NO_ATTACK: Attack = {
  name: 'no attack',
  run: (_arena, untilMs) => sleep(Math.max(0, untilMs - performance.now())),
};

/** @param isPublic only those that differ where everybody may ask the node over HTTP */
export function attacksOn(generation: 2 | 3, isPublic = false): readonly Attack[] {
  const all = isPublic ? HTTP_ATTACKS : ALL;
  return all.filter((attack) => attack.generation === undefined || attack.generation === generation);
}

const ALL: readonly Attack[] = [
  PEER_LISTS_ATTACK,
  ...DOOR_ATTACKS,
  ...FRAME_ATTACKS,
  ...CHAIN_ATTACKS,
  CLAIMS_ATTACK,
  MEMBERS_ATTACK,
  ...HTTP_ATTACKS,
];

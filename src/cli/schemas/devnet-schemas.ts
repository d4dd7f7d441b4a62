/** Schemas of the `--json` output of the `devnet` commands. */

import type { Schema } from '../../http/schema.ts';
import {
  ADDRESS,
  AMOUNT,
  COUNT,
  HEX,
  ID,
  INSTANT,
  INTEGER,
  FLAG,
  listOf,
  objectOf,
  PUBLIC_KEY,
  TEXT,
} from '../../http/views/shapes.ts';
import { MINING_MODES } from '../devnet/mining.ts';

const NODE = objectOf({ index: COUNT, state: TEXT, http: COUNT, ws: COUNT, delegates: COUNT, pid: COUNT }, ['pid']);
const FAULTS = objectOf({
  parts: listOf(listOf(COUNT)),
  nodes: listOf(
    objectOf({ node: COUNT, delayMs: COUNT, loss: { type: 'number', minimum: 0, maximum: 1 }, skewMs: INTEGER }),
  ),
});
const MODE: Schema = { type: 'string', enum: MINING_MODES };
const TIME = objectOf({ time: INSTANT });
const SNAPSHOT = objectOf({ name: TEXT, height: COUNT, blockId: ID, digest: HEX, time: INSTANT });

export const DEVNET_SCHEMAS: Readonly<Record<string, Schema>> = {
  devnet: objectOf({ nodes: listOf(objectOf({ http: COUNT, ws: COUNT, height: COUNT, blockId: ID })) }),
  'devnet accounts': objectOf({
    accounts: listOf(objectOf({ name: TEXT, address: ADDRESS, publicKey: PUBLIC_KEY, passphrase: TEXT })),
  }),
  'devnet run': objectOf({
    scenario: TEXT,
    hasPassed: FLAG,
    stepCount: COUNT,
    steps: listOf(objectOf({ line: COUNT, text: TEXT, tookMs: COUNT, failure: TEXT }, ['failure'])),
  }),
  'devnet list': objectOf({ mode: MODE, clock: TEXT, time: INSTANT, nodes: listOf(NODE), faults: FAULTS }),
  'devnet stop': objectOf({}),
  'devnet kill': NODE,
  'devnet pause': NODE,
  'devnet restart': NODE,
  'devnet add': NODE,
  'devnet resume': { anyOf: [NODE, TIME] },
  'devnet partition': FAULTS,
  'devnet delay': FAULTS,
  'devnet loss': FAULTS,
  'devnet skew': FAULTS,
  'devnet heal': FAULTS,
  'devnet mine': objectOf({ slots: COUNT, emptySlots: COUNT, height: COUNT, blockId: ID, time: INSTANT }),
  'devnet instant': objectOf({ mode: MODE }),
  'devnet on-demand': objectOf({ mode: MODE }),
  'devnet interval': objectOf({ mode: MODE }),
  'devnet warp': TIME,
  'devnet freeze': TIME,
  'devnet snapshot': SNAPSHOT,
  'devnet revert': SNAPSHOT,
  'devnet snapshots': objectOf({ snapshots: listOf(SNAPSHOT) }),
  'devnet fund': objectOf({ address: ADDRESS, balance: AMOUNT, transactionId: ID, height: COUNT }),
  'devnet impersonate': objectOf({ address: ADDRESS, publicKey: PUBLIC_KEY, secondPublicKey: PUBLIC_KEY }, [
    'secondPublicKey',
  ]),
};

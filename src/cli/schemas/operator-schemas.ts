/**
 * Schemas of the `--json` output of commands for operators. The subjects of these commands are a node, its chain on the
 * disk, its forging, network folders and sinks.
 */

import type { HttpDialect } from '../../http/dialect.ts';
import type { Schema } from '../../http/schema.ts';
import { DIAGNOSTIC_SHAPE, statusShape } from '../../http/views/node.ts';
import { PEER_VERDICT_SHAPE } from '../../http/views/peer-verdict.ts';
import {
  ADDRESS,
  ANY_OBJECT,
  COUNT,
  FLAG,
  HEX,
  ID,
  INSTANT,
  listOf,
  objectOf,
  PUBLIC_KEY,
  TEXT,
} from '../../http/views/shapes.ts';
import { IMPORT_KINDS } from '../../node/record-import.ts';

/** A value of any type. */
const ANY: Schema = {};
const GENERATION: Schema = { type: 'integer', minimum: 2, maximum: 3 };
const TIP = { height: COUNT, blockId: ID } as const;
const STATE = { ...TIP, digest: HEX } as const;
const NETWORK_FOLDER = objectOf({
  folder: TEXT,
  network: TEXT,
  generation: GENERATION,
  genesisBlockId: ID,
  nethash: HEX,
  networkIdentifier: HEX,
});
const HINDRANCES = {
  waiting: objectOf({ code: TEXT, reason: TEXT, until: INSTANT }, ['until']),
  paused: objectOf({ reason: TEXT, since: INSTANT, cause: TEXT }, ['cause']),
};
const DELEGATE_STATE = objectOf({ publicKey: PUBLIC_KEY, forging: FLAG, ...HINDRANCES }, ['waiting', 'paused']);
const FINDING = objectOf({
  code: TEXT,
  severity: { type: 'string', enum: ['error', 'warning'] },
  cause: TEXT,
  evidence: TEXT,
  remedy: TEXT,
});
const OWN_SLOT = objectOf(
  {
    publicKey: PUBLIC_KEY,
    username: TEXT,
    slot: COUNT,
    time: INSTANT,
    inS: COUNT,
    isThisRound: FLAG,
    forging: FLAG,
    ...HINDRANCES,
  },
  ['waiting', 'paused'],
);
const MISSED_SLOT = objectOf(
  { slot: COUNT, time: INSTANT, delegate: TEXT, orderOfHeight: COUNT, isOwn: FLAG, reason: TEXT },
  ['delegate', 'orderOfHeight'],
);
const SINK_STEP = objectOf({
  phase: { type: 'string', enum: ['replay', 'backfill', 'live'] },
  height: COUNT,
  finalHeight: COUNT,
  rows: COUNT,
});

export const OPERATOR_SCHEMAS: Readonly<Record<string, Schema>> = {
  peers: objectOf({ peers: listOf(PEER_VERDICT_SHAPE) }),
  doctor: objectOf({ findings: listOf(FINDING) }),
  why: objectOf({ diagnostics: listOf(DIAGNOSTIC_SHAPE) }),
  'why missed': objectOf({ slots: listOf(MISSED_SLOT) }),
  init: objectOf(
    {
      network: TEXT,
      dataDirectory: TEXT,
      config: TEXT,
      unit: TEXT,
      publicKey: PUBLIC_KEY,
      address: ADDRESS,
      passphraseFile: TEXT,
      start: TEXT,
    },
    ['unit', 'publicKey', 'address', 'passphraseFile'],
  ),
  'config show': objectOf({ options: listOf(objectOf({ option: TEXT, value: ANY, origin: TEXT }, ['value'])) }),
  export: objectOf({ file: TEXT, network: TEXT, fromHeight: COUNT, toHeight: COUNT }),
  import: objectOf({ network: TEXT, blocks: COUNT, transactions: COUNT, ...TIP, isComplete: FLAG }),
  verify: objectOf({ network: TEXT, keys: COUNT, ...STATE }),
  upgrade: objectOf({ from: COUNT, to: COUNT, seconds: { type: 'number', minimum: 0 } }),
  rollback: objectOf({ network: TEXT, removedBlocks: COUNT, ...TIP }),
  backup: objectOf({ folder: TEXT, network: TEXT, ...STATE }),
  'snapshot create': objectOf({ file: TEXT, network: TEXT, ...STATE }),
  'snapshot restore': objectOf({ network: TEXT, isVerified: FLAG, ...STATE }),
  'genesis create': NETWORK_FOLDER,
  'network import': NETWORK_FOLDER,
  'forging enable': DELEGATE_STATE,
  'forging disable': DELEGATE_STATE,
  'forging status': objectOf({ delegates: listOf(DELEGATE_STATE) }),
  'forging schedule': objectOf({ slots: listOf(OWN_SLOT) }),
  'forging export': objectOf({ file: TEXT, network: TEXT, delegates: listOf(PUBLIC_KEY), isCopy: FLAG }),
  'forging import': objectOf({
    folder: TEXT,
    network: TEXT,
    delegates: listOf(PUBLIC_KEY),
    isCopy: FLAG,
    kind: { type: 'string', enum: IMPORT_KINDS },
    waiting: COUNT,
    isMarked: FLAG,
  }),
  'sink parquet': SINK_STEP,
  'sink clickhouse': SINK_STEP,
  query: objectOf({ meta: listOf(objectOf({ name: TEXT, type: TEXT })), data: listOf(ANY_OBJECT), rows: COUNT }),
};

/** Schema of the output of the command `status`. The members of the output depend on `dialect`. */
export function statusSchema(dialect: HttpDialect): Schema {
  const { properties = {}, required = [], ...status } = statusShape(dialect);
  const own = { connectedPeers: COUNT, version: TEXT, softwareVersion: TEXT, nethash: HEX, digest: objectOf(STATE) };
  return {
    ...status,
    properties: { node: TEXT, ...properties, ...own },
    required: ['node', ...required, 'connectedPeers', 'version', 'nethash'],
  };
}

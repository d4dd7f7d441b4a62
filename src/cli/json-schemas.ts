/**
 * JSON Schemas (draft 7) of the commands' `--json` output. docs/cli publishes the schemas for programs that read this
 * output.
 */

import type { HttpDialect } from '../http/dialect.ts';
import { EVENT_NAMES } from '../http/events/event.ts';
import type { Format } from '../http/formats.ts';
import type { Schema } from '../http/schema.ts';
import { accountShape, delegateShape } from '../http/views/account.ts';
import { blockShape } from '../http/views/block.ts';
import { ADDRESS, COUNT, FLAG, HEX, listOf, objectOf, PUBLIC_KEY, TEXT } from '../http/views/shapes.ts';
import { confirmedShape, pooledShape } from '../http/views/transaction.ts';
import { POOL_STATES } from './chain-query/pool-states.ts';
import { DEVNET_SCHEMAS } from './schemas/devnet-schemas.ts';
import { OPERATOR_SCHEMAS, statusSchema } from './schemas/operator-schemas.ts';
import { WALLET_SCHEMAS } from './schemas/wallet-schemas.ts';

/**
 * One schema for each command with `--json`. The key of a schema is the name of its command, such as `tx verify`. If
 * the output depends on the generation of the node, the schema has one alternative for each generation.
 */
export function jsonSchemas(): Readonly<Record<string, object>> {
  return Object.fromEntries(Object.entries(shapes()).map(([path, shape]) => [path, published(shape)] as const));
}

/** Returns the schema as the text of a complete JSON document. */
export function jsonSchemaText(path: string, schema: object): string {
  const title = `bloomery ${path} --json`;
  return `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', title, ...schema }, undefined, 2)}\n`;
}

function shapes(): Readonly<Record<string, Schema>> {
  return {
    block: ofEither((dialect) =>
      objectOf({ block: blockShape(dialect), transactions: listOf(confirmedShape(dialect)) }),
    ),
    tx: ofEither((dialect) => ({
      anyOf: [
        objectOf({ transaction: confirmedShape(dialect), state: { type: 'string', enum: ['confirmed'] } }),
        objectOf({ transaction: pooledShape(dialect), state: POOL_STATE }),
      ],
    })),
    account: ofEither((dialect) =>
      objectOf({
        account: accountShape(dialect),
        group: GROUP_OR_NULL,
        latestTransactions: listOf(confirmedShape(dialect)),
      }),
    ),
    delegates: ofEither((dialect) => objectOf({ delegates: listOf(delegateShape(dialect)) })),
    events: objectOf(
      { id: { type: 'string' }, event: { type: 'string', enum: EVENT_NAMES }, data: { type: 'object' } },
      ['id'],
    ),
    'tx verify': objectOf({ transactions: listOf(VERIFIED) }),
    version: objectOf({ version: TEXT }),
    decode: {
      anyOf: [
        objectOf({
          kind: { type: 'string', enum: ['transaction'] },
          transaction: { type: 'object' },
          senderId: ADDRESS,
          bytes: HEX,
          isSigned: { type: ['boolean', 'null'] },
        }),
        objectOf({ kind: { type: 'string', enum: ['header'] }, header: { type: 'object' } }),
        objectOf({ kind: { type: 'string', enum: ['publicKey'] }, publicKey: PUBLIC_KEY, address: ADDRESS }),
      ],
    },
    pool: ofEither((dialect) => objectOf({ transactions: listOf(withState(pooledShape(dialect))) })),
    status: ofEither(statusSchema),
    ...OPERATOR_SCHEMAS,
    ...WALLET_SCHEMAS,
    ...DEVNET_SCHEMAS,
  };
}

/**
 * Patterns for formats that JSON Schema does not define. Each pattern allows an empty text, which stands for a missing
 * value.
 */
const PATTERNS: Readonly<Partial<Record<Format, string>>> = {
  address: '^([0-9]{1,20}L)?$',
  id: '^([0-9]{1,20})?$',
  publicKey: '^([0-9a-fA-F]{64})?$',
  signature: '^([0-9a-fA-F]{128})?$',
  hex: '^([0-9a-fA-F]+)?$',
};

function published(shape: Schema): object {
  const { format, properties, items, anyOf, ...rest } = shape;
  const pattern = format === undefined ? undefined : PATTERNS[format];
  return {
    ...rest,
    ...(pattern === undefined ? {} : { pattern }),
    ...(format === 'date-time' ? { format } : {}),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(published) }),
    ...(items === undefined ? {} : { items: published(items) }),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, published(each)])) }),
  };
}

const POOL_STATE: Schema = { type: 'string', enum: POOL_STATES };

const GROUP_OR_NULL: Schema = {
  anyOf: [
    { type: 'null' },
    objectOf({ min: COUNT, members: listOf(objectOf({ address: ADDRESS, publicKey: PUBLIC_KEY })) }),
  ],
};

const VERIFIED: Schema = objectOf({
  id: { type: ['string', 'null'] },
  isValid: FLAG,
  faults: listOf(TEXT),
  missing: { anyOf: [{ type: 'null' }, objectOf({ count: COUNT, of: listOf(PUBLIC_KEY) })] },
  state: { anyOf: [{ type: 'null' }, POOL_STATE] },
});

function withState({ properties = {}, required = [], ...schema }: Schema): Schema {
  return { ...schema, properties: { state: POOL_STATE, ...properties }, required: ['state', ...required] };
}

function ofEither(shapeOf: (dialect: HttpDialect) => Schema): Schema {
  return { anyOf: ([3, 2] as const).map((generation) => shapeOf({ generation, strict: false })) };
}

/**
 * Checks the content of an application registration. Application registrations occur only in the early history of live
 * networks.
 */

import { member } from '../tx/json.ts';
import { assetErrors, type ShapeCompiler } from '../tx/schema.ts';
import { isPlainAsset } from '../tx/second-signature.ts';
import { storableText } from '../tx/transfer.ts';
import type { DappDescription, Payload } from '../types.ts';
import { transactionError, type TransactionError } from '../verdict.ts';

const TEXT = { type: 'string', format: 'noNullByte', maxLength: 160 } as const;
const URI = { type: 'string', format: 'uri', maxLength: 2000 } as const;

const DAPP_SCHEMA = {
  type: 'object',
  required: ['dapp'],
  properties: {
    dapp: {
      type: 'object',
      required: ['name', 'type', 'category'],
      properties: {
        icon: URI,
        category: { type: 'integer', minimum: 0, maximum: 8 },
        type: { type: 'integer', minimum: 0, maximum: 1 },
        link: { ...URI, minLength: 0 },
        tags: TEXT,
        description: TEXT,
        name: { type: 'string', format: 'noNullByte', minLength: 1, maxLength: 32 },
      },
    },
  },
} as const;

const LINK_SUFFIXES = ['.zip'];
const ICON_SUFFIXES = ['.png', '.jpeg', '.jpg'];

export interface DappReading {
  /** The errors of the schema check, without the errors that `dappErrors` finds. */
  readonly errors: TransactionError[];
  readonly payload: Extract<Payload, { kind: 'dapp' }> | undefined;
}

export function createDappReader(compiler: ShapeCompiler): (asset: unknown, id: string) => DappReading {
  const shape = compiler.compile(DAPP_SCHEMA);
  return (asset, id) => {
    const dapp = asset ? member(asset, 'dapp') : {};
    const isObject = typeof dapp === 'object' && dapp !== null && !Array.isArray(dapp);
    const seen = isObject
      ? {
          icon: member(dapp, 'icon') || undefined,
          category: member(dapp, 'category'),
          type: member(dapp, 'type'),
          link: member(dapp, 'link'),
          tags: member(dapp, 'tags') || undefined,
          description: member(dapp, 'description') || undefined,
          name: member(dapp, 'name'),
        }
      : dapp;
    const errors = assetErrors(shape, isPlainAsset(asset) ? { dapp: seen } : asset, id);
    return { errors, payload: errors.length > 0 ? undefined : { kind: 'dapp', dapp: dappOf(seen as DappDescription) } };
  };
}

/** Checks the values of an application description that satisfies the schema. */
export function dappErrors(dapp: DappDescription, id: string): TransactionError[] {
  const errors: TransactionError[] = [];
  const refuse = (message: string, name: string, actual: string): void => {
    errors.push(transactionError(id, message, `.asset.dapp.${name}`, actual));
  };
  if (dapp.link !== undefined && !endsWithAny(dapp.link, LINK_SUFFIXES)) {
    refuse(`Dapp icon must have suffix ${LINK_SUFFIXES.toString()}`, 'link', dapp.link);
  }
  if (dapp.icon !== undefined && !endsWithAny(dapp.icon, ICON_SUFFIXES)) {
    refuse(`Dapp icon must have suffix of one of ${ICON_SUFFIXES.toString()}`, 'icon', dapp.icon);
  }
  const tags = dapp.tags?.split(',').map((tag) => tag.trim()) ?? [];
  if (dapp.tags !== undefined && new Set(tags).size !== tags.length) {
    refuse('Dapp tags must have unique set', 'tags', dapp.tags);
  }
  return errors;
}

/**
 * Copies the known members of an application description. The copy does not contain optional members with empty texts,
 * because empty texts add nothing to the bytes that the signature covers.
 */
function dappOf({ name, type, category, ...optional }: DappDescription): DappDescription {
  const { description, tags, link, icon } = optional;
  const texts = Object.entries({ description, tags, link, icon }).flatMap(([key, text]) =>
    text === undefined || text === '' ? [] : [[key, storableText(text)]],
  );
  // A negative zero becomes 0, because the bytes that the signature covers cannot express a negative zero.
  const numbers = { type: type || 0, category: category || 0 };
  return { ...(Object.fromEntries(texts) as Partial<DappDescription>), name: storableText(name), ...numbers };
}

function endsWithAny(text: string, suffixes: readonly string[]): boolean {
  return suffixes.some((suffix) => text.endsWith(suffix));
}

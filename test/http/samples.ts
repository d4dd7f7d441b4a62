/** Returns a valid value and an invalid value for each declared parameter of a route. */

import type { Parameter } from '../../src/http/route.ts';
import type { Format } from '../../src/http/formats.ts';
import { ALICE, ALICE_KEY } from './fake-node.ts';

const TAKEN: Partial<Record<Format, string>> = {
  address: ALICE.address,
  id: '18446744073709551615',
  publicKey: ALICE_KEY,
  hex: 'ab',
  username: 'alice',
  additionalData: 'order %',
  ip: '127.0.0.1',
  version: '3.0.2',
  protocolVersion: '2.0',
  int32: '1',
};

const REFUSED: Partial<Record<Format, string>> = {
  address: '12l',
  id: '1x',
  publicKey: 'zz',
  hex: 'xy',
  username: 'a b',
  additionalData: 'x'.repeat(65),
  cursor: 'nowhere!',
  ip: '1.2.3',
  version: 'v1.0.0',
  protocolVersion: '1',
  int32: '1.5',
};

export function takenValue({ name, schema }: Parameter): string {
  if (name === 'lastEventId') return '1.0';
  // For the path `/node/digest`, a height is valid only if it is the height of the tip, because the node knows the
  // digest of its state only at the tip. The tip of the fake node has the height 2.
  if (name === 'height') return '2';
  if (name === 'types') return 'blocks/new';
  if (schema.enum !== undefined) return schema.enum[0] ?? '';
  if (schema.type === 'boolean') return 'true';
  if (schema.format !== undefined) return TAKEN[schema.format] ?? '';
  return schema.type === 'integer' ? '1' : 'text';
}

export function refusedValue({ schema }: Parameter): string {
  if (schema.enum !== undefined) return 'nothing';
  if (schema.type === 'boolean') return '1';
  if (schema.format !== undefined) return REFUSED[schema.format] ?? '';
  if (schema.type === 'integer') return 'x';
  // Here, the parameter is a text without a format. If it has no `maxLength` either, the node refuses a value that
  // looks like an integer, because the node parses this value as a number.
  return schema.maxLength === undefined ? '123' : 'x'.repeat(schema.maxLength + 1);
}

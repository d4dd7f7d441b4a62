/**
 * Checks the options, mining modes, amounts and payloads that a test passes to `bloomery/testing`, before the devnet
 * starts or changes. The TypeScript types are not enough, because some tests are written in plain JavaScript.
 */

import { MINING_MODES, type MiningMode } from '../cli/devnet/mining.ts';
import type { DevnetOptions, TransactionPayload } from './types.ts';

const NODES_MAX = 16;
const DELEGATES_MAX = 101;
const OPTIONS = ['nodes', 'mine', 'generation', 'delegates', 'network', 'log'] as const;
const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
const PUBLIC_KEY = /^[0-9a-f]{64}$/;

/** @throws TypeError or RangeError with the name of the wrong option */
export function checkOptions(options: DevnetOptions): void {
  if (!isObject(options)) throw new TypeError('the options of startDevnet() must be an object');
  const unknown = Object.keys(options).find((name) => !OPTIONS.some((each) => each === name));
  if (unknown !== undefined) {
    throw new TypeError(`startDevnet() has no option ${unknown}: it has ${OPTIONS.join(', ')}`);
  }
  const { nodes, mine, generation, delegates, network, log } = options;
  checkInteger(nodes, NODES_MAX, 'nodes');
  checkInteger(delegates, DELEGATES_MAX, 'delegates');
  if (mine !== undefined) checkMode(mine, 'mine');
  if (generation !== undefined && generation !== 2 && generation !== 3) {
    throw new RangeError('generation must be 2 or 3');
  }
  if (network !== undefined && (typeof network !== 'string' || network === '')) {
    throw new TypeError('network must be the name or folder of a network');
  }
  if (network !== undefined && delegates !== undefined) {
    throw new TypeError('delegates is for the packaged devnets: a network has its own number of delegates');
  }
  if (log !== undefined && !LEVELS.includes(log)) throw new RangeError(`log must be one of ${LEVELS.join(', ')}`);
}

/** @throws RangeError if `mode` is not a mining mode; the error gives the value the name `what` */
export function checkMode(mode: MiningMode, what: string): void {
  if (!MINING_MODES.includes(mode)) throw new RangeError(`${what} must be one of ${MINING_MODES.join(', ')}`);
}

/** @throws RangeError if `amount` is not a bigint, or is less than `least` */
export function checkAmount(amount: bigint, least: bigint): void {
  if (typeof amount === 'bigint' && amount >= least) return;
  throw new RangeError(`\`amount\` must be a bigint of beddows from ${least} on`);
}

/**
 * Checks the names and types of the fields of a payload, and the form of public keys. Refuses a negative amount. The
 * node makes all further checks of the values.
 *
 * @throws TypeError or RangeError with the name of the wrong field
 */
export function checkPayload(payload: TransactionPayload): void {
  if (!isObject(payload)) throw new TypeError('the payload must be an object with a `kind`');
  const fields = FIELDS.get(payload.kind);
  if (fields === undefined) {
    throw new RangeError(`the kind of a payload must be one of ${[...FIELDS.keys()].join(', ')}`);
  }
  const unknown = Object.keys(payload).find((name) => name !== 'kind' && !fields.includes(name));
  if (unknown !== undefined) throw new TypeError(`a payload of the kind ${payload.kind} has no \`${unknown}\``);
  switch (payload.kind) {
    case 'transfer':
      checkText(payload.to, 'to');
      checkAmount(payload.amount, 0n);
      if (payload.data !== undefined) checkText(payload.data, 'data');
      return;
    case 'delegate':
      checkText(payload.username, 'username');
      return;
    case 'vote':
      checkPublicKeys(payload.for, 'for');
      checkPublicKeys(payload.against, 'against');
      return;
    case 'secondSignature':
      if (typeof payload.publicKey === 'string' && PUBLIC_KEY.test(payload.publicKey)) return;
      throw new TypeError('`publicKey` must have 64 hexadecimal digits');
  }
}

const FIELDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['transfer', ['to', 'amount', 'data']],
  ['delegate', ['username']],
  ['vote', ['for', 'against']],
  ['secondSignature', ['publicKey']],
]);

function checkInteger(value: number | undefined, most: number, name: string): void {
  if (value === undefined || (Number.isInteger(value) && value >= 1 && value <= most)) return;
  throw new RangeError(`${name} must be an integer from 1 to ${most}`);
}

function checkText(value: unknown, name: string): void {
  if (typeof value !== 'string') throw new TypeError(`\`${name}\` must be a string`);
}

function checkPublicKeys(value: unknown, name: string): void {
  if (value === undefined) return;
  if (Array.isArray(value) && value.every((each) => typeof each === 'string' && PUBLIC_KEY.test(each))) return;
  throw new TypeError(`\`${name}\` must be a list of public keys, each of 64 hexadecimal digits`);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The checks of the reference (lisk-sdk) on a received block that need no chain state except the tip. This file is a
 * test double of the package `lisk-framework`. With the flag `--framework`, the real package replaces the double
 * (`reference-framework.ts`).
 */

import { createRequire } from 'node:module';
import { idOf, sha256, sha256Hex } from '../../src/crypto/hash.ts';
import type { JsonObject } from '../../src/protocol/types.ts';
import { verify } from './ours.ts';
import type { ReferenceNumber, ReferencePackage, ReferenceTransaction } from './reference.ts';

/** The block that a received block must follow. */
export interface Tip {
  readonly id: string;
  readonly height: number;
  readonly timestamp: number;
}

/** Network parameters and current chain time against which headers are checked. */
export interface HeaderFacts {
  readonly networkIdentifier: string;
  readonly genesisBlockId: string;
  readonly nowS: number;
  readonly blockTimeS: number;
  /** Reward of a block, in Beddows. */
  readonly reward: number;
  readonly transactionsMax: number;
  readonly payloadBytesMax: number;
  /** Public key of the one delegate that owns all slots. */
  readonly forger: string;
}

/**
 * Checks a received block against the tip, as if one delegate owned every slot. The check ignores finality and the
 * state of accounts.
 *
 * @returns id of the block
 * @throws Error or a list of errors if the block is invalid
 */
export type JudgeHeader = (block: JsonObject, tip: Tip) => Promise<string>;

interface Validator {
  validate(schema: object, value: unknown): readonly { readonly dataPath: string; readonly message: string }[];
}

type Members = Record<string, unknown> & { readonly transactions: readonly ReferenceTransaction[] };

const integer = { type: 'integer' };
const count = { type: 'integer', minimum: 0 };
const id = { type: 'string', format: 'id', minLength: 1, maxLength: 20 };
const key = { type: 'string', format: 'publicKey' };
const signature = { type: 'string', format: 'signature' };
const hash = { type: 'string', format: 'hex' };
const number = { type: 'object', format: 'amount' };

/** Schema of a block in the message with which a peer sends the block. */
const MESSAGE = {
  type: 'object',
  required: ['id', 'height', 'timestamp', 'generatorPublicKey'],
  properties: {
    id,
    version: count,
    height: { type: 'integer', minimum: 1 },
    timestamp: integer,
    generatorAddress: { type: 'string', format: 'address' },
    generatorPublicKey: key,
    payloadLength: count,
    payloadHash: hash,
    blockSignature: signature,
    confirmations: integer,
    previousBlockId: { type: 'string', format: 'id' },
  },
};
const MESSAGE_3 = {
  ...MESSAGE,
  properties: { ...MESSAGE.properties, maxHeightPrevoted: count, maxHeightPreviouslyForged: count },
};

function schemaOf(previous: string, heights: readonly string[]): object {
  const totals = { totalAmount: number, totalFee: number, reward: number };
  const properties = {
    ...{ id, height: integer, blockSignature: signature, generatorPublicKey: key, numberOfTransactions: integer },
    ...{ payloadHash: hash, payloadLength: integer, [previous]: id, timestamp: integer, ...totals },
    ...{ transactions: { type: 'array', uniqueItems: true }, version: count },
    ...Object.fromEntries(heights.map((name) => [name, integer])),
  };
  const optional = ['id', previous, ...(heights.length === 0 ? ['height'] : [])];
  return { type: 'object', properties, required: Object.keys(properties).filter((name) => !optional.includes(name)) };
}

const SCHEMA_2 = schemaOf('previousBlock', []);
const SCHEMA_3 = schemaOf('previousBlockId', ['maxHeightPreviouslyForged', 'maxHeightPrevoted']);

export function headerDoubleOf(reference: ReferencePackage, facts: HeaderFacts): JudgeHeader {
  const { validator } = createRequire(createRequire(import.meta.url).resolve('lisk-transactions-3'))(
    '@liskhq/lisk-validator',
  ) as { readonly validator: Validator };
  const require = (schema: object, value: unknown): void => {
    const [error] = validator.validate(schema, value);
    if (error !== undefined) throw new Error(`'${error.dataPath}' ${error.message}`);
  };
  const slotAt = (timestamp: number): number => Math.floor(timestamp / facts.blockTimeS);
  const isSlotWrong = (timestamp: number, tip: Tip): boolean =>
    slotAt(timestamp) > slotAt(facts.nowS) || slotAt(timestamp) <= slotAt(tip.timestamp);
  const made = (json: unknown): ReferenceTransaction => {
    const Class = reference.classOf((json as { readonly type?: unknown }).type);
    if (Class === undefined) throw new Error('Transaction type not found.');
    return new Class({ ...(json as object), networkIdentifier: facts.networkIdentifier });
  };
  return (block, tip) =>
    new Promise((resolve) => {
      resolve(reference.generation === 2 ? judge2(block, tip) : judge3(block, tip));
    });

  function judge3(json: JsonObject, tip: Tip): string {
    require(MESSAGE_3, json);
    const given = json['transactions'] || [];
    const transactions = (given as readonly unknown[]).map(made);
    const block: Members = {
      ...json,
      ...totalsOf(json),
      version: json['version'] ?? 0,
      numberOfTransactions: transactions.length,
      payloadLength: json['payloadLength'] ?? 0,
      transactions,
    };
    if (block['version'] !== 2) throw new Error('Block processing version is not registered');
    require(SCHEMA_3, block);
    const bytes = headerBytesOf(reference, block);
    const isGenesis = block['id'] === facts.genesisBlockId;
    if (isGenesis || !block['previousBlockId'] || block['height'] === 1) throw new Error('Invalid previous block');
    if (!isSigned(bytes, block)) throw new Error('Invalid block signature');
    const reward = block['maxHeightPreviouslyForged'] === 0 ? facts.reward : facts.reward / 4;
    if (!reference.number(reward).equals(block['reward'])) {
      throw new Error(`Invalid block reward: ${String(block['reward'])} expected: ${reward}`);
    }
    requireValid(transactions);
    for (const fault of payloadFaultsOf(block)) throw fault;
    const follows = block['height'] === tip.height + 1 && block['previousBlockId'] === tip.id;
    if (!follows) throw new Error('Invalid previous block');
    if (isSlotWrong(block['timestamp'] as number, tip)) throw new Error('Invalid block timestamp');
    if (block['generatorPublicKey'] !== facts.forger) throw new Error('Failed to verify slot');
    return idOf(bytes);
  }

  function judge2(json: JsonObject, tip: Tip): string {
    require(MESSAGE, json);
    const given = json['transactions'];
    const block: Members = {
      ...json,
      ...totalsOf(json),
      ...(json['version'] === undefined ? { version: 0 } : {}),
      ...(json['numberOfTransactions'] === undefined
        ? { numberOfTransactions: given === undefined ? 0 : (given as readonly unknown[]).length }
        : {}),
      ...(json['payloadLength'] === undefined ? { payloadLength: 0 } : {}),
      transactions: ((given || []) as readonly unknown[]).map(made),
    };
    const isNext = block['previousBlock'] === tip.id && block['height'] === tip.height + 1;
    const known = Object.entries(block).filter(([, value]) => value !== null && value !== undefined);
    const normal = Object.fromEntries(known) as Members;
    require(SCHEMA_2, normal);
    requireValid(normal.transactions);
    if (!isNext) throw new Error('Discarded block that does not match with current chain');
    const errors: unknown[] = [];
    const bytes = headerBytesOf(reference, normal);
    if (!isSigned(bytes, normal)) errors.push(new Error('Failed to verify block signature'));
    if (normal['version'] !== 1) errors.push(new Error('Invalid block version'));
    if (!reference.number(facts.reward).equals(normal['reward'])) {
      errors.push(new Error(`Invalid block reward: ${String(normal['reward'])} expected: ${facts.reward}`));
    }
    errors.push(...payloadFaultsOf(normal));
    if (isSlotWrong(normal['timestamp'] as number, tip)) errors.push(new Error('Invalid block timestamp'));
    if (errors.length > 0) throw allOf(errors.reverse());
    if (normal['generatorPublicKey'] !== facts.forger) throw new Error('Failed to verify slot');
    return idOf(bytes);
  }

  function totalsOf(json: JsonObject): Record<string, ReferenceNumber> {
    const names = ['totalAmount', 'totalFee', 'reward'];
    return Object.fromEntries(names.map((name) => [name, reference.number(json[name] || 0)]));
  }

  function* payloadFaultsOf(block: Members): Iterable<Error> {
    const { transactions } = block;
    if ((block['payloadLength'] as number) > facts.payloadBytesMax) yield new Error('Payload length is too long');
    if (transactions.length !== block['numberOfTransactions']) {
      yield new Error('Included transactions do not match block transactions count');
    }
    if (transactions.length > facts.transactionsMax) {
      yield new Error('Number of transactions exceeds maximum per block');
    }
    let amount = reference.number(0);
    let fee = reference.number(0);
    const seen = new Set<string>();
    for (const transaction of transactions) {
      if (seen.has(transaction.id)) yield new Error(`Encountered duplicate transaction: ${transaction.id}`);
      seen.add(transaction.id);
      amount = amount.plus(transaction.amount ?? (transaction.asset.amount || 0));
      fee = fee.plus(transaction.fee);
    }
    const bytes = Buffer.concat(transactions.map((transaction) => transaction.getBytes()));
    if (sha256Hex(bytes) !== block['payloadHash']) yield new Error('Invalid payload hash');
    if (!amount.equals(block['totalAmount'])) yield new Error('Invalid total amount');
    if (!fee.equals(block['totalFee'])) yield new Error('Invalid total fee');
  }
}

/**
 * Returns the bytes from which a block's id is computed: the header of the block, including the block signature.
 * @throws Error if a member of the header cannot be written as bytes
 */
export function headerBytesOf(reference: ReferencePackage, block: Readonly<Record<string, unknown>>): Buffer {
  const of = (name: string, size: number, endian: 'little' | 'big' = 'little'): Buffer =>
    reference.number(String(block[name])).toBuffer({ size, endian });
  const previous = reference.generation === 2 ? 'previousBlock' : 'previousBlockId';
  const heights = ['height', 'maxHeightPreviouslyForged', 'maxHeightPrevoted'];
  return Buffer.concat([
    of('version', 4),
    of('timestamp', 4),
    block[previous] ? of(previous, 8, 'big') : Buffer.alloc(8),
    ...(reference.generation === 2 ? [] : heights.map((name) => of(name, 4))),
    of('numberOfTransactions', 4),
    ...['totalAmount', 'totalFee', 'reward'].map((name) => of(name, 8)),
    of('payloadLength', 4),
    ...['payloadHash', 'generatorPublicKey', 'blockSignature'].map((name) =>
      Buffer.from(String(block[name] ?? ''), 'hex'),
    ),
  ]);
}

/** Joins all errors of a refused block of generation 2 into one. */
export function allOf(errors: readonly unknown[]): Error {
  return new Error(errors.map((error) => (error instanceof Error ? error.message : String(error))).join('; '));
}

function isSigned(bytes: Buffer, block: Members): boolean {
  const [publicKey, made] = ['generatorPublicKey', 'blockSignature'].map((name) =>
    Buffer.from(String(block[name]), 'hex'),
  );
  const message = sha256(bytes.subarray(0, -64));
  return verify({ publicKey: publicKey as Buffer, message, signature: made as Buffer });
}

function requireValid(transactions: readonly ReferenceTransaction[]): void {
  const answers = transactions.map((transaction) => transaction.validate());
  const failed = answers.find(({ status }) => status !== 1);
  if (failed !== undefined) throw failed.errors;
}

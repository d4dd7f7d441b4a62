/**
 * Transactions of older types in generation 2. Type 5 is in the package `lisk-transactions-2`. Types 6 and 7 were part
 * of Lisk Core, so this file contains test doubles of them. The doubles extend the published base class.
 */

import { createRequire } from 'node:module';
import type { ReferenceError, ReferenceNumber, ReferencePackage, TransactionClass } from './reference.ts';

interface Base {
  readonly id: string;
  readonly amount: ReferenceNumber;
  readonly recipientId: unknown;
  readonly recipientPublicKey: unknown;
  asset: unknown;
}

interface Exported {
  readonly BaseTransaction: new (json: object) => Base;
  readonly DappTransaction: TransactionClass;
  readonly TransactionError: new (message: string, id: string, dataPath: string) => ReferenceError;
  readonly convertToAssetError: (id: string, errors: unknown) => ReferenceError[];
  readonly utils: {
    readonly validator: { validate(schema: object, value: unknown): boolean; readonly errors: unknown };
  };
}

const FEE = '10000000';
const ID = { type: 'string', format: 'id' };

/** A package of generation 2 that includes the types 5 to 7. */
export function withOlderTypes(reference: ReferencePackage): ReferencePackage {
  const exported = createRequire(reference.main)(reference.main) as Exported;
  const older = new Map<unknown, TransactionClass>([
    [5, exported.DappTransaction],
    [6, inTransfer(exported)],
    [7, outTransfer(exported)],
  ]);
  return { ...reference, classOf: (type) => older.get(type) ?? reference.classOf(type) };
}

/**
 * Schema of an asset with one member. The parameter `name` contains the name of this member, whose value is an object.
 * `ids` lists the names of the members of this object. The value of each of these members is an id.
 */
function shapeOf(name: string, ids: readonly string[]): object {
  const inner = { type: 'object', required: ids, properties: Object.fromEntries(ids.map((each) => [each, ID])) };
  return { type: 'object', required: [name], properties: { [name]: inner } };
}

function inTransfer({ BaseTransaction, ...exported }: Exported): TransactionClass {
  const shape = shapeOf('inTransfer', ['dappId']);
  class InTransfer extends BaseTransaction {
    static readonly TYPE = 6;
    static readonly FEE = FEE;

    constructor(json: { readonly asset?: unknown }) {
      super(json);
      this.asset = json.asset || { inTransfer: {} };
    }

    assetToBytes(): Buffer {
      return Buffer.from((this.asset as { inTransfer: { dappId: string } }).inTransfer.dappId, 'utf8');
    }

    validateAsset(): readonly ReferenceError[] {
      const faults = assetFaults(this, shape, exported);
      if (this.recipientId) faults.add('RecipientId is expected to be undefined.', '.recipientId');
      if (this.recipientPublicKey) faults.add('RecipientPublicKey is expected to be undefined.', '.recipientPublicKey');
      if (isNothing(this.amount)) faults.add('Amount must be greater than 0', '.amount');
      return faults.errors;
    }
  }
  return InTransfer as unknown as TransactionClass;
}

function outTransfer({ BaseTransaction, ...exported }: Exported): TransactionClass {
  const shape = shapeOf('outTransfer', ['dappId', 'transactionId']);
  class OutTransfer extends BaseTransaction {
    static readonly TYPE = 7;
    static readonly FEE = FEE;

    constructor(json: { readonly asset?: unknown }) {
      super(json);
      this.asset = json.asset || { outTransfer: {} };
    }

    assetToBytes(): Buffer {
      const { dappId, transactionId } = (this.asset as { outTransfer: { dappId: string; transactionId: string } })
        .outTransfer;
      return Buffer.concat([Buffer.from(dappId, 'utf8'), Buffer.from(transactionId, 'utf8')]);
    }

    validateAsset(): readonly ReferenceError[] {
      const faults = assetFaults(this, shape, exported);
      if (isNothing(this.amount)) {
        faults.add('Amount must be greater than zero for outTransfer transaction', '.amount');
      }
      if (this.recipientId === '') faults.add('RecipientId must be set for outTransfer transaction', '.recipientId');
      return faults.errors;
    }
  }
  return OutTransfer as unknown as TransactionClass;
}

/**
 * Checks an asset against its schema. Returns the errors, and a function that adds more errors. The validator removes
 * members that the schema does not list.
 */
function assetFaults({ id, asset }: Base, shape: object, exported: Omit<Exported, 'BaseTransaction'>) {
  const { validator } = exported.utils;
  validator.validate(shape, asset);
  const errors = exported.convertToAssetError(id, validator.errors);
  const add = (message: string, path: string): void => {
    errors.push(new exported.TransactionError(message, id, path));
  };
  return { errors, add };
}

function isNothing(amount: ReferenceNumber): boolean {
  return Number(amount.toString()) <= 0;
}

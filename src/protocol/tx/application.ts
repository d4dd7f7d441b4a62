/**
 * Applies transactions that register an application (dapp), and transactions that move an amount into or out of an
 * application. Only the early history of live networks contains such transactions. The state stores the owner of each
 * application, and the names and links that applications already use.
 */

import { sha256Hex } from '../../crypto/hash.ts';
import { utf8 } from '../../primitives/bytes.ts';
import type { StateReader, StateWriter } from '../state.ts';
import type { Address, Payload, Transaction, TransactionId } from '../types.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import { applyTransfer } from './transfer.ts';

type Of<K extends Payload['kind']> = Extract<Payload, { kind: K }>;

const TRANSACTION_ID_CHARACTERS_MAX = 20;

/** Address of the account that registered an application; undefined if no application has this id. */
export function ownerOfApplication(state: StateReader, dappId: TransactionId): Address | undefined {
  return dappId.length > TRANSACTION_ID_CHARACTERS_MAX ? undefined : state.fact(ownerFact(dappId));
}

export function applyApplication(
  state: StateWriter,
  transaction: Transaction,
  { dapp: { name, link } }: Of<'dapp'>,
): TransactionError[] {
  const errors: TransactionError[] = [];
  if (state.fact(nameFact(name)) !== undefined) {
    errors.push(transactionError(transaction.id, `Application name already exists: ${name}`, name));
  }
  if (link !== undefined && state.fact(linkFact(link)) !== undefined) {
    errors.push(transactionError(transaction.id, `Application link already exists: ${link}`, link));
  }
  state.setFact(ownerFact(transaction.id), transaction.senderId);
  state.setFact(nameFact(name), transaction.id);
  if (link !== undefined) state.setFact(linkFact(link), transaction.id);
  return errors;
}

/** Adds the amount of the transaction to the balance of the application's owner. */
export function applyInTransfer(
  state: StateWriter,
  transaction: Transaction,
  { amount, dappId }: Of<'inTransfer'>,
): TransactionError[] {
  const recipientId = ownerOfApplication(state, dappId);
  if (recipientId !== undefined) return applyTransfer(state, transaction, { amount, recipientId });
  return [transactionError(transaction.id, `Application not found: ${dappId}`, dappId)];
}

export function applyOutTransfer(
  state: StateWriter,
  transaction: Transaction,
  payload: Of<'outTransfer'>,
): TransactionError[] {
  const errors = applyTransfer(state, transaction, payload);
  if (ownerOfApplication(state, payload.dappId) !== undefined) return errors;
  const message = `Application not found: ${payload.dappId}`;
  return [transactionError(transaction.id, message, '.asset.outTransfer.dappId'), ...errors];
}

function ownerFact(dappId: TransactionId): string {
  return `application ${dappId} owner`;
}

// The name of the fact (`StateReader.fact`) contains a hash of the name or link of the application, because the name of
// a fact must have at most 100 ASCII characters. A link can be longer, and a name or link can have characters outside
// ASCII.
function nameFact(name: string): string {
  return `application name ${sha256Hex(utf8(name))}`;
}

function linkFact(link: string): string {
  return `application link ${sha256Hex(utf8(link))}`;
}

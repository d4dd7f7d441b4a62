/** Reads the parts of calls, answers and messages whose form is the same in both generations. */

import { isU64Decimal } from '../primitives/bytes.ts';
import type { PeerAnswers } from '../ports/transport.ts';
import type { MemberSignature } from '../protocol/types.ts';
import type { AnswerVerdict, IncomingCall } from './dialect.ts';
import { distinctTexts, type Fields, isListOfRecords, isRecord, isSignatureText, own } from './frame-validation.ts';

/** Name of the SocketCluster event that carries each call except `ping`. */
export const CALL = 'rpc-request';
/**
 * Maximum number of transactions, transaction ids or signatures in one gossip message. In generation 3, one request
 * also contains at most this number of transaction ids.
 */
export const ITEMS_MAX = 25;
/**
 * Maximum number of blocks in one answer. An answer with more blocks is an offence. Nodes of lisk-sdk send at most 34
 * blocks.
 */
export const BLOCKS_PER_ANSWER_MAX = 100;
/**
 * Maximum number of transactions in one answer. The limit applies to answers with transactions, and to answers with the
 * signatures of pending transactions.
 */
const SHARED_PER_ANSWER_MAX = 100;
const SIGNATURES_PER_TRANSACTION_MAX = 64;

export function answered<A>(answer: A): AnswerVerdict<A> {
  return { kind: 'answer', answer };
}

export function malformed(reason: string): AnswerVerdict<never> {
  return { kind: 'malformed', offence: 'MALFORMED_MESSAGE', reason };
}

/**
 * Reads the signatures in a message. Returns undefined if `value` is not a list of 1 to `ITEMS_MAX` well-formed
 * signatures.
 */
export function readMemberSignatures(value: unknown): readonly MemberSignature[] | undefined {
  if (!isListOfRecords(value, ITEMS_MAX) || value.length === 0) return undefined;
  const signatures: MemberSignature[] = [];
  for (const item of value) {
    const transactionId = own(item, 'transactionId');
    const publicKey = own(item, 'publicKey');
    const signature = own(item, 'signature');
    if (typeof transactionId !== 'string' || !isU64Decimal(transactionId)) return undefined;
    if (typeof publicKey !== 'string' || !/^[0-9a-fA-F]{64}$/.test(publicKey)) return undefined;
    if (typeof signature !== 'string' || !isSignatureText(signature)) return undefined;
    signatures.push({ transactionId, publicKey, signature });
  }
  return signatures;
}

export function readTransactions(result: Fields): AnswerVerdict<PeerAnswers['transactions']> {
  const transactions = own(result, 'transactions');
  if (!isListOfRecords(transactions, SHARED_PER_ANSWER_MAX)) return malformed('transactions are not a list');
  return answered(transactions);
}

export function readPendingSignatures(result: Fields): AnswerVerdict<PeerAnswers['signatures']> {
  const signatures = own(result, 'signatures');
  if (!isListOfRecords(signatures, SHARED_PER_ANSWER_MAX)) return malformed('signatures are not a list');
  const read: PeerAnswers['signatures'][number][] = [];
  for (const item of signatures) {
    const transaction = own(item, 'transaction');
    const texts = distinctTexts(own(item, 'signatures'), 0, SIGNATURES_PER_TRANSACTION_MAX, isSignatureText);
    if (typeof transaction !== 'string' || !isU64Decimal(transaction) || texts === undefined) {
      return malformed('signatures without transaction');
    }
    read.push({ transaction, signatures: texts });
  }
  return answered(read);
}

/**
 * Reads the id and the height of the highest common block in an answer. The function ignores all other members of the
 * answer.
 */
export function readCommonBlock(common: Fields): AnswerVerdict<PeerAnswers['highestCommonBlock']> {
  const id = own(common, 'id');
  const height = own(common, 'height');
  if (typeof id !== 'string' || !isU64Decimal(id) || typeof height !== 'number' || !Number.isSafeInteger(height)) {
    return malformed('the common block has no id or height');
  }
  return answered({ id, height });
}

/** Returns the member `data` of an answer packet; undefined if the packet is not an object or has no member `data`. */
export function resultOf(answer: unknown): unknown {
  return isRecord(answer) ? own(answer, 'data') : undefined;
}

type Refused = Extract<IncomingCall, { kind: 'refused' }>;

/**
 * The parts of a call: the name of the procedure (`name`, without the prefix `chain:`), and the members of the argument
 * (`fields`).
 */
export interface ParsedCall {
  readonly kind: 'call';
  readonly name: string;
  /** The argument as the peer sent it; undefined if the call has no argument. */
  readonly argument: unknown;
  /** Members of the argument; empty if the argument is not an object. */
  readonly fields: Fields;
  /** The refusal that the node sends if the node does not know the procedure. */
  readonly unknown: Refused;
}

export function parseCall(data: unknown): ParsedCall | Refused {
  if (!isRecord(data)) return { kind: 'refused', name: '', error: { message: 'Invalid request' } };
  const procedure = own(data, 'procedure');
  if (typeof procedure !== 'string') {
    const error = { message: 'Request procedure name is not a string', name: 'InvalidRPCRequestError' };
    return { kind: 'refused', name: '', error };
  }
  const argument = own(data, 'data');
  const action = (procedure.includes(':') ? procedure : `chain:${procedure}`).slice(0, 128);
  return {
    kind: 'call',
    name: procedure.startsWith('chain:') ? procedure.slice('chain:'.length) : procedure,
    argument,
    fields: isRecord(argument) ? argument : {},
    unknown: { kind: 'refused', name: '', error: { message: `Action '${action}' is not registered to bus.` } },
  };
}

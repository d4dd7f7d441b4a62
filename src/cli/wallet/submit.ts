/**
 * Sends a signed transaction to a node, and finds out whether the node has the transaction. Sending the same signed
 * transaction again is safe, because a chain contains each transaction id at most once. Signing the payment again can
 * cause a second payment. Therefore, if it is possible that the node has accepted a transaction, no error of this
 * module says that the transaction was not sent.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Transaction } from '../../protocol/types.ts';
import type { NodeAsker } from '../ask-node.ts';
import { SEARCH_ORDER } from '../chain-query/pool-states.ts';
import { EXIT } from '../error-lines.ts';
import { printStderr, writeStderr } from '../output.ts';
import { escapedJson } from '../printable.ts';
import { STOP_SIGNALS } from '../stop-request.ts';

/** A transaction that the node has already. */
export interface KnownTransaction {
  /** Height of the block that contains the transaction; undefined if the transaction is only in the pool. */
  readonly height: number | undefined;
}

/** A transaction in the chain or in the pool of the node. */
export interface FoundTransaction extends KnownTransaction {
  /**
   * Member signatures in the pool's copy of the transaction, in lower-case hexadecimal digits; empty for a transaction
   * in a block.
   */
  readonly signatures: ReadonlySet<string>;
}

type Lookup = KnownTransaction | PooledWithoutSignatures | 'absent' | 'unclear';

/** The pool has the transaction, but lacks some of the member signatures that were sent with the transaction. */
interface PooledWithoutSignatures {
  /** Number of member signatures that were sent with the transaction, and that the transaction in the pool lacks. */
  readonly lacks: number;
}

/**
 * Lowest HTTP status of a server error. A proxy can answer with such a status, for example with 503, although the node
 * has accepted the transaction.
 */
const ERROR_OF_SERVER = 500;

/**
 * Sends the transaction. If the first attempt does not show whether the node has accepted the transaction, sends the
 * same transaction a second time. There is no second attempt if the time limit passed without an answer. If the node
 * refuses the second attempt because it has the transaction already, the first attempt has succeeded. If the node
 * refuses the first attempt for this reason, the error says that the node has the transaction.
 *
 * If `isRepeated` is false, the user does not have the signed transaction. The function therefore writes the signed
 * transaction to the standard error output in two cases: if it stays uncertain whether the node has the transaction, or
 * if a signal stops the command before the answer. If `isRepeated` is true, the function never writes the signed
 * transaction.
 *
 * @param isRepeated true if it is possible that an earlier command sent the same signed transaction. In this case, the
 *   call also succeeds if, before the first attempt, a block already contained the transaction, or the pool already had
 *   the transaction with all member signatures of `transaction`.
 * @returns undefined if the node has just accepted the transaction
 * @throws ProtocolError `TRANSACTION_UNCERTAIN` if the node possibly has the transaction and did not confirm it; for
 *   all other failures, the errors of `NodeAsker.send`
 */
export async function submit(
  node: NodeAsker,
  transaction: Transaction,
  json: unknown,
  isRepeated: boolean,
): Promise<KnownTransaction | undefined> {
  const { id } = transaction;
  const giveSigned = (): void => {
    if (!isRepeated) writeStderr(`signed transaction: ${escapedJson(JSON.stringify(json))}\n`);
  };
  const forgetSignals = onStop((signal) => {
    giveSigned();
    printStderr(`bloomery: stopped by ${signal}; the node may have transaction ${id}: ${adviceFor(id)}`);
  });
  try {
    return await attempt(node, transaction, json, isRepeated);
  } catch (error) {
    if (error instanceof ProtocolError && error.code === 'TRANSACTION_UNCERTAIN') giveSigned();
    throw error;
  } finally {
    forgetSignals();
  }
}

/** @throws ProtocolError as described at `submit` */
async function attempt(
  node: NodeAsker,
  transaction: Transaction,
  json: unknown,
  isRepeated: boolean,
): Promise<KnownTransaction | undefined> {
  let lost: ProtocolError | undefined;
  for (;;) {
    try {
      await node.send('POST', 'transactions', json);
      return undefined;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      if (error.code === 'NODE_REFUSED') {
        const found = await lookUp(node, transaction);
        if (found === 'unclear') throw uncertain(node, transaction.id, lost ?? error);
        if (!isRepeated && lost === undefined) throw withPlace(error, transaction.id, found);
        if (found === 'absent') throw lost === undefined ? error : uncertain(node, transaction.id, lost);
        if ('lacks' in found) throw withoutSignatures(error, found);
        return found;
      }
      if (lost !== undefined) throw uncertain(node, transaction.id, lost);
      if (!mayHaveArrived(error)) throw error;
      if (error.data['isLate'] === true) throw uncertain(node, transaction.id, error);
      lost = error;
    }
  }
}

/**
 * Adds to the refusal of the first attempt a text that says that the node has the transaction. It is possible that a
 * proxy sent the request twice, or that another command made the same transaction in the same second.
 */
function withPlace(error: ProtocolError, id: string, found: Exclude<Lookup, 'unclear'>): ProtocolError {
  if (found === 'absent') return error;
  const place = 'height' in found && found.height !== undefined ? `, in block ${found.height}` : '';
  const known = `the node has transaction ${id} already${place}`;
  const origin = 'it was sent before, by this command or by another one in the same second';
  return new ProtocolError(error.code, error.data, `${error.message}; ${known}: ${origin}`, { cause: error });
}

/**
 * True if it is possible that the node has accepted the transaction or signature in a request, although the request
 * ended with this error.
 */
export function mayHaveArrived({ code, data }: ProtocolError): boolean {
  if (code === 'NODE_UNREACHABLE') return data['isUnsent'] !== true;
  if (code !== 'NODE_ANSWER_UNEXPECTED') return false;
  const status = Number(data['status']);
  return status >= ERROR_OF_SERVER || status < 300;
}

async function lookUp(node: NodeAsker, { id, signatures }: Transaction): Promise<Lookup> {
  const found = await findTransaction(node, id);
  if (found === 'absent' || found === 'unclear') return found;
  if (found.height !== undefined) return { height: found.height };
  const lacks = signatures.filter((signature) => !found.signatures.has(signature.toLowerCase())).length;
  return lacks > 0 ? { lacks } : { height: undefined };
}

/** Looks for a transaction in the chain and in the pool of the node; `unclear` if the node does not answer. */
export async function findTransaction(node: NodeAsker, id: string): Promise<FoundTransaction | 'absent' | 'unclear'> {
  try {
    const before = await confirmedIn(node, id);
    if (before !== undefined) return before;
    for (const queue of SEARCH_ORDER) {
      const [pooled] = await node.ask<{ readonly signatures?: readonly string[] }[]>(
        `node/transactions/${queue}?id=${id}`,
      );
      if (pooled === undefined) continue;
      const signatures = new Set((pooled.signatures ?? []).map((text) => String(text).toLowerCase()));
      return { height: undefined, signatures };
    }
    // During the search, a block possibly took the transaction out of the pool.
    return (await confirmedIn(node, id)) ?? 'absent';
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return 'unclear';
  }
}

async function confirmedIn(node: NodeAsker, id: string): Promise<FoundTransaction | undefined> {
  const [confirmed] = await node.ask<{ readonly height: number }[]>(`transactions?id=${id}`);
  return confirmed === undefined ? undefined : { height: confirmed.height, signatures: new Set() };
}

function withoutSignatures({ code, data, message }: ProtocolError, { lacks }: PooledWithoutSignatures): ProtocolError {
  const what = `the pool has the transaction without ${lacks === 1 ? 'one signature' : `${lacks} signatures`} of the file`;
  return new ProtocolError(
    code,
    data,
    `${message}; ${what}: let the members send their signatures with \`bloomery multisig sign\``,
  );
}

function uncertain(node: NodeAsker, id: string, cause: ProtocolError): ProtocolError {
  const message = `the node may have transaction ${id} (${reasonOf(cause)}): ${adviceFor(id)}`;
  return new ProtocolError('TRANSACTION_UNCERTAIN', { id, url: node.base }, message, { cause });
}

export function reasonOf({ code, data, message }: ProtocolError): string {
  if (code === 'NODE_UNREACHABLE') return `its answer was lost: ${String(data['why'])}`;
  if (code !== 'NODE_ANSWER_UNEXPECTED') return message;
  const said = data['said'] === undefined ? '' : `: ${String(data['said'])}`;
  return `it answered with status ${String(data['status'])}${said}`;
}

function adviceFor(id: string): string {
  return (
    `do not sign it again; look it up with \`bloomery tx ${id}\`, or send the same signed transaction again with ` +
    '`bloomery broadcast`'
  );
}

/**
 * Calls `say` at a signal that stops the command, and then ends the process.
 *
 * @returns a function that gives the signals their earlier effect back
 */
function onStop(say: (signal: NodeJS.Signals) => void): () => void {
  const stop = (signal: NodeJS.Signals): void => {
    say(signal);
    process.exit(EXIT.failed);
  };
  for (const signal of STOP_SIGNALS) process.once(signal, stop);
  return () => {
    for (const signal of STOP_SIGNALS) process.removeListener(signal, stop);
  };
}

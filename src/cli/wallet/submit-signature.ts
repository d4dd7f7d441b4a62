/**
 * Sends a member's signature for a multisignature transaction, and finds out whether the node has the signature. The
 * last signature that a transaction needs can trigger a payment, so a lost answer must not look like a failure.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { NodeAsker } from '../ask-node.ts';
import { findTransaction, mayHaveArrived, reasonOf, type FoundTransaction } from './submit.ts';

/** Form of a member's signature in JSON. */
export interface SignatureDocument {
  readonly transactionId: string;
  readonly signature: string;
}

/** The node has the signature, or its transaction is in a block. */
export interface SubmittedSignature {
  /**
   * True if the node refused the first attempt: the node already had the signature, or a block already contained the
   * transaction.
   */
  readonly isKnown: boolean;
  /** Height of the block that contains the transaction; undefined if the node has not named a height. */
  readonly height: number | undefined;
}

/**
 * Sends the signature. If the answer is lost, sends the same signature a second time. A refusal is no fault if the node
 * has the signature already, or if a block contains the transaction.
 *
 * @throws ProtocolError `SIGNATURE_UNCERTAIN` if the node possibly has the signature and did not confirm it; for all
 *   other failures, the errors of `NodeAsker.send`
 */
export async function submitSignature(node: NodeAsker, document: SignatureDocument): Promise<SubmittedSignature> {
  let lost: ProtocolError | undefined;
  for (;;) {
    try {
      await node.send('POST', 'signatures', document);
      return { isKnown: false, height: undefined };
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      if (error.code === 'NODE_REFUSED') {
        const found = await findTransaction(node, document.transactionId);
        if (!hasSignature(found, document)) throw lost === undefined ? error : uncertain(node, document, lost);
        return { isKnown: lost === undefined, height: found.height };
      }
      if (lost !== undefined) throw uncertain(node, document, lost);
      if (!mayHaveArrived(error)) throw error;
      lost = error;
    }
  }
}

/**
 * Returns the line that a command prints for a submitted signature.
 *
 * @param waited height of the block for which the command has waited; undefined without a wait
 */
export function signatureText(id: string, { isKnown, height }: SubmittedSignature, waited?: number): string {
  // If a block already contained the transaction, the block can lack this signature.
  if (height !== undefined) return `signature of transaction ${id}: the transaction is in block ${height} already`;
  const place = waited === undefined ? '' : `, in block ${waited}`;
  return `signature of transaction ${id}: ${isKnown ? 'already ' : ''}accepted${place}`;
}

function hasSignature(
  found: FoundTransaction | 'absent' | 'unclear',
  { signature }: SignatureDocument,
): found is FoundTransaction {
  if (found === 'absent' || found === 'unclear') return false;
  return found.height !== undefined || found.signatures.has(signature.toLowerCase());
}

function uncertain(node: NodeAsker, { transactionId: id }: SignatureDocument, cause: ProtocolError): ProtocolError {
  const message =
    `the node may have the signature of transaction ${id} (${reasonOf(cause)}): send it again; ` +
    'the node takes each signature only once';
  return new ProtocolError('SIGNATURE_UNCERTAIN', { id, url: node.base }, message, { cause });
}

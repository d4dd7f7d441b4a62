/**
 * `bloomery broadcast`: sends signed transactions, and members' signatures for multisignature transactions, from a
 * file.
 */

import { defaultEd25519 } from '../../crypto/ed25519.ts';
import { isCanonicalHex } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { createSigner } from '../../protocol/sign.ts';
import type { Transaction } from '../../protocol/types.ts';
import type { NodeAsker } from '../ask-node.ts';
import type { BroadcastFlags } from '../flags.ts';
import { usageError } from '../error-lines.ts';
import { documentsIn } from '../wallet/documents.ts';
import { walletNetwork } from '../wallet/network.ts';
import { heightOfTransaction } from '../wallet/node-accounts.ts';
import { askFirst, send } from '../wallet/send.ts';
import { signatureText, submitSignature, type SignatureDocument } from '../wallet/submit-signature.ts';
import { counted, printJson, printLine, report } from '../output.ts';

/**
 * Sends the transactions and signatures of a file, in the order of the file. The function reads the whole file before
 * it sends the first transaction or signature. If the node already has a transaction, this transaction counts as sent.
 * At the first refusal, the function stops, because a later transaction can depend on the refused transaction.
 *
 * @throws TransactionRejected or ProtocolError like `TransactionSigner.read` for the first invalid transaction, before
 *   anything is sent
 * @throws ProtocolError `USAGE` for a document that is neither a transaction nor a member's signature
 * @throws ProtocolError in the same cases as `documentsIn`, `walletNetwork`, `askFirst`, `send` and `submitSignature`
 */
export async function broadcast(file: string, flags: BroadcastFlags): Promise<void> {
  const documents = documentsIn(file);
  const network = await walletNetwork(flags);
  const { node } = network;
  if (node === undefined) return;
  const signer = createSigner(network, defaultEd25519());
  const read = documents.map((document) => {
    if (!isMemberSignature(document)) return { document, transaction: signer.read(document) };
    return { document: signatureOf(document, file), transaction: undefined };
  });
  const transactions = read.flatMap(({ transaction }): readonly Transaction[] =>
    transaction === undefined ? [] : [transaction],
  );
  await askFirst(flags, transactions, network);
  // A transaction in the file can need signatures of group members that are in the same file. No block contains this
  // transaction before the node has received the last of these signatures.
  const ids = new Set(transactions.map(({ id }) => id));
  const lastSignatures = new Map<string, number>();
  for (const [index, { document, transaction }] of read.entries()) {
    const id = transaction === undefined ? document.transactionId : '';
    if (ids.has(id)) lastSignatures.set(id, index);
  }
  for (const [index, { document, transaction }] of read.entries()) {
    try {
      if (transaction === undefined) {
        const isWaiting = flags.wait === true && lastSignatures.get(document.transactionId) === index;
        await sendSignature(node, document, flags, isWaiting);
      } else {
        const { wait: _, ...withoutWait } = flags;
        const isSignedLater = (lastSignatures.get(transaction.id) ?? -1) > index;
        await send(node, transaction, document, isSignedLater ? withoutWait : flags, { isRepeated: true });
      }
    } catch (error) {
      throw withRest(error, { index, count: read.length, id: transaction?.id });
    }
  }
}

/** @throws ProtocolError `USAGE` if the document does not have the form of a member's signature */
function signatureOf(document: object, file: string): SignatureDocument {
  const { transactionId, signature } = document as Partial<Record<keyof SignatureDocument, unknown>>;
  const isId = typeof transactionId === 'string' && /^[0-9]{1,20}$/.test(transactionId);
  if (isId && typeof signature === 'string' && isCanonicalHex(signature.toLowerCase(), 64))
    return document as SignatureDocument;
  throw usageError(`${file}: has a member's signature without a valid \`transactionId\` or \`signature\``);
}

/** @param isWaiting true to wait until a block contains the transaction */
async function sendSignature(
  node: NodeAsker,
  signature: SignatureDocument,
  flags: BroadcastFlags,
  isWaiting: boolean,
): Promise<void> {
  const { transactionId: id } = signature;
  const submitted = await submitSignature(node, signature);
  const isOpen = isWaiting && submitted.height === undefined;
  const waited = isOpen ? await heightOfTransaction(node, id, `the signature of transaction ${id}`, flags) : undefined;
  const height = waited ?? submitted.height;
  report(`the signature of transaction ${id} was accepted`, () => {
    if (flags.json === true) printJson(height === undefined ? { id } : { id, height });
    else printLine(signatureText(id, submitted, waited));
  });
}

interface FailedDocument {
  readonly index: number;
  readonly count: number;
  /** Id of the transaction; undefined for a member's signature. */
  readonly id: string | undefined;
}

/** Adds two facts to an error: which document of the file failed, and how many documents were not sent. */
function withRest(error: unknown, { index, count, id }: FailedDocument): unknown {
  if (!(error instanceof ProtocolError) || count === 1) return error;
  const rest = count - index - 1;
  const what = `document ${index + 1} of ${count}${id === undefined ? '' : ` (transaction ${id})`}`;
  const unsent =
    rest === 0 ? '' : `, and ${counted(rest, 'document')} after it ${rest === 1 ? 'was' : 'were'} not sent`;
  return new ProtocolError(error.code, error.data, `${error.message}; ${what}${unsent}`, { cause: error });
}

function isMemberSignature(document: unknown): document is object {
  return typeof document === 'object' && document !== null && 'transactionId' in document && !('type' in document);
}

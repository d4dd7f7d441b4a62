/** `bloomery broadcast`: sends signed transactions, and signatures of members of multisignature groups, from a file. */

import { defaultEd25519 } from '../../crypto/ed25519.ts';
import { createSigner } from '../../protocol/sign.ts';
import type { Transaction } from '../../protocol/types.ts';
import type { BroadcastFlags } from '../flags.ts';
import { documentsIn } from '../wallet/documents.ts';
import { walletNetwork } from '../wallet/network.ts';
import { askFirst, send } from '../wallet/send.ts';
import { printJson, printLine, report } from '../output.ts';

/**
 * Sends the transactions and signatures of a file. The function reads the whole file before it sends the first
 * transaction or signature.
 *
 * @throws TransactionRejected or ProtocolError like `TransactionSigner.read` for the first invalid transaction, before
 *   anything is sent
 * @throws ProtocolError in the same cases as `documentsIn`, `walletNetwork`, `askFirst`, `send` and `NodeAsker.send`
 */
export async function broadcast(file: string, flags: BroadcastFlags): Promise<void> {
  const documents = documentsIn(file);
  const network = await walletNetwork(flags);
  const { node } = network;
  if (node === undefined) return;
  const signer = createSigner(network, defaultEd25519());
  const read = documents.map((document) => ({
    document,
    transaction: isMemberSignature(document) ? undefined : signer.read(document),
  }));
  const transactions = read.flatMap(({ transaction }): readonly Transaction[] =>
    transaction === undefined ? [] : [transaction],
  );
  await askFirst(flags, transactions, network);
  for (const { document, transaction } of read) {
    if (transaction !== undefined) {
      await send(node, transaction, document, flags);
      continue;
    }
    await node.send('POST', 'signatures', document);
    const id = (document as { transactionId?: unknown }).transactionId;
    report(`the signature of transaction ${String(id)} was accepted`, () => {
      if (flags.json === true) printJson({ id });
      else printLine(`signature of transaction ${String(id)}: accepted`);
    });
  }
}

function isMemberSignature(document: unknown): boolean {
  return typeof document === 'object' && document !== null && 'transactionId' in document && !('type' in document);
}

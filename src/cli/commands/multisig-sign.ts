/** `bloomery multisig sign`: makes the signature of one group member for a transaction. */

import { defaultEd25519 } from '../../crypto/ed25519.ts';
import { keyPairOfPassphrase } from '../../crypto/keys.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { createSigner } from '../../protocol/sign.ts';
import type { MultisigSignFlags } from '../flags.ts';
import { usageError } from '../error-lines.ts';
import { documentsIn } from '../wallet/documents.ts';
import { walletNetwork, type WalletNetwork } from '../wallet/network.ts';
import { heightOfTransaction } from '../wallet/node-accounts.ts';
import { misspeltBy, readPassphrase } from '../wallet/secrets.ts';
import { askFirst } from '../wallet/send.ts';
import { signatureText, submitSignature } from '../wallet/submit-signature.ts';
import { printJson, printLine, report } from '../output.ts';

/**
 * Sends the signature of the member to the node. With `--offline`, the function prints the signature instead.
 *
 * @param idOrFile id of a transaction in the node's pool, or a file with the transaction; `-` is the standard input
 * @throws TransactionRejected or ProtocolError like `TransactionSigner.read` for an invalid transaction
 * @throws ProtocolError `USAGE` if the file does not contain exactly one transaction. Also `USAGE` if `idOrFile` is an
 *   id and `--offline` is set
 * @throws ProtocolError `TRANSACTION_UNKNOWN` if the id is in no block, and in none of the queues `pending`, `ready`
 *   and `verified` of the pool
 * @throws ProtocolError in the same cases as `walletNetwork`, `documentsIn`, `readPassphrase`, `askFirst`,
 *   `NodeAsker.ask`, `submitSignature` and `heightOfTransaction`
 */
export async function multisigSign(idOrFile: string, flags: MultisigSignFlags): Promise<void> {
  const network = await walletNetwork(flags);
  const signer = createSigner(network, defaultEd25519());
  const found = await findDocument(idOrFile, network);
  if ('height' in found) {
    const { height } = found;
    if (flags.json === true) printJson({ id: idOrFile, height });
    else printLine(`transaction ${idOrFile}: already in block ${height}, and needs no signature`);
    return;
  }
  const transaction = signer.read(found.document);
  const passphrase = await readPassphrase({
    name: 'passphrase of the member',
    file: flags.passphraseFile,
    flag: '--passphrase-file',
    variable: 'BLOOMERY_PASSPHRASE',
    ifMisspelt: misspeltBy(flags),
  });
  const signature = signer.signAsMember(transaction, keyPairOfPassphrase(passphrase));
  const { node } = network;
  if (node === undefined) {
    printJson(signature);
    return;
  }
  await askFirst(flags, [transaction], network);
  const { id } = transaction;
  const submitted = await submitSignature(node, signature);
  const isWaiting = flags.wait === true && submitted.height === undefined;
  const waited = isWaiting
    ? await heightOfTransaction(node, id, `the signature of transaction ${id}`, flags)
    : undefined;
  const height = waited ?? submitted.height;
  report(`the signature of transaction ${id} was accepted`, () => {
    if (flags.json === true) printJson(height === undefined ? { id } : { id, height });
    else printLine(signatureText(id, submitted, waited));
  });
}

/** Returns the transaction in JSON, or the height of its block if the transaction is in a block already. */
async function findDocument(
  idOrFile: string,
  { node }: WalletNetwork,
): Promise<{ readonly document: unknown } | { readonly height: number }> {
  if (!/^[0-9]{1,20}$/.test(idOrFile)) {
    const [document, ...others] = documentsIn(idOrFile);
    if (document !== undefined && others.length === 0) return { document };
    throw usageError(`${idOrFile}: must hold one transaction`);
  }
  if (node === undefined)
    throw usageError('--offline needs a file with the transaction, because the command queries no node');
  for (const queue of ['pending', 'ready', 'verified']) {
    const [found] = await node.ask<unknown[]>(`node/transactions/${queue}?id=${idOrFile}`);
    if (found !== undefined) return { document: found };
  }
  const [confirmed] = await node.ask<{ readonly height: number }[]>(`transactions?id=${idOrFile}`);
  if (confirmed !== undefined) return { height: confirmed.height };
  throw new ProtocolError('TRANSACTION_UNKNOWN', { id: idOrFile }, `no transaction ${idOrFile} waits at ${node.base}`);
}

/** Makes a transaction: signs it, shows it, asks for confirmation, and sends it. */

import { defaultEd25519 } from '../../crypto/ed25519.ts';
import { addressOf, keyPairOfPassphrase } from '../../crypto/keys.ts';
import { lskText } from '../../primitives/amount.ts';
import { hexOf } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { createSigner } from '../../protocol/sign.ts';
import { amountOf } from '../../protocol/tx/amounts.ts';
import type { KeyPair, Payload, Transaction } from '../../protocol/types.ts';
import type { NodeAsker } from '../ask-node.ts';
import type { SendingFlags, TransactionFlags } from '../flags.ts';
import { usageError } from '../error-lines.ts';
import { accountFacts, groupOf, heightOfTransaction, type Group } from './node-accounts.ts';
import { confirmed, misspeltBy, readPassphrase } from './secrets.ts';
import { describe } from './describe.ts';
import { walletNetwork, type WalletNetwork } from './network.ts';
import { submit } from './submit.ts';
import { printStderrLines, printJson, printLines, report } from '../output.ts';

/** Function that makes the payload of a transaction for a network and a sender. */
export type PayloadOf = (network: WalletNetwork, sender: KeyPair) => Payload | Promise<Payload>;

/**
 * Signs a transaction. With `--offline`, the function prints the transaction. Without `--offline`, the function asks
 * the user for confirmation, and then sends the transaction. With `--yes` or `--from`, the function does not ask.
 *
 * @throws ProtocolError `TRANSACTION_INVALID` for content that no node accepts; `FUNDS_MISSING`;
 *   `SECOND_PASSPHRASE_WRONG`; errors of `walletNetwork`, `passphraseOf`, `payloadOf`, `readPassphrase`,
 *   `NodeAsker.ask`, `askFirst` and `send`
 */
export async function makeTransaction(flags: TransactionFlags, payloadOf: PayloadOf): Promise<void> {
  const network = await walletNetwork(flags);
  const keyPair = keyPairOfPassphrase(await passphraseOf(flags, network));
  const payload = await payloadOf(network, keyPair);
  const secondKeyPair = await secondKeyPairOf(flags, network, keyPair);
  const signer = createSigner(network, defaultEd25519());
  const timestamp = await network.nowS();
  const json = signer.toJson(
    signer.sign({ payload, timestamp, keyPair, ...(secondKeyPair === undefined ? {} : { secondKeyPair }) }),
  );
  // The wallet parses the transaction in the same way as a node. For invalid content, the wallet therefore throws the
  // error that a node would send.
  const transaction = signer.read(json);
  if (network.node === undefined) {
    printJson(json);
    return;
  }
  await checkFunds(network.node, transaction);
  // With `--from`, the sender is a devnet account. The passphrase of a devnet account is public, so no confirmation is
  // needed.
  if (flags.from === undefined) await askFirst(flags, [transaction], network);
  const group = await groupOf(network.node, transaction.senderId);
  await send(network.node, transaction, json, flags, { isRepeated: false, group });
}

/**
 * @throws ProtocolError `USAGE` for `--from` with `--passphrase-file`; errors of `knownPassphrase` or `readPassphrase`
 */
async function passphraseOf(flags: TransactionFlags, network: WalletNetwork): Promise<string> {
  const { from, passphraseFile } = flags;
  if (from !== undefined) {
    if (passphraseFile !== undefined)
      throw usageError('--from and --passphrase-file name two senders: give one of them');
    return (await import('./known-accounts.ts')).knownPassphrase(from, network, flags.network);
  }
  return readPassphrase({
    name: 'passphrase',
    file: passphraseFile,
    flag: '--passphrase-file',
    variable: 'BLOOMERY_PASSPHRASE',
    ifMisspelt: misspeltBy(flags),
  });
}

/**
 * Shows the transactions and asks for confirmation. With `--yes`, the function neither shows nor asks anything.
 *
 * @throws ProtocolError `CANCELLED` without confirmation; errors of `confirmed`
 */
export async function askFirst(
  flags: SendingFlags,
  transactions: readonly Transaction[],
  network: WalletNetwork,
): Promise<void> {
  if (flags.yes === true) return;
  for (const transaction of transactions) {
    printStderrLines(describe(transaction, `${network.name}, generation ${network.generation}`));
  }
  if (!(await confirmed('Send it?'))) throw new ProtocolError('CANCELLED', {}, 'not sent');
}

/**
 * Sends a signed transaction and prints its id. With `--wait`, the function waits until a block contains the
 * transaction, and prints the height of the block as well.
 *
 * @param how.isRepeated as in `submit`
 * @param how.group group of the sender, for the hint that the members must sign
 * @throws ProtocolError in the same cases as `submit`; with `--wait`, also in the same cases as `heightOfTransaction`
 */
export async function send(
  node: NodeAsker,
  transaction: Transaction,
  json: unknown,
  flags: SendingFlags,
  { isRepeated, group }: { readonly isRepeated: boolean; readonly group?: Group | undefined },
): Promise<void> {
  const { id } = transaction;
  const known = await submit(node, transaction, json, isRepeated);
  const isWaiting = flags.wait === true && known?.height === undefined;
  const hint = hintOf(transaction, group);
  if (isWaiting) printStderrLines(hint);
  const height = isWaiting ? await heightOfTransaction(node, id, `transaction ${id}`, flags) : known?.height;
  const isKnown = known !== undefined && isRepeated;
  report(`transaction ${id} was accepted: do not send it again`, () => {
    if (flags.json === true) {
      printJson({ id, ...(height === undefined ? {} : { height }), ...(isKnown ? { known: true } : {}) });
      return;
    }
    const state = height === undefined ? `accepted by ${node.base}` : `in block ${height}`;
    printLines([
      `transaction ${id}: ${isKnown && !isWaiting ? 'already ' : ''}${state}`,
      ...(height === undefined ? hint : []),
    ]);
  });
}

/** Returns the line that asks the members of a group to sign; empty if no member must sign. */
function hintOf({ id, senderId, payload }: Transaction, group: Group | undefined): readonly string[] {
  const command = `bloomery multisig sign ${id}`;
  if (payload.kind === 'multisignature') return [`every member must sign it: ${command}`];
  if (group === undefined) return [];
  return [`${group.min} of the ${group.members.length} members of ${senderId} must sign it: ${command}`];
}

async function checkFunds(node: NodeAsker, { senderId, fee, payload }: Transaction): Promise<void> {
  const { balance } = await accountFacts(node, senderId);
  const needed = fee + amountOf({ payload });
  if (balance >= needed) return;
  throw new ProtocolError(
    'FUNDS_MISSING',
    { senderId },
    `${senderId} has ${lskText(balance)} LSK, but the transaction needs ${lskText(needed)} LSK, with its fee of ${lskText(fee)} LSK`,
  );
}

async function secondKeyPairOf(
  flags: TransactionFlags,
  { node }: WalletNetwork,
  keyPair: KeyPair,
): Promise<KeyPair | undefined> {
  const source = {
    name: 'second passphrase',
    file: flags.secondPassphraseFile,
    flag: '--second-passphrase-file',
    variable: 'BLOOMERY_SECOND_PASSPHRASE',
    ifMisspelt: misspeltBy(flags),
  };
  const address = addressOf(hexOf(keyPair.publicKey));
  if (node === undefined) {
    const isGiven = source.file !== undefined || (process.env[source.variable] ?? '') !== '';
    return isGiven ? keyPairOfPassphrase(await readPassphrase(source)) : undefined;
  }
  const { secondPublicKey } = await accountFacts(node, address);
  if (secondPublicKey === undefined) return undefined;
  const secondKeyPair = keyPairOfPassphrase(await readPassphrase(source));
  if (hexOf(secondKeyPair.publicKey) === secondPublicKey) return secondKeyPair;
  throw new ProtocolError('SECOND_PASSPHRASE_WRONG', { address }, `this is not the second passphrase of ${address}`);
}

/**
 * The commands `bloomery transfer`, `delegate register`, `vote`, `second-signature register` and `multisig register`.
 * Each command makes one transaction.
 */

import { addressFault, keyPairOfPassphrase } from '../../crypto/keys.ts';
import { AMOUNT_MAX, beddowsOfLskText } from '../../primitives/amount.ts';
import { hexOf, isCanonicalHex } from '../../primitives/bytes.ts';
import { votePayload } from '../../protocol/sign.ts';
import { TRANSFER_DATA } from '../../protocol/tx/transfer.ts';
import type { MultisigRegisterFlags, TransactionFlags, TransferFlags } from '../flags.ts';
import { usageError } from '../error-lines.ts';
import { delegateKey } from '../wallet/node-accounts.ts';
import type { WalletNetwork } from '../wallet/network.ts';
import { misspeltBy, readPassphrase } from '../wallet/secrets.ts';
import { makeTransaction } from '../wallet/send.ts';

/**
 * @throws ProtocolError `USAGE` for a malformed address, a malformed amount, or a text that is too long; errors of
 *   `makeTransaction`
 */
export async function transfer(address: string, amountText: string, flags: TransferFlags): Promise<void> {
  const fault = addressFault(address);
  if (fault !== undefined) throw usageError(`\`${address}\` is not an address: ${fault}`);
  const amount = beddowsOfLskText(amountText);
  if (amount === undefined || amount === 0n || amount > AMOUNT_MAX) {
    throw usageError(`\`${amountText}\` is not an amount: give LSK above 0 with at most 8 decimals, such as 1.5`);
  }
  const { data } = flags;
  const dataBytes = Buffer.byteLength(data ?? '');
  if (dataBytes > TRANSFER_DATA.maxLength)
    throw usageError(`--data has ${dataBytes} bytes, but a transfer holds at most ${TRANSFER_DATA.maxLength}`);
  await makeTransaction(flags, () => ({
    kind: 'transfer',
    amount,
    recipientId: address,
    ...(data === undefined || data === '' ? {} : { data }),
  }));
}

/** @throws ProtocolError in the same cases as `makeTransaction` */
export async function delegateRegister(username: string, flags: TransactionFlags): Promise<void> {
  await makeTransaction(flags, () => ({ kind: 'delegate', username }));
}

/**
 * @param choices each is `+` (vote) or `-` (remove the vote), followed by the name or public key of a delegate
 * @throws ProtocolError `USAGE` if a choice is malformed, or if a choice has the name of a delegate and `--offline` is
 *   set; errors of `delegateKey` and `makeTransaction`
 */
export async function vote(choices: readonly string[], flags: TransactionFlags): Promise<void> {
  for (const choice of choices) {
    if (!/^[+-]./.test(choice)) throw usageError(`\`${choice}\`: write +NAME to vote for a delegate, -NAME to stop`);
  }
  await makeTransaction(flags, async (network, sender) => {
    const votes: string[] = [];
    for (const choice of choices) votes.push(`${choice.slice(0, 1)}${await keyOf(choice.slice(1), network)}`);
    return votePayload(network, votes, sender);
  });
}

/** @throws ProtocolError in the same cases as `makeTransaction` and `readPassphrase` */
export async function secondSignatureRegister(
  flags: TransactionFlags & { readonly newPassphraseFile?: string },
): Promise<void> {
  await makeTransaction(flags, async () => {
    const second = await readPassphrase({
      name: 'new second passphrase',
      file: flags.newPassphraseFile,
      flag: '--new-passphrase-file',
      variable: 'BLOOMERY_NEW_SECOND_PASSPHRASE',
      twice: true,
      ifMisspelt: misspeltBy(flags),
    });
    return { kind: 'secondSignature', publicKey: hexOf(keyPairOfPassphrase(second).publicKey) };
  });
}

/**
 * @throws ProtocolError `USAGE` for a malformed public key of a member, and if `--min` exceeds the number of members;
 *   errors of `makeTransaction`
 */
export async function multisigRegister(flags: MultisigRegisterFlags): Promise<void> {
  const { min, lifetime, member: members } = flags;
  for (const member of members) {
    if (!isCanonicalHex(member, 32))
      throw usageError(`--member \`${member}\` must be 64 lower-case hexadecimal digits`);
  }
  if (min > members.length) throw usageError(`--min ${min} is more than the ${members.length} members`);
  await makeTransaction(flags, () => ({
    kind: 'multisignature',
    min,
    lifetime,
    keysgroup: members.map((member) => `+${member}`),
  }));
}

/**
 * Returns the public key of the delegate with the given name. If the argument is a public key, the function returns
 * this key unchanged. A public key has 64 digits and a name has at most 20 characters, so no name looks like a public
 * key.
 */
async function keyOf(nameOrKey: string, { node }: WalletNetwork): Promise<string> {
  if (isCanonicalHex(nameOrKey, 32)) return nameOrKey;
  if (node === undefined)
    throw usageError(
      `--offline needs public keys, because the command queries no node for the key of \`${nameOrKey}\``,
    );
  return delegateKey(node, nameOrKey);
}

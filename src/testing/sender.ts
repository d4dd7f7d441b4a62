/**
 * Finds the passphrase of a sender. A test states the sender as an account, as the name of an account, or as a
 * passphrase.
 */

import type { TestAccount } from './types.ts';

/**
 * @param anyPassphrase true if every text is accepted as a passphrase, even a text that is not a BIP-39 passphrase
 * @throws TypeError if the sender is neither an account nor a text
 * @throws an error if `anyPassphrase` is false and the text is neither a name nor a BIP-39 passphrase. Without this
 *   error, a misspelt name would be the passphrase of an empty account
 */
export async function passphraseOf(
  from: TestAccount | string,
  accounts: readonly TestAccount[],
  anyPassphrase: boolean,
): Promise<string> {
  if (typeof from === 'object' && from !== null && typeof from.passphrase === 'string') return from.passphrase;
  if (typeof from !== 'string') throw new TypeError('the sender must be an account, its name, or a passphrase');
  const found = accounts.find(({ name }) => name === from);
  if (found !== undefined) return found.passphrase;
  if (anyPassphrase || (await isOfBip39(from))) return from;
  const wayOut = 'a passphrase that is not one of BIP-39 is accepted with { anyPassphrase: true }';
  // The error does not repeat a text of several words, because the text can be a secret with a misspelt word.
  if (/\s/.test(from)) {
    throw new Error(`the sender is neither the name of an account nor a passphrase of BIP-39: ${wayOut}`);
  }
  throw new Error(`there is no account ${from}: the first one is ${accounts[0]?.name}; ${wayOut}`);
}

/**
 * Imports the list of BIP-39 words only here, because a call of `passphraseOf` with an account does not need the list.
 */
async function isOfBip39(passphrase: string): Promise<boolean> {
  const { validateMnemonic } = await import('@scure/bip39');
  const { wordlist } = await import('@scure/bip39/wordlists/english.js');
  return validateMnemonic(passphrase, wordlist);
}

/**
 * `bloomery devnet accounts`: lists the accounts and passphrases of a devnet that is part of the Bloomery package, or
 * of a network that was made with `bloomery genesis create`.
 */

import { bloomeryHome, findNetworkDirectory, packagedNetworkDirectory } from '../../config/network.ts';
import { readAccounts } from '../genesis/accounts-file.ts';
import { devnetNetworkName } from '../devnet/network.ts';
import type { AccountsFlags } from '../flags.ts';
import { printJson, printLines } from '../output.ts';

/**
 * @throws ProtocolError in the same cases as `findNetworkDirectory` and `readAccounts`
 */
export function devnetAccounts(flags: AccountsFlags): void {
  const directory =
    flags.network === undefined
      ? packagedNetworkDirectory(devnetNetworkName(flags.generation))
      : findNetworkDirectory(flags.network, bloomeryHome(process.env));
  const accounts = readAccounts(directory);
  if (flags.json === true) {
    printJson({ accounts });
    return;
  }
  printLines(['Devnet only: everybody knows these passphrases.', '']);
  for (const { name, address, publicKey, passphrase } of accounts) {
    printLines([name, `  address     ${address}`, `  public key  ${publicKey}`, `  passphrase  ${passphrase}`]);
  }
}
